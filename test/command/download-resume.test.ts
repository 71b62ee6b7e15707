import { readdirSync, readFileSync } from 'node:fs';
import type { ServerResponse } from 'node:http';
import { basename, join } from 'node:path';
import { beforeEach, expect, it } from 'vitest';
import { Cli } from '../support/cli.ts';
import { fastClock } from '../support/clock.ts';
import { errorInTable, errorOf } from '../support/errors.ts';
import { assetUid } from '../support/fake-library.ts';
import { serveAsset } from '../support/fake-service.ts';
import { FileServer } from '../support/file-server.ts';
import { someBytes } from '../support/files.ts';

const fileSize = 300_000;
const firstVersion = someBytes(fileSize, 'the first version');

/** A media response of a CDN that may drop, truncate or change the file. */
type MediaReply = {
  status?: number;
  headers?: Record<string, string | number>;
  body?: Buffer;
  /** Drops the connection after the body, before the end of the response. */
  dropsConnection?: boolean;
  /** No Content-Length and no chunked encoding: the body ends when the connection closes. */
  endsWithConnection?: boolean;
};

const videoHeaders = { etag: '"one"', 'content-type': 'video/mp4' };
const fullReply: MediaReply = {
  headers: { ...videoHeaders, 'content-length': fileSize },
  body: firstVersion,
};

function sendReply(
  response: ServerResponse,
  { status = 200, headers = {}, body, dropsConnection, endsWithConnection }: MediaReply,
) {
  const sentHeaders = Object.entries(headers).filter(([, value]) => value !== '');
  if (endsWithConnection) {
    response.useChunkedEncodingByDefault = false;
    response.shouldKeepAlive = false;
  }
  response.writeHead(status, Object.fromEntries([...sentHeaders, ['date', 'Sat, 21 Nov 2026 00:00:00 GMT']]));
  if (dropsConnection) response.write(body ?? '', () => setTimeout(() => response.destroy(), 10));
  else response.end(body);
}

let cli: Cli;
beforeEach(() => {
  cli = new Cli({ MEDIACTL_API_KEY: 'a-key-of-this-test', MEDIACTL_WORKSPACE: assetUid });
});

const second = someBytes(fileSize, 'another version');

const cut: MediaReply = {
  headers: { ...videoHeaders, 'content-length': fileSize },
  body: firstVersion.subarray(0, 100_000),
  dropsConnection: true,
};
const part = (
  from: number,
  to: number,
  of: Buffer = firstVersion,
  headers: MediaReply['headers'] = {},
): MediaReply => ({
  status: 206,
  headers: {
    ...videoHeaders,
    'content-range': `bytes ${from}-${to - 1}/${of.length}`,
    'content-length': to - from,
    ...headers,
  },
  body: of.subarray(from, to),
});
/**
 * A media response, perhaps computed from the requested offset: on a busy machine the client may have received
 * fewer bytes before the dropped connection than were sent.
 */
type Script = MediaReply | ((from: number) => MediaReply);
const rest = (from: number) => part(from, fileSize);

type ResumeCase = [what: string, replies: Script[], size: number | null, exit: number];

