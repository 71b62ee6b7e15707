import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { describe, expect, it, onTestFinished } from 'vitest';
import { errorRecord } from '../../src/cli/error-hints.ts';
import { CodedError } from '../../src/client/errors.ts';
import { Transport } from '../../src/client/http/transport.ts';
import { type RangeOptions, RangeSource } from '../../src/client/upload/sources/range-source.ts';
import type { ReadOptions } from '../../src/client/upload/sources/source.ts';
import { acceleratedClock } from '../support/clock.ts';
import { type FileRequest, FileServer, type FileServerFault, faultsInOrder } from '../support/file-server.ts';
import { pseudoRandomBytes } from '../support/files.ts';
import { respond, startServer } from '../support/http-server.ts';
import { createLatch } from '../support/latch.ts';

const MiB = 1024 * 1024;
const size = 300_000;

/** Creates a transport with an API key, which no file server may receive. */
function transportFor(baseUrl: string, { requestTimeoutMs = 5_000 } = {}): Transport {
  const transport = new Transport({
    baseUrl: new URL(baseUrl),
    apiKey: 'a-key',
    clock: acceleratedClock(),
    userAgent: 'test',
    requestTimeoutMs,
    maxWaitMs: 600_000,
  });
  onTestFinished(() => transport.close());
  return transport;
}

const openSource = (url: string, options?: RangeOptions) => RangeSource.open(url, transportFor(url), options);

async function startServerAndOpen(bytes = pseudoRandomBytes(size)) {
  const server = await FileServer.start(bytes);
  return { server, source: await openSource(server.url) };
}

async function readAll(source: RangeSource, start = 0, end = source.sizeBytes, reading?: ReadOptions) {
  const parts: Buffer[] = [];
  try {
    for await (const bytes of source.read(start, end, reading)) parts.push(bytes);
    return { bytes: Buffer.concat(parts) };
  } catch (error) {
    return { bytes: Buffer.concat(parts), error: errorRecord(error as CodedError) };
  }
}

const failureOf = (opened: Promise<unknown>) =>
  opened.then(
    () => expect.unreachable('it was opened'),
    (error) => errorRecord(error as CodedError),
  );

/** Injects the fault from the second request on; the first one opens the source. */
const afterOpening = (injected: FileServerFault) => (request: FileRequest) => (request.nth > 1 ? injected : undefined);

const respondWithStatus = (status: number, body = '', headers: Record<string, string> = {}): FileServerFault => ({
  respond: (response) => respond(response, status, body, headers),
});

