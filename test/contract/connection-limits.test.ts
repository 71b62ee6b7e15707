import { describe, expect, it, onTestFinished } from 'vitest';
import type { ConnectionLimits } from '../../src/contract/bounded-server.ts';
import { someBytes } from '../support/files.ts';
import { rawHttp } from '../support/raw-http.ts';
import { rawSocket, requestHead } from '../support/raw-socket.ts';
import { fixturePath, startSandbox } from '../support/sandbox.ts';

const bounded = async (connectionLimits: Partial<ConnectionLimits>) => {
  const sandbox = await startSandbox({ connectionLimits });
  onTestFinished(() => sandbox.end());
  return { sandbox, ...rawHttp(() => sandbox) };
};

/** Sends a text every 100 ms while the connection is open: a slow client. */
const dribble = (socket: import('node:net').Socket, text: string) => {
  const timer = setInterval(() => socket.writable && socket.write(text), 100);
  onTestFinished(() => clearInterval(timer));
};

describe('a connection is closed', () => {
  it('that opens and says nothing', async () => {
    const { sandbox } = await bounded({ headersMs: 300 });
    const { closed } = await rawSocket(sandbox.url);
    expect(await closed).toMatch(/^$|^HTTP\/1.1 408 /);
  });

  it('that never ends its headers', async () => {
    const { sandbox } = await bounded({ headersMs: 300 });
    const { socket, closed } = await rawSocket(sandbox.url);
    socket.write('GET /health HTTP/1.1\r\nHost: x\r\n');
    dribble(socket, 'X-A: b\r\n');
    expect(await closed).toMatch(/^$|^HTTP\/1.1 408 /);
  });

  const authorized = (key: string) => ({
    Authorization: `Bearer ${key}`,
    'Content-Type': 'application/json',
  });

  it.each([
    ['a body with a length', { 'Content-Length': 1000 }, ' '],
    ['a chunked body', { 'Transfer-Encoding': 'chunked' }, '1\r\n \r\n'],
  ])('that brings its JSON a byte at a time: %s', async (_what, headers, text) => {
    const { sandbox } = await bounded({ bodyMs: 300 });
    const { socket, closed } = await rawSocket(sandbox.url);
    const path = `/api/external/v1/workspaces/${sandbox.workspace}/folders/`;
    const all = { ...authorized(sandbox.key), ...headers };
    socket.write(requestHead(sandbox.url, `POST ${path}`, all));
    dribble(socket, text);
    expect(await closed).not.toMatch(/^HTTP\/1.1 2/);
  });

  it.each(['GET', 'PATCH', 'DELETE'])('that is refused, and goes on with its body all the same: %s', async (method) => {
    const { sandbox } = await bounded({ bodyMs: 300 });
    const { socket, closed } = await rawSocket(sandbox.url);
    const line = `${method} /api/external/v1/assets/`;
    socket.write(requestHead(sandbox.url, line, { 'Content-Length': 1000 }));
    dribble(socket, ' ');
    expect(await closed).toMatch(/^HTTP\/1.1 401 /);
  });

  it('that asks for media and does not read it', async () => {
    const { sandbox, upload, playbackInfo } = await bounded({ idleMs: 2_000 });
    const { uid } = await upload(fixturePath('clip.mp4'));
    const info = await playbackInfo(uid);
    const { pathname, search } = new URL(info.source_url.url);
    const { socket, closed } = await rawSocket(sandbox.url);
    socket.pause();
    // More than the socket buffers of both sides hold.
    for (let times = 0; times < 40; times++) socket.write(requestHead(sandbox.url, `GET ${pathname}${search}`));
    await new Promise((resolve) => setTimeout(resolve, 5_000));
    socket.resume();
    const text = await closed;
    expect(text.split('HTTP/1.1 200 OK').length - 1).toBeLessThan(40);
  });
});

it('a chunk may come slowly: it is no JSON body', async () => {
  const { sandbox, create, head } = await bounded({ bodyMs: 200 });
  const bytes = someBytes(8);
  const { location } = await (await create(bytes.length)).json();
  const { socket, closed } = await rawSocket(sandbox.url);
  socket.write(
    requestHead(sandbox.url, `PATCH ${location}`, {
      Authorization: `Bearer ${sandbox.key}`,
      Connection: 'close',
      'Tus-Resumable': '1.0.0',
      'Upload-Offset': 0,
      'Content-Type': 'application/offset+octet-stream',
      'Content-Length': bytes.length,
    }),
  );
  for (const byte of bytes) {
    socket.write(Buffer.of(byte));
    await new Promise((resolve) => setTimeout(resolve, 60));
  }
  expect(await closed).toMatch(/^HTTP\/1.1 204 /);
  expect((await head(location)).headers.get('Upload-Offset')).toBe('8');
});

describe('so many connections at once and no more', () => {
  const ask = (url: string) => requestHead(url, 'GET /health');

  it('the one that is idle longest gives way to a newcomer', async () => {
    const { sandbox } = await bounded({ maxConnections: 3 });
    const [first, second, third] = [
      await rawSocket(sandbox.url),
      await rawSocket(sandbox.url),
      await rawSocket(sandbox.url),
    ];
    first.socket.write(ask(sandbox.url)); // now the second connection is the one idle longest
    while (!first.received().includes('"ok"')) await new Promise((resolve) => setImmediate(resolve));
    const newcomer = await rawSocket(sandbox.url);
    newcomer.socket.write(requestHead(sandbox.url, 'GET /health', { Connection: 'close' }));
    expect(await newcomer.closed).toMatch(/^HTTP\/1.1 200 /);
    expect(await second.closed).toBe('');
    expect([first.socket.destroyed, third.socket.destroyed]).toEqual([false, false]);
  });

  it('where all of them are at work, the newcomer is closed', async () => {
    const { sandbox, create } = await bounded({ maxConnections: 2 });
    const { location } = await (await create(8)).json();
    const [first, second] = [await rawSocket(sandbox.url), await rawSocket(sandbox.url)];
    const head = requestHead(sandbox.url, `PATCH ${location}`, {
      Authorization: `Bearer ${sandbox.key}`,
      'Tus-Resumable': '1.0.0',
      'Upload-Offset': 0,
      'Content-Type': 'application/offset+octet-stream',
      'Content-Length': 8,
      Expect: '100-continue', // the interim response shows that the request is being handled
    });
    for (const { socket } of [first, second]) socket.write(head);
    for (const { received } of [first, second]) await expect.poll(received).toContain('100 Continue');
    expect(await (await rawSocket(sandbox.url)).closed).toBe('');
    expect([first.socket.destroyed, second.socket.destroyed]).toEqual([false, false]);
  });
});

it('headers hold at most 32 KiB: 431', async () => {
  const { sandbox } = await bounded({});
  const { socket, closed } = await rawSocket(sandbox.url);
  socket.write(requestHead(sandbox.url, 'GET /health', { 'X-Long': 'x'.repeat(33 * 1024) }));
  expect(await closed).toMatch(/^HTTP\/1.1 431 /);
});

it.each([
  ['with a length', { 'Content-Length': 1024 * 1024 + 20 }],
  ['chunked', { 'Transfer-Encoding': 'chunked' }],
])('a JSON body of more than 1 MiB: 413, %s', async (_what, headers) => {
  const { sandbox } = await bounded({});
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
