import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { describe, expect, it, onTestFinished } from 'vitest';
import { MediactlError } from '../../src/client/errors.ts';
import { Transport } from '../../src/client/http/transport.ts';
import { type RangeOptions, RangeSource } from '../../src/client/upload/sources/range-source.ts';
import type { ReadOptions } from '../../src/client/upload/sources/source.ts';
import { fastClock } from '../support/clock.ts';
import { type FileRequest, FileServer, type FileServerFault } from '../support/file-server.ts';
import { someBytes } from '../support/files.ts';
import { respond, startServer } from '../support/http-server.ts';
import { createLatch } from '../support/latch.ts';

const MiB = 1024 * 1024;
const size = 300_000;

/** Creates a transport with an API key, which no file server may receive. */
function transportFor(baseUrl: string, requestTimeoutMs = 5_000): Transport {
  const transport = new Transport({
    baseUrl: new URL(baseUrl),
    apiKey: 'a-key',
    clock: fastClock(),
    userAgent: 'test',
    requestTimeoutMs,
    maxWaitMs: 600_000,
  });
  onTestFinished(() => transport.close());
  return transport;
}

const open = (url: string, options?: RangeOptions) => RangeSource.open(url, transportFor(url), options);

async function servedAndOpened(bytes = someBytes(size)) {
  const server = await FileServer.start(bytes);
  return { server, source: await open(server.url) };
}

async function readAll(source: RangeSource, start = 0, end = source.sizeBytes, reading?: ReadOptions) {
  const parts: Buffer[] = [];
  try {
    for await (const bytes of source.read(start, end, reading)) parts.push(bytes);
    return { bytes: Buffer.concat(parts) };
  } catch (error) {
    return { bytes: Buffer.concat(parts), error: (error as MediactlError).toJSON() };
  }
}

const failureOf = (opened: Promise<unknown>) =>
  opened.then(
    () => expect.unreachable('it was opened'),
    (error) => (error as MediactlError).toJSON(),
  );

/** Injects the fault from the second request on; the first one opens the source. */
const later = (injected: FileServerFault) => (asked: FileRequest) => (asked.nth > 1 ? injected : undefined);

const answering = (status: number, body = '', headers: Record<string, string> = {}): FileServerFault => ({
  respond: (response) => respond(response, status, body, headers),
});

describe('unchanged files', () => {
  it.each([0, 1, 5, 3 * MiB])('a remote file of %d bytes is read as a whole and in ranges', async (sizeBytes) => {
    const { server, source } = await servedAndOpened(someBytes(sizeBytes));
    expect(source.identity).toEqual({
      sizeBytes,
      mtimeNs: '1772532000000000000',
      validator: server.etag,
    });
    expect((await readAll(source)).bytes.equals(server.bytes)).toBe(true);
    const half = Math.floor(sizeBytes / 2);
    const { bytes } = await readAll(source, half, Math.min(sizeBytes, half + 700));
    expect(bytes.equals(server.bytes.subarray(half, half + 700))).toBe(true);
    await source.assertUnchanged();
  });

  it('an empty remote file needs neither range support nor a validator', async () => {
    const url = await startServer((_, response) => respond(response, 200));
    const source = await open(url);
    expect(source.identity).toEqual({ sizeBytes: 0, mtimeNs: '0' });
    await source.assertUnchanged();
  });

  it('onRead receives each buffer and its offset before the reader does', async () => {
    const { server, source } = await servedAndOpened();
    const reported: Buffer[] = [];
    let handed = 1000;
    const onRead = (at: number, bytes: Buffer) => {
      expect(at).toBe(handed);
      reported.push(Buffer.from(bytes));
    };
    for await (const bytes of source.read(1000, size, { onRead })) {
      expect(bytes.equals(reported.at(-1) as Buffer)).toBe(true);
      handed += bytes.length;
    }
    expect(Buffer.concat(reported).equals(server.bytes.subarray(1000))).toBe(true);
  });

  it('a remote file is requested in ranges, with If-Match and without the API key', async () => {
    const { server, source } = await servedAndOpened();
    await readAll(source, 10, 20);
    expect(server.ranges).toEqual(['0-0', '10-19', '0-0']);
    expect(server.requests[1]?.headers).toMatchObject({
      'if-match': server.etag,
      'accept-encoding': 'identity',
    });
    for (const { headers } of server.requests) expect(headers).not.toHaveProperty('authorization');
  });

  it('range requests send If-Unmodified-Since when the ETag is weak', async () => {
    const server = await FileServer.start(someBytes(size));
    server.fault = () => ({ headers: { etag: `W/${server.etag}` } });
    const source = await open(server.url);
    expect(source.identity).not.toHaveProperty('validator');
    await readAll(source, 0, 10);
    expect(server.requests[1]?.headers['if-unmodified-since']).toBe(server.lastModified);
    expect(server.requests[1]?.headers).not.toHaveProperty('if-match');
  });

  it('the file name and content type come from the response headers of the file server', async () => {
    const server = await FileServer.start(someBytes(10));
    const plain = await open(server.url);
    expect([plain.fileName, plain.contentType]).toEqual(['day 1.mp4', 'video/mp4']);
    server.fault = () => ({
      headers: {
        'content-disposition': 'attachment; filename="a/clip.mov"',
        'content-type': 'application/octet-stream',
      },
    });
    const named = await open(`${server.url}?token=secret`, { label: 'the clip' });
    expect([named.fileName, named.contentType]).toEqual(['clip.mov', undefined]);
    expect([named.path, named.realPath]).toEqual(['the clip', 'the clip']);
  });
});