describe('unchanged files', () => {
  it.each([0, 1, 5, 3 * MiB])('a remote file of %d bytes is read as a whole and in ranges', async (sizeBytes) => {
    const { server, source } = await startServerAndOpen(pseudoRandomBytes(sizeBytes));
    expect(source.identity).toEqual({ sizeBytes, mtimeNs: '1772532000000000000', validator: server.etag });
    expect((await readAll(source)).bytes.equals(server.bytes)).toBe(true);
    const half = Math.floor(sizeBytes / 2);
    const { bytes } = await readAll(source, half, Math.min(sizeBytes, half + 700));
    expect(bytes.equals(server.bytes.subarray(half, half + 700))).toBe(true);
    await source.assertUnchanged();
  });

  it('an empty remote file needs neither range support nor a validator', async () => {
    const url = await startServer((_, response) => respond(response, 200));
    const source = await openSource(url);
    expect(source.identity).toEqual({ sizeBytes: 0, mtimeNs: '0' });
    await source.assertUnchanged();
  });

  it('onRead receives each buffer and its offset before the reader does', async () => {
    const { server, source } = await startServerAndOpen();
    const reported: Buffer[] = [];
    let nextOffset = 1000;
    const onRead = (offset: number, bytes: Buffer) => {
      expect(offset).toBe(nextOffset);
      reported.push(Buffer.from(bytes));
    };
    for await (const bytes of source.read(1000, size, { onRead })) {
      expect(bytes.equals(reported.at(-1) as Buffer)).toBe(true);
      nextOffset += bytes.length;
    }
    expect(Buffer.concat(reported).equals(server.bytes.subarray(1000))).toBe(true);
  });

  it('a remote file is requested in ranges, with If-Match and without the API key', async () => {
    const { server, source } = await startServerAndOpen();
    await readAll(source, 10, 20);
    expect(server.ranges).toEqual(['0-0', '10-19', '0-0']); // 0-0 checks the identity of the file
    expect(server.requests[1]?.headers).toMatchObject({ 'if-match': server.etag, 'accept-encoding': 'identity' });
    for (const { headers } of server.requests) expect(headers).not.toHaveProperty('authorization');
  });

  it('range requests send If-Unmodified-Since when the ETag is weak', async () => {
    const server = await FileServer.start(pseudoRandomBytes(size));
    server.fault = () => ({ headers: { etag: `W/${server.etag}` } });
    const source = await openSource(server.url);
    expect(source.identity).not.toHaveProperty('validator');
    await readAll(source, 0, 10);
    expect(server.requests[1]?.headers['if-unmodified-since']).toBe(server.lastModified);
    expect(server.requests[1]?.headers).not.toHaveProperty('if-match');
  });

  it('the file name and content type come from the response headers of the file server', async () => {
    const server = await FileServer.start(pseudoRandomBytes(10));
    const source = await openSource(server.url);
    expect([source.fileName, source.contentType]).toEqual(['day 1.mp4', 'video/mp4']);
    server.fault = () => ({
      headers: {
        'content-disposition': 'attachment; filename="a/clip.mov"',
        'content-type': 'application/octet-stream',
      },
    });
    const sourceWithHeaders = await openSource(`${server.url}?token=secret`, { path: 'the clip' });
    expect([sourceWithHeaders.fileName, sourceWithHeaders.contentType]).toEqual(['clip.mov', undefined]);
    expect([sourceWithHeaders.path, sourceWithHeaders.realPath]).toEqual(['the clip', 'the clip']);
  });
});