/** Responses after the connection dropped at byte 100,000 of the first version. */
const table: ResumeCase[] = [
  ['a whole answer', [fullReply], fileSize, 0],
  ['without a length in the record', [fullReply], null, 0],
  ['the rest, under an equal ETag', [cut, rest], fileSize, 0],
  ['parts that are shorter than asked for', [cut, (from) => part(from, 150_000), part(150_000, fileSize)], fileSize, 0],
  [
    'a part that ends before its own Content-Range does',
    [
      cut,
      (from) => ({
        ...part(from, fileSize, firstVersion, { 'content-length': 10 }),
        body: firstVersion.subarray(from, from + 10),
      }),
      rest,
    ],
    fileSize,
    0,
  ],
  [
    'a line that breaks at every part',
    [
      cut,
      (from) => ({
        ...rest(from),
        body: firstVersion.subarray(from, 200_000),
        dropsConnection: true,
      }),
      rest,
    ],
    fileSize,
    0,
  ],
  [
    'everything again, since it changed',
    [cut, { ...fullReply, headers: { ...fullReply.headers, etag: '"two"' } }],
    fileSize,
    0,
  ],
  ['a service without ranges', [cut, fullReply], fileSize, 0],
  [
    'Last-Modified alone',
    [
      {
        ...cut,
        headers: { 'content-length': fileSize, 'last-modified': 'Sat, 01 Mar 2025 00:00:00 GMT' },
      },
      (from) =>
        part(from, fileSize, firstVersion, {
          etag: '',
          'last-modified': 'Sat, 01 Mar 2025 00:00:00 GMT',
        }),
    ],
    fileSize,
    0,
  ],
  [
    'no validator: it begins anew',
    [
      { ...cut, headers: { 'content-length': fileSize } },
      { ...fullReply, headers: { 'content-length': fileSize } },
    ],
    fileSize,
    0,
  ],
  [
    'a weak ETag vouches for nothing: it begins anew',
    [{ ...cut, headers: { ...cut.headers, etag: 'W/"one"' } }, fullReply],
    fileSize,
    0,
  ],
  [
    'chunked, with the length in the record',
    [
      {
        headers: { 'content-type': 'video/mp4', 'transfer-encoding': 'chunked' },
        body: firstVersion,
      },
    ],
    fileSize,
    0,
  ],
  [
    'a rendition of another type, of another length',
    [{ ...fullReply, headers: { ...fullReply.headers, 'content-type': 'video/webm' } }],
    7,
    0,
  ],
  [
    'parts of a file whose length nobody tells, after a body in chunks that broke',
    [
      { ...cut, headers: { ...videoHeaders, 'transfer-encoding': 'chunked' } },
      (from) => part(from, 150_000, firstVersion, { 'content-range': `bytes ${from}-149999/*` }),
      (from) => part(from, fileSize, firstVersion, { 'content-range': `bytes ${from}-${fileSize - 1}/*` }),
      { status: 416 },
    ],
    null,
    0,
  ],

  ['the rest is refused, of a file that was promised', [cut, { status: 416 }], fileSize, 13],
  ...['text/plain', 'application/json', 'application/xml', 'application/problem+json'].map(
    (type): ResumeCase => [
      `a refusal that is called a success: ${type}`,
      [{ headers: { 'content-type': type }, body: Buffer.from('{"error":"quota"}') }],
      fileSize,
      13,
    ],
  ),
  [
    'anything, shorter than the record: binary/octet-stream',
    [
      {
        headers: { 'content-type': 'binary/octet-stream', 'content-length': 1000 },
        body: firstVersion.subarray(0, 1000),
      },
    ],
    fileSize,
    13,
  ],
  [
    'a part of another version: another ETag',
    [cut, (from) => part(from, fileSize, second, { etag: '"two"' })],
    fileSize,
    13,
  ],
  [
    'a part of another version: another Last-Modified',
    [
      {
        ...cut,
        headers: { 'content-length': fileSize, 'last-modified': 'Sat, 01 Mar 2025 00:00:00 GMT' },
      },
      (from) =>
        part(from, fileSize, second, {
          etag: '',
          'last-modified': 'Sun, 02 Mar 2025 00:00:00 GMT',
        }),
    ],
    fileSize,
    13,
  ],
  ['a part of a longer file', [cut, (from) => part(from, 600_000, someBytes(600_000))], fileSize, 13],
  ['a part from another place', [cut, (from) => part(from - 1, fileSize)], fileSize, 13],
  ['a part nobody asked for', [part(0, 10)], fileSize, 13],
  [
    'an answer that ends a third of the way, without a length',
    [
      {
        headers: { 'content-type': 'video/mp4' },
        body: firstVersion.subarray(0, 100_000),
        endsWithConnection: true,
      },
    ],
    fileSize,
    13,
  ],
  ['nothing', [{ headers: { ...videoHeaders, 'content-length': 0 }, body: Buffer.alloc(0) }], fileSize, 13],
  ['nothing, with 204', [{ status: 204, headers: {}, body: Buffer.alloc(0) }], null, 13],
  [
    'a web page',
    [
      {
        headers: { 'content-type': 'text/html; charset=utf-8' },
        body: Buffer.from('<html>Log in</html>'),
      },
    ],
    null,
    13,
  ],
  [
    'gzip that nobody asked for',
    [{ headers: { ...videoHeaders, 'content-encoding': 'gzip' }, body: firstVersion }],
    fileSize,
    13,
  ],
  [
    'a whole answer that is shorter than the record',
    [
      {
        headers: { ...videoHeaders, 'content-length': 1000 },
        body: firstVersion.subarray(0, 1000),
      },
    ],
    fileSize,
    13,
  ],
  [
    'the same part for ever',
    [cut, ...Array(9).fill((from: number) => ({ ...rest(from), body: Buffer.alloc(0), isCut: true }))],
    fileSize,
    10,
  ],
  [
    'parts of nothing for ever',
    [
      cut,
      ...Array(9).fill((from: number) => ({
        ...part(from, from + 1, firstVersion, { 'content-length': 0 }),
        body: Buffer.alloc(0),
      })),
    ],
    fileSize,
    13,
  ],
  ['a refusal', [{ status: 403, headers: {}, body: Buffer.from('expired') }], fileSize, 5],
];

