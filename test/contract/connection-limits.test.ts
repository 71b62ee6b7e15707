import { request } from 'node:http';
import { Readable } from 'node:stream';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { ConnectionLimits } from '../../src/shared/bounded-server.ts';
import { rawHttp } from '../support/raw-http.ts';
import { rawSocket, requestHead } from '../support/raw-socket.ts';
import { startSandbox } from '../support/sandbox.ts';

const startSandboxWithLimits = async (connectionLimits: Partial<ConnectionLimits>) => {
  const sandbox = await startSandbox({ connectionLimits });
  onTestFinished(() => sandbox.end());
  return { sandbox, ...rawHttp(() => sandbox) };
};

/** Sends a text every 100 ms while the connection is open: a slow client. */
const sendRepeatedly = (socket: import('node:net').Socket, text: string) => {
  const timer = setInterval(() => socket.writable && socket.write(text), 100);
  onTestFinished(() => clearInterval(timer));
};

describe('slow connections', () => {
  it('the sandbox closes a connection that sends no request', async () => {
    const { sandbox } = await startSandboxWithLimits({ headersMs: 300 });
    const { closed } = await rawSocket(sandbox.url);
    expect(await closed).toMatch(/^$|^HTTP\/1.1 408 /);
  });

  it('the sandbox closes a connection whose request headers never end', async () => {
    const { sandbox } = await startSandboxWithLimits({ headersMs: 300 });
    const { socket, closed } = await rawSocket(sandbox.url);
    socket.write('GET /health HTTP/1.1\r\nHost: x\r\n');
    sendRepeatedly(socket, 'X-A: b\r\n');
    expect(await closed).toMatch(/^$|^HTTP\/1.1 408 /);
  });
});

it('the sandbox closes a new connection when the maximum number of connections is open', async () => {
  const { sandbox } = await startSandboxWithLimits({ maxConnections: 2 });
  const openConnections = [await rawSocket(sandbox.url), await rawSocket(sandbox.url)];
  expect(await (await rawSocket(sandbox.url)).closed).toBe('');
  expect(openConnections.map(({ socket }) => socket.destroyed)).toEqual([false, false]);
});

it('the sandbox responds with 431 when the request headers exceed 32 KiB', async () => {
  const { sandbox } = await startSandboxWithLimits({});
  const { socket, closed } = await rawSocket(sandbox.url);
  socket.write(requestHead(sandbox.url, 'GET /health', { 'X-Long': 'x'.repeat(33 * 1024) }));
  expect(await closed).toMatch(/^HTTP\/1.1 431 /);
});

it('a refusal before the body is read reaches each client that sends Connection: close', async () => {
  const { sandbox, createUploadOfSize } = await startSandboxWithLimits({});
  const size = 50 * 1024 * 1024 + 1;
  const { location } = await (await createUploadOfSize(size)).json();
  const send = (key: string, offset: number) =>
    new Promise<number | string | undefined>((resolve) => {
      const headers = {
        ...{ Authorization: `Bearer ${key}`, Connection: 'close', 'Content-Type': 'application/offset+octet-stream' },
        ...{ 'Content-Length': size, 'Tus-Resumable': '1.0.0', 'Upload-Offset': offset },
      };
      const options = { method: 'PATCH', agent: false, headers };
      const sent = request(sandbox.url + location, options, ({ statusCode }) => resolve(statusCode));
      sent.on('error', (error: NodeJS.ErrnoException) => resolve(error.code));
      Readable.from(zeros(size)).pipe(sent);
    });
  for (let attempt = 0; attempt < 10; attempt++)
    expect([await send(sandbox.key, 0), await send('no-such-key', 0), await send(sandbox.key, 1)]).toEqual([
      413, 401, 409,
    ]);
});

function* zeros(size: number): Generator<Buffer> {
  for (let at = 0; at < size; at += 65_536) yield Buffer.alloc(Math.min(65_536, size - at));
}

it.each([
  ['with a Content-Length', { 'Content-Length': 1024 * 1024 + 20 }],
  ['in chunks', { 'Transfer-Encoding': 'chunked' }],
])('the sandbox responds with 413 to a JSON body over 1 MiB that is sent %s', async (_what, headers) => {
  const { sandbox } = await startSandboxWithLimits({});
  const { socket, closed } = await rawSocket(sandbox.url);
  const path = `/api/external/v1/workspaces/${sandbox.workspace}/folders/`;
  socket.write(
    requestHead(sandbox.url, `POST ${path}`, {
      Authorization: `Bearer ${sandbox.key}`,
      Connection: 'close',
      'Content-Type': 'application/json',
      ...headers,
    }),
  );
  const text = `{"name": "${'x'.repeat(1024 * 1024)}"}`;
  const isChunked = 'Transfer-Encoding' in headers;
  const body = text.padEnd(1024 * 1024 + 20);
  socket.write(isChunked ? `${body.length.toString(16)}\r\n${body}\r\n0\r\n\r\n` : body);
  expect(await closed).toMatch(/^HTTP\/1.1 413 /);
});