describe('failed connections', () => {
  it('a read resumes at the byte where the connection broke or the server failed', async () => {
    const { server, source } = await startServerAndOpen();
    server.fault = faultsInOrder([
      {},
      { cutAfterBytes: 100_000 },
      respondWithStatus(503),
      { cutAfterBytes: 1 },
      respondWithStatus(502),
    ]);
    const { bytes, error } = await readAll(source);
    expect(error).toBeUndefined();
    expect(bytes.equals(server.bytes)).toBe(true);
    const rangesOfRetries = ['100000', '100000', '100001', '100001'].map((from) => `${from}-${size - 1}`);
    expect(server.ranges).toEqual(['0-0', `0-${size - 1}`, ...rangesOfRetries, '0-0']); // 0-0 checks the identity
  });

  it('a read fails with a retryable error after four attempts without a byte', async () => {
    const { server, source } = await startServerAndOpen();
    server.fault = ({ nth }) => (nth === 2 ? { cutAfterBytes: 1000 } : respondWithStatus(503));
    const { bytes, error } = await readAll(source);
    expect(bytes.equals(server.bytes.subarray(0, 1000))).toBe(true);
    expect(error).toMatchObject({ code: 'source_failed', exit_code: 10, retryable: true, http_status: null });
    expect(server.requests.length).toBe(5);
  });

  it('a read times out after four attempts in which the server only drips bytes', async () => {
    const server = await FileServer.start(pseudoRandomBytes(size));
    const source = await RangeSource.open(server.url, transportFor(server.url, { requestTimeoutMs: 50 }));
    server.fault = ({ nth, headers }) =>
      nth === 1
        ? undefined
        : {
            respond: (response) => {
              const { etag } = server;
              const requestedRange = headers.range?.replace('=', ' ');
              response.writeHead(206, { etag, 'content-range': `${requestedRange}/${size}` });
              const drip = setInterval(() => response.write('x'), 5);
              response.on('close', () => clearInterval(drip));
            },
          };
    const { error } = await readAll(source);
    expect(error).toMatchObject({ code: 'timeout', exit_code: 10, retryable: true });
  });

  it('a response shorter than the requested range is followed by a request for the rest', async () => {
    const { server, source } = await startServerAndOpen();
    const sendOnlyBytes = (from: number, to: number): FileServerFault => ({
      respond: (response) => {
        const { etag, bytes } = server;
        response.writeHead(206, { etag, 'content-range': `bytes ${from}-${to - 1}/${size}` });
        response.end(bytes.subarray(from, to));
      },
    });
    server.fault = faultsInOrder([undefined, sendOnlyBytes(0, 7), sendOnlyBytes(7, 9)]);
    expect((await readAll(source)).bytes.equals(server.bytes)).toBe(true);
    expect(server.ranges[3]).toBe(`9-${size - 1}`);
  });

  it('an abort ends a read at once while it waits for the server', async () => {
    const server = await FileServer.start(pseudoRandomBytes(size));
    const stop = new AbortController();
    const source = await openSource(server.url, { signal: stop.signal });
    server.fault = afterOpening({ respond: (response) => response.writeHead(206).flushHeaders() });
    const reading = readAll(source);
    setTimeout(() => stop.abort(new CodedError('enough', { code: 'interrupted' })), 50);
    expect((await reading).error).toMatchObject({ code: 'interrupted' });
  });

  it('a reader that stops closes a stalled connection without waiting for the idle timeout', async () => {
    const server = await FileServer.start(pseudoRandomBytes(size));
    const source = await RangeSource.open(server.url, transportFor(server.url, { requestTimeoutMs: 3600_000 }));
    const connectionClosed = createLatch();
    server.fault = afterOpening({
      respond: (response) => {
        response.on('close', connectionClosed.open);
        response.writeHead(206, { etag: server.etag, 'content-range': `bytes 0-99/${size}` });
        response.write('x');
      },
    });
    for await (const _bytes of source.read(0, 100)) break;
    await connectionClosed.opened; // at once, not after the idle timeout of an hour
  });

  it('a source reads ahead only a few MiB, and closes the connection when its reader stops', async () => {
    let sentBytes = 0;
    const connectionClosed = createLatch();
    const { server, source } = await startServerAndOpen(randomBytes(64 * MiB));
    server.fault = afterOpening({
      respond: async (response) => {
        const range = `bytes 0-${64 * MiB - 1}/${64 * MiB}`;
        response.writeHead(206, { etag: server.etag, 'content-range': range });
        response.on('close', () => connectionClosed.open());
        for (; sentBytes < 64 * MiB && !response.destroyed; sentBytes += MiB)
          if (!response.write(server.bytes.subarray(sentBytes, sentBytes + MiB)))
            await Promise.race([once(response, 'drain'), connectionClosed.opened]);
      },
    });
    for await (const bytes of source.read(0, 64 * MiB)) {
      await new Promise((resolve) => setTimeout(resolve, 500));
      expect(bytes.equals(server.bytes.subarray(0, bytes.length))).toBe(true); // the buffer was not overwritten
      break;
    }
    await connectionClosed.opened;
    expect(sentBytes).toBeLessThan(24 * MiB); // includes the kernel's loopback buffers
  });
});