it.each([
  ['the source of a sound', 'audio', 'source', 'audio/mp4', true],
  ['an image', 'image', 'variants', 'audio/mp4', true],
  ['a document', 'document', 'url', 'audio/mp4', true],
  ['a video of another type', 'video', 'source_url', 'video/webm', true],
  ['a sound that is the file', 'audio', 'source', 'audio/mp4', false],
])('%s may be a rendition, and is called one', async (_what, type, field, sent, isRendition) => {
  const media = { url: 'HERE/media/sound' };
  const source = field === 'variants' ? [media] : field === 'url' ? media.url : media;
  const size = isRendition ? 7 : fileSize;
  const headers = { 'content-type': sent, 'content-length': fileSize };
  const service = await serveAsset({ type, content_type: 'audio/mp4', size, [field]: source }, (response) =>
    sendReply(response, { headers, body: firstVersion }),
  );
  const path = join(cli.home, 'sound');
  const { code, stderr } = await cli.run(['assets', 'download', assetUid, '-o', path], {
    environment: { MEDIACTL_BASE_URL: service },
  });
  expect(code).toBe(0);
  expect(readFileSync(path).equals(firstVersion)).toBe(true);
  const note = `this is a rendition, not the original file: 293.0 KiB, ${sent}; the record says 7 B, audio/mp4`;
  expect(stderr).toEqual(isRendition ? expect.stringContaining(note) : '');
});

/** Downloads the film from a service that answers so. */
async function download(replies: Script[], told: number | null, more: string[] = []) {
  const asked: (string | undefined)[] = [];
  const source_url = { url: 'HERE/media/film.mp4' };
  const service = await serveAsset({ type: 'video', size: told, content_type: 'video/mp4', source_url }, (response) => {
    const { range } = response.req.headers;
    asked.push(range);
    const script = replies[Math.min(asked.length, replies.length) - 1] as Script;
    const from = Number(/\d+/.exec(range ?? '0')?.[0]);
    sendReply(response, typeof script === 'function' ? script(from) : script);
  });
  const path = join(cli.home, 'film.mp4');
  const ran = await cli.run(['assets', 'download', assetUid, '-o', path, ...more], {
    environment: { MEDIACTL_BASE_URL: service },
    clock: fastClock(),
  });
  return { ...ran, path, asked };
}

it.each([
  [
    'a part of a longer file',
    { code: 'download_changed', exit: 13, hint: expect.stringMatching(/^run it again; if it/) },
  ],
  ['parts of nothing for ever', errorInTable('download_incomplete')],
])('%s: code and next step', async (what, error) => {
  const [, replies, told] = table.find(([name]) => name === what) as ResumeCase;
  expect(errorOf(await download(replies, told, ['--json']))).toEqual(error);
});

it.each(table)('%s: the first version whole, or no file (%#)', async (_what, replies, told, exit) => {
  const { code, stderr, path, asked } = await download(replies, told);
  expect([code, stderr]).toEqual([exit, expect.any(String)]);
  expect(stderr).not.toContain('unclassified');
  if (exit === 0) expect(readFileSync(path).equals(firstVersion)).toBe(true);
  const left = readdirSync(cli.home).filter((name) => name.startsWith(basename(path)));
  expect(left).toEqual(exit === 0 ? ['film.mp4'] : []);
  expect(asked.length).toBeLessThanOrEqual(Math.max(replies.length, 5));
});

it('a text whose record says nothing of its type is a text', async () => {
  const text = { type: 'document', size: 5, content_type: 'application/octet-stream', url: 'HERE/media/notes' };
  const service = await serveAsset(text, (response) =>
    sendReply(response, { headers: { 'content-type': 'text/plain' }, body: Buffer.from('notes') }),
  );
  const path = join(cli.home, 'notes');
  const { code } = await cli.run(['assets', 'download', assetUid, '-o', path], {
    environment: { MEDIACTL_BASE_URL: service },
  });
  expect([code, readFileSync(path, 'utf8')]).toEqual([0, 'notes']);
});

it('a file that is replaced while the connection is down is downloaded from its start', async () => {
  const files = await FileServer.start(firstVersion);
  files.fault = ({ nth }) => (nth === 1 ? { cutAfterBytes: 100_000 } : undefined);
  const service = await serveAsset({ type: 'video', source_url: { url: files.url } });
  const path = join(cli.home, 'film.mp4');
  const clock = fastClock();
  const { code } = await cli.run(['assets', 'download', assetUid, '-o', path], {
    environment: { MEDIACTL_BASE_URL: service },
    clock: {
      ...clock,
      sleep: (delayMs, signal) => {
        files.bytes = second; // while the client waits to connect again
        return clock.sleep(delayMs, signal);
      },
    },
  });
  expect(code).toBe(0);
  expect(readFileSync(path).equals(second)).toBe(true);
  expect(files.ranges).toEqual(['', expect.stringMatching(/^\d+-$/)]);
});