describe('failed connections', () => {
  it('a read resumes at the byte where the connection broke or the server failed', async () => {
    const { server, source } = await servedAndOpened();
    server.fault = ({ nth }) =>
      [{}, { cutAfterBytes: 100_000 }, answering(503), { cutAfterBytes: 1 }, answering(502)][nth - 1];
    const { bytes, error } = await readAll(source);
    expect(error).toBeUndefined();
    expect(bytes.equals(server.bytes)).toBe(true);
    const rest = ['100000', '100000', '100001', '100001'].map((from) => `${from}-${size - 1}`);
    expect(server.ranges).toEqual(['0-0', `0-${size - 1}`, ...rest, '0-0']);
  });

  it('a read fails with a retryable error after four attempts without a byte', async () => {
    const { server, source } = await servedAndOpened();
    server.fault = ({ nth }) => (nth === 2 ? { cutAfterBytes: 1000 } : answering(503));
    const { bytes, error } = await readAll(source);
    expect(bytes.equals(server.bytes.subarray(0, 1000))).toBe(true);
    expect(error).toMatchObject({
      code: 'source_failed',
      exit_code: 10,
      retryable: true,
      http_status: null,
    });
    expect(server.requests.length).toBe(5);
  });

  it('a read times out after four attempts in which the server only drips bytes', async () => {
    const server = await FileServer.start(someBytes(size));
    const source = await RangeSource.open(server.url, transportFor(server.url, 50));
    server.fault = ({ nth, headers }) =>
      nth === 1
        ? undefined
        : {
            respond: (response) => {
              const { etag } = server;
              const asked = headers.range?.replace('=', ' ');
              response.writeHead(206, { etag, 'content-range': `${asked}/${size}` });
              const drip = setInterval(() => response.write('x'), 5);
              response.on('close', () => clearInterval(drip));
            },
          };
    const { error } = await readAll(source);
    expect(error).toMatchObject({ code: 'timeout', exit_code: 10, retryable: true });
  });

  it('a response shorter than the requested range is followed by a request for the rest', async () => {
    const { server, source } = await servedAndOpened();
    const short = (from: number, to: number): FileServerFault => ({
      respond: (response) => {
        const { etag, bytes } = server;
        response.writeHead(206, { etag, 'content-range': `bytes ${from}-${to - 1}/${size}` });
        response.end(bytes.subarray(from, to));
      },
    });
    server.fault = ({ nth }) => [undefined, short(0, 7), short(7, 9)][nth - 1];
    expect((await readAll(source)).bytes.equals(server.bytes)).toBe(true);
    expect(server.ranges[3]).toBe(`9-${size - 1}`);
  });

  it('an abort ends a read at once while it waits for the server', async () => {
    const server = await FileServer.start(someBytes(size));
    const stop = new AbortController();
    const source = await open(server.url, { signal: stop.signal });
    server.fault = later({ respond: (response) => response.writeHead(206).flushHeaders() });
    const reading = readAll(source);
    setTimeout(() => stop.abort(new MediactlError('enough', { code: 'interrupted', exitCode: 130 })), 50);
    expect((await reading).error).toMatchObject({ code: 'interrupted' });
  });

  it('a reader that stops closes a stalled connection without waiting for the idle timeout', async () => {
    const server = await FileServer.start(someBytes(size));
    const source = await RangeSource.open(server.url, transportFor(server.url, 3600_000));
    const closed = createLatch();
    server.fault = later({
      respond: (response) => {
        response.on('close', closed.open);
        response.writeHead(206, { etag: server.etag, 'content-range': `bytes 0-99/${size}` });
        response.write('x');
      },
    });
    for await (const _bytes of source.read(0, 100)) break;
    await closed.opened; // at once, not after the idle timeout of an hour
  });

  it('a source reads ahead only a few MiB, and closes the connection when its reader stops', async () => {
    let sent = 0;
    const closed = createLatch();
    const { server, source } = await servedAndOpened(randomBytes(64 * MiB));
    server.fault = later({
      respond: async (response) => {
        const range = `bytes 0-${64 * MiB - 1}/${64 * MiB}`;
        response.writeHead(206, { etag: server.etag, 'content-range': range });
        response.on('close', () => closed.open());
        for (; sent < 64 * MiB && !response.destroyed; sent += MiB)
          if (!response.write(server.bytes.subarray(sent, sent + MiB)))
            await Promise.race([once(response, 'drain'), closed.opened]);
      },
    });
    for await (const bytes of source.read(0, 64 * MiB)) {
      await new Promise((resolve) => setTimeout(resolve, 500));
      expect(bytes.equals(server.bytes.subarray(0, bytes.length))).toBe(true); // the buffer was not overwritten
      break;
    }
    await closed.opened;
    expect(sent).toBeLessThan(24 * MiB); // includes the kernel's loopback buffers
  });
});