describe('replaced files', () => {
  const otherBytes = pseudoRandomBytes(size, 'other');
  it.each<[string, (server: FileServer) => void]>([
    [
      'whose server evaluates If-Match',
      (server) => {
        server.bytes = otherBytes;
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
        server.fault = afterOpening({ headers: { etag: '"another"' } });
      },
    ],
    [
      'whose server stops sending an ETag',
      (server) => {
        server.fault = afterOpening({ headers: { etag: undefined } });
      },
    ],
    [
      'with another length',
      (server) => {
        server.fault = afterOpening({ headers: { 'content-range': `bytes 0-0/${size + 1}` } });
      },
    ],
    [
      'that is sent whole with status 200',
      (server) => {
        server.fault = afterOpening(respondWithStatus(200, 'x'.repeat(size)));
      },
    ],
    [
      'that is too short for the range (416)',
      (server) => {
        server.fault = afterOpening(respondWithStatus(416));
      },
    ],
  ])('a replaced file %s is detected before any of its bytes are returned', async (kind, replaceFile) => {
    const server = await FileServer.start(pseudoRandomBytes(size));
    server.hasEtag = kind !== 'with a new Last-Modified only';
    const source = await openSource(server.url);
    replaceFile(server);
    const { bytes, error } = await readAll(source);
    expect(bytes.length).toBe(0);
    expect(error).toMatchObject({ code: 'file_changed', exit_code: 13, retryable: false });
    await expect(source.assertUnchanged()).rejects.toThrow('changed since its upload began');
  });

  it('a file that is replaced during its last range never completes a chunk', async () => {
    const { server, source } = await startServerAndOpen();
    const onRead = () => {
      server.bytes = otherBytes;
    };
    const { bytes, error } = await readAll(source, 0, size, { onRead });
    expect(bytes.length).toBeLessThan(size);
    expect(error).toMatchObject({ code: 'file_changed', exit_code: 13 });
  });

  it('an empty remote file that later has content is reported as changed', async () => {
    const { server, source } = await startServerAndOpen(Buffer.alloc(0));
    server.bytes = otherBytes;
    await expect(source.assertUnchanged()).rejects.toThrow('changed since its upload began');
  });

  it.each([
    [404, { code: 'file_unusable', exit_code: 2, http_status: null }],
    [403, { code: 'source_failed', exit_code: 10, http_status: null }],
  ])(
    'status %d for a remote file is reported as a source error, not as a lost upload session',
    async (status, expected) => {
      const { server, source } = await startServerAndOpen();
      server.fault = afterOpening(respondWithStatus(status));
      expect((await readAll(source)).error).toMatchObject(expected);
    },
  );
});

