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
const later = (misdeed: FileServerFault) => (asked: FileRequest) => (asked.nth > 1 ? misdeed : undefined);

const answering = (status: number, body = '', headers: Record<string, string> = {}): FileServerFault => ({
  respond: (response) => respond(response, status, body, headers),
});

describe('a file that stays as it is', () => {
  it.each([0, 1, 5, 3 * MiB])('of %d bytes is read whole, and in parts', async (sizeBytes) => {
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

  it('of no bytes needs no parts and no version', async () => {
    const url = await startServer((_, response) => respond(response, 200));
    const source = await open(url);
    expect(source.identity).toEqual({ sizeBytes: 0, mtimeNs: '0' });
    await source.assertUnchanged();
  });

  it('is told of as it is read: each buffer in its place, before it is handed over', async () => {
    const { server, source } = await servedAndOpened();
    const told: Buffer[] = [];
    let handed = 1000;
    const onRead = (at: number, bytes: Buffer) => {
      expect(at).toBe(handed);
      told.push(Buffer.from(bytes));
    };
    for await (const bytes of source.read(1000, size, { onRead })) {
      expect(bytes.equals(told.at(-1) as Buffer)).toBe(true);
      handed += bytes.length;
    }
    expect(Buffer.concat(told).equals(server.bytes.subarray(1000))).toBe(true);
  });

  it('is asked for without our key, in parts, on condition that it stays', async () => {
    const { server, source } = await servedAndOpened();
    await readAll(source, 10, 20);
    expect(server.ranges).toEqual(['0-0', '10-19', '0-0']);
    expect(server.requests[1]?.headers).toMatchObject({
      'if-match': server.etag,
      'accept-encoding': 'identity',
    });
    for (const { headers } of server.requests) expect(headers).not.toHaveProperty('authorization');
  });

  it('goes by its time where its tag is a weak one', async () => {
    const server = await FileServer.start(someBytes(size));
    server.fault = () => ({ headers: { etag: `W/${server.etag}` } });
    const source = await open(server.url);
    expect(source.identity).not.toHaveProperty('validator');
    await readAll(source, 0, 10);
    expect(server.requests[1]?.headers['if-unmodified-since']).toBe(server.lastModified);
    expect(server.requests[1]?.headers).not.toHaveProperty('if-match');
  });

  it('is called as its server says, and of the type that it says', async () => {
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

describe('a line that breaks', () => {
  it('is taken up at the byte where it broke, by broken connections and failing servers', async () => {
    const { server, source } = await servedAndOpened();
    server.fault = ({ nth }) =>
      [{}, { cutAfterBytes: 100_000 }, answering(503), { cutAfterBytes: 1 }, answering(502)][nth - 1];
    const { bytes, error } = await readAll(source);
    expect(error).toBeUndefined();
    expect(bytes.equals(server.bytes)).toBe(true);
    const rest = ['100000', '100000', '100001', '100001'].map((from) => `${from}-${size - 1}`);
    expect(server.ranges).toEqual(['0-0', `0-${size - 1}`, ...rest, '0-0']);
  });

  it('is given up after four tries without a byte, and may be tried later', async () => {
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

  it('is given up after four tries where the server only drips bytes', async () => {
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

  it('that answers less than requested is asked for the rest', async () => {
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

  it('that a person gives up ends at once, whatever it waits for', async () => {
    const server = await FileServer.start(someBytes(size));
    const stop = new AbortController();
    const source = await open(server.url, { signal: stop.signal });
    server.fault = later({ respond: (response) => response.writeHead(206).flushHeaders() });
    const reading = readAll(source);
    setTimeout(() => stop.abort(new MediactlError('enough', { code: 'interrupted', exitCode: 130 })), 50);
    expect((await reading).error).toMatchObject({ code: 'interrupted' });
  });

  it('on which nothing comes any more is let go of by a reader who leaves', async () => {
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

  it('is not read ahead of its reader by more than a little, and let go of by one who leaves', async () => {
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

describe('a file that becomes another', () => {
  const other = someBytes(size, 'other');
  it.each<[string, (server: FileServer) => void]>([
    [
      'at a server that heeds conditions',
      (server) => {
        server.bytes = other;
      },
    ],
    [
      'by its time alone',
      (server) => {
        server.lastModified = 'Tue, 03 Mar 2026 10:00:01 GMT';
        server.hasEtag = false;
      },
    ],
    [
      'at one that does not',
      (server) => {
        server.fault = later({ headers: { etag: '"another"' } });
      },
    ],
    [
      'at one that stops to tell',
      (server) => {
        server.fault = later({ headers: { etag: undefined } });
      },
    ],
    [
      'by its length',
      (server) => {
        server.fault = later({ headers: { 'content-range': `bytes 0-0/${size + 1}` } });
      },
    ],
    [
      'and is sent whole',
      (server) => {
        server.fault = later(answering(200, 'x'.repeat(size)));
      },
    ],
    [
      'and is shorter',
      (server) => {
        server.fault = later(answering(416));
      },
    ],
  ])('%s is found out before a byte of it is handed over', async (how, change) => {
    const server = await FileServer.start(someBytes(size));
    server.hasEtag = how !== 'by its time alone';
    const source = await open(server.url);
    change(server);
    const { bytes, error } = await readAll(source);
    expect(bytes.length).toBe(0);
    expect(error).toMatchObject({ code: 'file_changed', exit_code: 13, retryable: false });
    await expect(source.assertUnchanged()).rejects.toThrow('changed since its upload began');
  });

  it('while its last part is on its way never completes a chunk', async () => {
    const { server, source } = await servedAndOpened();
    const onRead = () => {
      server.bytes = other;
    };
    const { bytes, error } = await readAll(source, 0, size, { onRead });
    expect(bytes.length).toBeLessThan(size);
    expect(error).toMatchObject({ code: 'file_changed', exit_code: 13 });
  });

  it('and holds something, having been empty', async () => {
    const { server, source } = await servedAndOpened(Buffer.alloc(0));
    server.bytes = other;
    await expect(source.assertUnchanged()).rejects.toThrow('changed since its upload began');
  });

  it.each([
    [404, { code: 'file_missing', exit_code: 1, http_status: null }],
    [403, { code: 'source_forbidden', exit_code: 2, http_status: null }],
  ])('and is answered %d is told as what it is, not as an upload session that is gone', async (status, expected) => {
    const { server, source } = await servedAndOpened();
    server.fault = later(answering(status));
    expect((await readAll(source)).error).toMatchObject(expected);
  });
});

describe('a server that cannot be read from', () => {
  const partOf = (headers: Record<string, string>) =>
    answering(206, 'x', { etag: '"a"', 'content-range': 'bytes 0-0/9', ...headers });
  it.each([
    ['sends no parts', answering(200, 'all of it', { etag: '"a"' })],
    ['tells no length', partOf({ 'content-range': 'bytes 0-0/*' })],
    ['has no versions', partOf({ etag: '' })],
    ['has weak ones', partOf({ etag: 'W/"a"' })],
    ['tells a time that is none', partOf({ etag: '', 'last-modified': 'yesterday' })],
    ['encodes it', partOf({ 'content-encoding': 'gzip' })],
  ])('since it %s is told so, and what does instead', async (_why, misdeed) => {
    const server = await FileServer.start(someBytes(9));
    server.fault = () => misdeed;
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
  ])('since it answers %d', async (status, code, exitCode) => {
    const server = await FileServer.start(someBytes(9));
    server.fault = () => answering(status, '<html>', { 'content-type': 'text/html' });
    const error = await failureOf(open(server.url));
    expect(error).toMatchObject({ code, exit_code: exitCode, http_status: null });
    expect(server.requests.length).toBe(status === 503 ? 4 : 1);
  });

  it('since it is not there', async () => {
    const error = await failureOf(open('http://127.0.0.1:9/a.mp4'));
    expect(error).toMatchObject({ code: 'connection_refused', exit_code: 10, hint: /check the URL/ });
  });

  it.each([
    ['another part', { headers: { 'content-range': `bytes 1-9/${size}` } }],
    ['more than that', { headers: { 'content-range': `bytes 0-${size - 1}/${size}` } }],
    [
      'a body past its end',
      {
        respond: (response: ServerResponse) =>
          respond(response, 206, 'x'.repeat(1001), {
            'last-modified': 'Tue, 03 Mar 2026 10:00:00 GMT',
            'content-range': `bytes 0-999/${size}`,
          }),
      },
    ],
    ['it encoded', { headers: { 'content-encoding': 'gzip' } }],
  ])('any more, since it sends %s', async (_what, misdeed) => {
    const server = await FileServer.start(someBytes(size));
    server.hasEtag = false;
    const source = await open(server.url);
    server.fault = ({ nth }) => (nth === 2 ? misdeed : undefined);
    expect(await readAll(source, 0, 1000)).toMatchObject({
      error: { code: 'source_failed', exit_code: 10, retryable: false },
    });
  });
});

it('an address that leads elsewhere is followed at every part, and its password stays at home', async () => {
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