describe('replaced files', () => {
  const other = someBytes(size, 'other');
  it.each<[string, (server: FileServer) => void]>([
    [
      'whose server evaluates If-Match',
      (server) => {
        server.bytes = other;
      },
    ],
    [
      'with a new Last-Modified only',
      (server) => {
        server.lastModified = 'Tue, 03 Mar 2026 10:00:01 GMT';
        server.hasEtag = false;
      },
    ],
    [
      'whose server ignores If-Match',
      (server) => {
        server.fault = later({ headers: { etag: '"another"' } });
      },
    ],
    [
      'whose server stops sending an ETag',
      (server) => {
        server.fault = later({ headers: { etag: undefined } });
      },
    ],
    [
      'with another length',
      (server) => {
        server.fault = later({ headers: { 'content-range': `bytes 0-0/${size + 1}` } });
      },
    ],
    [
      'that is sent whole with status 200',
      (server) => {
        server.fault = later(answering(200, 'x'.repeat(size)));
      },
    ],
    [
      'that is too short for the range (416)',
      (server) => {
        server.fault = later(answering(416));
      },
    ],
  ])('a replaced file %s is detected before any of its bytes are returned', async (how, change) => {
    const server = await FileServer.start(someBytes(size));
    server.hasEtag = how !== 'with a new Last-Modified only';
    const source = await open(server.url);
    change(server);
    const { bytes, error } = await readAll(source);
    expect(bytes.length).toBe(0);
    expect(error).toMatchObject({ code: 'file_changed', exit_code: 13, retryable: false });
    await expect(source.assertUnchanged()).rejects.toThrow('changed since its upload began');
  });

  it('a file that is replaced during its last range never completes a chunk', async () => {
    const { server, source } = await servedAndOpened();
    const onRead = () => {
      server.bytes = other;
    };
    const { bytes, error } = await readAll(source, 0, size, { onRead });
    expect(bytes.length).toBeLessThan(size);
    expect(error).toMatchObject({ code: 'file_changed', exit_code: 13 });
  });

  it('an empty remote file that later has content is reported as changed', async () => {
    const { server, source } = await servedAndOpened(Buffer.alloc(0));
    server.bytes = other;
    await expect(source.assertUnchanged()).rejects.toThrow('changed since its upload began');
  });

  it.each([
    [404, { code: 'file_missing', exit_code: 1, http_status: null }],
    [403, { code: 'source_forbidden', exit_code: 2, http_status: null }],
  ])(
    'status %d for a remote file is reported as a source error, not as a lost upload session',
    async (status, expected) => {
      const { server, source } = await servedAndOpened();
      server.fault = later(answering(status));
      expect((await readAll(source)).error).toMatchObject(expected);
    },
  );
});