describe('unusable file servers', () => {
  const rangeResponseWith = (headers: Record<string, string>) =>
    respondWithStatus(206, 'x', { etag: '"a"', 'content-range': 'bytes 0-0/9', ...headers });
  it.each([
    ['does not support ranges', respondWithStatus(200, 'all of it', { etag: '"a"' })],
    ['sends no total length', rangeResponseWith({ 'content-range': 'bytes 0-0/*' })],
    ['sends no validator', rangeResponseWith({ etag: '' })],
    ['sends only a weak ETag', rangeResponseWith({ etag: 'W/"a"' })],
    ['sends an invalid Last-Modified', rangeResponseWith({ etag: '', 'last-modified': 'yesterday' })],
    ['compresses the content', rangeResponseWith({ 'content-encoding': 'gzip' })],
  ])('a file server that %s is refused with a hint to pipe the file instead', async (_why, injected) => {
    const server = await FileServer.start(pseudoRandomBytes(9));
    server.fault = () => injected;
    const secretUrl = `${server.url}?token=a-secret`;
    const error = await failureOf(openSource(secretUrl));
    expect(error).toMatchObject({ code: 'usage', exit_code: 2, hint: 'curl -L URL | mediactl upload - --name NAME' });
    expect(JSON.stringify(error)).not.toContain('a-secret');
  });

  it('the error of a file with only a weak ETag says that the ETag is weak', async () => {
    const server = await FileServer.start(pseudoRandomBytes(9));
    server.fault = () => rangeResponseWith({ etag: 'W/"a"' });
    expect(await failureOf(openSource(server.url))).toMatchObject({ cause: /^its server sends only a weak ETag/ });
  });

  const page = '<!doctype html><title>This link has expired</title>';
  const pageWith = (status: number, headers: Record<string, string> = {}) =>
    respondWithStatus(status, page, { 'content-type': 'text/html; charset=utf-8', etag: '"page"', ...headers });
  const pageRange = { 'content-range': `bytes 0-0/${page.length}` };
  it.each([
    ['as a whole', pageWith(200)],
    ['with range support', pageWith(206, pageRange)],
    ['as XHTML', pageWith(206, { ...pageRange, 'content-type': 'application/xhtml+xml' })],
  ])('a web page in place of a video, sent %s, is refused as an expired link or a sign-in', async (_how, injected) => {
    const server = await FileServer.start(pseudoRandomBytes(9));
    server.fault = () => injected;
    expect(await failureOf(openSource(server.url))).toMatchObject({
      code: 'source_failed',
      exit_code: 10,
      cause: 'it sent a web page, as for an expired link or a sign-in',
      hint: /newly signed URL/,
    });
  });

  it('a link that expires during a read, and then returns a web page, does not count as a changed file', async () => {
    const { server, source } = await startServerAndOpen();
    server.fault = afterOpening(pageWith(200));
    expect(await readAll(source)).toMatchObject({ bytes: Buffer.alloc(0), error: { code: 'source_failed' } });
  });

  it.each(['.html', '.HTM', '.xhtml'])('a web page whose own name ends with %s is read', async (ending) => {
    const server = await FileServer.start(Buffer.from(page));
    server.fault = () => ({ headers: { 'content-type': 'text/html' } });
    const source = await openSource(server.url.replace(/\.mp4$/, ending));
    expect((await readAll(source)).bytes.toString()).toBe(page);
  });

  it('a file that its server sends as plain text is read, and so is an empty one whose 416 is a web page', async () => {
    const server = await FileServer.start(pseudoRandomBytes(9));
    server.fault = () => ({ headers: { 'content-type': 'text/plain' } });
    expect((await readAll(await openSource(server.url))).bytes.equals(server.bytes)).toBe(true);
    server.fault = () => pageWith(416, { 'content-range': 'bytes */0' });
    expect((await openSource(server.url)).sizeBytes).toBe(0);
  });

  it.each([
    [404, 'file_unusable', 2],
    [410, 'file_unusable', 2],
    [401, 'source_failed', 10],
    [403, 'source_failed', 10],
    [400, 'source_failed', 10],
    [503, 'source_failed', 10],
  ])('opening a file on a server that responds with %d fails with %s', async (status, code, exitCode) => {
    const server = await FileServer.start(pseudoRandomBytes(9));
    server.fault = () => respondWithStatus(status, '<html>', { 'content-type': 'text/html' });
    const error = await failureOf(openSource(server.url));
    expect(error).toMatchObject({ code, exit_code: exitCode, http_status: null });
    expect(server.requests.length).toBe(status === 503 ? 4 : 1);
  });

  it('opening a file on an unreachable server fails with unreachable and exit code 10', async () => {
    const error = await failureOf(openSource('http://127.0.0.1:9/a.mp4'));
    expect(error).toMatchObject({ code: 'unreachable', exit_code: 10, hint: /check the URL/ });
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
    const server = await FileServer.start(pseudoRandomBytes(size));
    server.hasEtag = false;
    const source = await openSource(server.url);
    server.fault = ({ nth }) => (nth === 2 ? injected : undefined);
    expect(await readAll(source, 0, 1000)).toMatchObject({
      error: { code: 'source_failed', exit_code: 10, retryable: false },
    });
  });
});

it('a redirect is followed for every range, and the password is not sent to its target', async () => {
  const server = await FileServer.start(pseudoRandomBytes(size));
  const receivedAuthorizations: (string | undefined)[] = [];
  const origin = await startServer(({ headers }, response) => {
    receivedAuthorizations.push(headers.authorization);
    respond(response, 302, '', { location: server.url });
  });
  const source = await openSource(`${origin.replace('//', '//ann:secret@')}/clip?token=abc`);
  expect([source.path, source.realPath]).toEqual([`${origin}/clip`, `${origin}/clip`]);
  expect((await readAll(source)).bytes.equals(server.bytes)).toBe(true);
  expect(receivedAuthorizations).toEqual(Array(3).fill(`Basic ${btoa('ann:secret')}`));
  for (const { headers } of server.requests) expect(headers).not.toHaveProperty('authorization');
});