describe('unusable file servers', () => {
  const partOf = (headers: Record<string, string>) =>
    answering(206, 'x', { etag: '"a"', 'content-range': 'bytes 0-0/9', ...headers });
  it.each([
    ['does not support ranges', answering(200, 'all of it', { etag: '"a"' })],
    ['sends no total length', partOf({ 'content-range': 'bytes 0-0/*' })],
    ['sends no validator', partOf({ etag: '' })],
    ['sends only a weak ETag', partOf({ etag: 'W/"a"' })],
    ['sends an invalid Last-Modified', partOf({ etag: '', 'last-modified': 'yesterday' })],
    ['compresses the content', partOf({ 'content-encoding': 'gzip' })],
  ])('a file server that %s is refused with a hint to pipe the file instead', async (_why, injected) => {
    const server = await FileServer.start(someBytes(9));
    server.fault = () => injected;
    const secret = `${server.url}?token=a-secret`;
    const error = await failureOf(open(secret));
    expect(error).toMatchObject({
      code: 'usage',
      exit_code: 2,
      hint: 'curl -L URL | mediactl upload - --name NAME',
    });
    expect(JSON.stringify(error)).not.toContain('a-secret');
  });

  it.each([
    [404, 'file_not_found', 2],
    [410, 'file_not_found', 2],
    [401, 'source_forbidden', 2],
    [403, 'source_forbidden', 2],
    [400, 'source_failed', 10],
    [503, 'source_failed', 10],
  ])('opening a file on a server that responds with %d fails with %s', async (status, code, exitCode) => {
    const server = await FileServer.start(someBytes(9));
    server.fault = () => answering(status, '<html>', { 'content-type': 'text/html' });
    const error = await failureOf(open(server.url));
    expect(error).toMatchObject({ code, exit_code: exitCode, http_status: null });
    expect(server.requests.length).toBe(status === 503 ? 4 : 1);
  });

  it('opening a file on an unreachable server fails with connection_refused and exit code 10', async () => {
    const error = await failureOf(open('http://127.0.0.1:9/a.mp4'));
    expect(error).toMatchObject({ code: 'connection_refused', exit_code: 10, hint: /check the URL/ });
  });

  it.each([
    ['a different range', { headers: { 'content-range': `bytes 1-9/${size}` } }],
    ['a larger range', { headers: { 'content-range': `bytes 0-${size - 1}/${size}` } }],
    [
      'a body longer than its range',
      {
        respond: (response: ServerResponse) =>
          respond(response, 206, 'x'.repeat(1001), {
            'last-modified': 'Tue, 03 Mar 2026 10:00:00 GMT',
            'content-range': `bytes 0-999/${size}`,
          }),
      },
    ],
    ['compressed content', { headers: { 'content-encoding': 'gzip' } }],
  ])('a read fails without a retry when the server sends %s', async (_what, injected) => {
    const server = await FileServer.start(someBytes(size));
    server.hasEtag = false;
    const source = await open(server.url);
    server.fault = ({ nth }) => (nth === 2 ? injected : undefined);
    expect(await readAll(source, 0, 1000)).toMatchObject({
      error: { code: 'source_failed', exit_code: 10, retryable: false },
    });
  });
});

it('a redirect is followed for every range, and the password is not sent to its target', async () => {
  const server = await FileServer.start(someBytes(size));
  const heard: (string | undefined)[] = [];
  const origin = await startServer(({ headers }, response) => {
    heard.push(headers.authorization);
    respond(response, 302, '', { location: server.url });
  });
  const source = await open(`${origin.replace('//', '//ann:secret@')}/clip?token=abc`);
  expect([source.path, source.realPath]).toEqual([`${origin}/clip`, `${origin}/clip`]);
  expect((await readAll(source)).bytes.equals(server.bytes)).toBe(true);
  expect(heard).toEqual(Array(3).fill(`Basic ${btoa('ann:secret')}`));
  for (const { headers } of server.requests) expect(headers).not.toHaveProperty('authorization');
});
