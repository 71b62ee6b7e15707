import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import type { ServerResponse } from 'node:http';
import { basename, join } from 'node:path';
import { blake3 } from '@napi-rs/blake-hash';
import { beforeEach, expect, it } from 'vitest';
import { Cli } from '../support/cli.ts';
import { acceleratedClock } from '../support/clock.ts';
import { errorInTable, errorOf } from '../support/errors.ts';
import { assetUid } from '../support/fake-library.ts';
import { serveAsset } from '../support/fake-service.ts';
import { FileServer } from '../support/file-server.ts';
import { pseudoRandomBytes } from '../support/files.ts';
import { changeState, queryState } from '../support/state-database.ts';

const fileSize = 300_000;
const firstVersion = pseudoRandomBytes(fileSize, 'the first version');

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
const fullReply: MediaReply = { headers: { ...videoHeaders, 'content-length': fileSize }, body: firstVersion };

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

/** Downloads the asset of a service, whose waits end at once. */
const downloadFrom = (service: string, path: string) =>
  cli.run(['download', assetUid, '-o', path], {
    environment: { MEDIACTL_BASE_URL: service },
    clock: acceleratedClock(),
  });

const secondVersion = pseudoRandomBytes(fileSize, 'another version');

const cutReply: MediaReply = {
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
const restOfFile = (from: number) => part(from, fileSize);

type ResumeCase = [what: string, replies: Script[], size: number | null, exit: number];

/** Responses after the connection dropped at byte 100,000 of the first version. */
const resumeCases: ResumeCase[] = [
  ['the whole file', [fullReply], fileSize, 0],
  ['the whole file, whose record has no size', [fullReply], null, 0],
  ['the rest with the same ETag', [cutReply, restOfFile], fileSize, 0],
  [
    'parts that are shorter than requested',
    [cutReply, (from) => part(from, 150_000), part(150_000, fileSize)],
    fileSize,
    0,
  ],
  [
    'a part that is shorter than its Content-Range',
    [
      cutReply,
      (from) => ({
        ...part(from, fileSize, firstVersion, { 'content-length': 10 }),
        body: firstVersion.subarray(from, from + 10),
      }),
      restOfFile,
    ],
    fileSize,
    0,
  ],
  [
    'parts and drops each connection',
    [
      cutReply,
      (from) => ({ ...restOfFile(from), body: firstVersion.subarray(from, 200_000), dropsConnection: true }),
      restOfFile,
    ],
    fileSize,
    0,
  ],
  [
    'the whole file with another ETag instead of the rest',
    [cutReply, { ...fullReply, headers: { ...fullReply.headers, etag: '"two"' } }],
    fileSize,
    0,
  ],
  ['the whole file instead of the requested range', [cutReply, fullReply], fileSize, 0],
  [
    'Last-Modified without an ETag',
    [
      { ...cutReply, headers: { 'content-length': fileSize, 'last-modified': 'Sat, 01 Mar 2025 00:00:00 GMT' } },
      (from) => part(from, fileSize, firstVersion, { etag: '', 'last-modified': 'Sat, 01 Mar 2025 00:00:00 GMT' }),
    ],
    fileSize,
    0,
  ],
  [
    'no validator, so that the download restarts',
    [
      { ...cutReply, headers: { 'content-length': fileSize } },
      { ...fullReply, headers: { 'content-length': fileSize } },
    ],
    fileSize,
    0,
  ],
  [
    'a weak ETag, so that the download restarts',
    [{ ...cutReply, headers: { ...cutReply.headers, etag: 'W/"one"' } }, fullReply],
    fileSize,
    0,
  ],
  [
    'the whole file in chunked encoding',
    [{ headers: { 'content-type': 'video/mp4', 'transfer-encoding': 'chunked' }, body: firstVersion }],
    fileSize,
    0,
  ],
  [
    'a rendition of another type and size',
    [{ ...fullReply, headers: { ...fullReply.headers, 'content-type': 'video/webm' } }],
    7,
    0,
  ],
  [
    'parts of unknown total size after a dropped response',
    [
      { ...cutReply, headers: { ...videoHeaders, 'transfer-encoding': 'chunked' } },
      (from) => part(from, 150_000, firstVersion, { 'content-range': `bytes ${from}-149999/*` }),
      (from) => part(from, fileSize, firstVersion, { 'content-range': `bytes ${from}-${fileSize - 1}/*` }),
      { status: 416 },
    ],
    null,
    0,
  ],

  ['a part that starts a byte before the requested one', [cutReply, (from) => part(from - 1, fileSize)], fileSize, 0],
  [
    'parts that start at the first byte each time, and are cut once before the requested one',
    [
      cutReply,
      { ...part(0, fileSize), body: firstVersion.subarray(0, 50_000), dropsConnection: true },
      part(0, fileSize),
    ],
    fileSize,
    0,
  ],
  ['416 for the rest of the file, and then the whole file', [cutReply, { status: 416 }, fullReply], fileSize, 0],
  ['416 for the rest of the file every time', [cutReply, { status: 416 }, cutReply, { status: 416 }], fileSize, 13],
  [
    'parts that end before the requested one every time',
    [cutReply, ...Array(9).fill((from: number) => part(0, from - 1))],
    fileSize,
    13,
  ],
  ...['text/plain', 'application/json', 'application/xml', 'application/problem+json'].map(
    (type): ResumeCase => [
      `an error body with status 200: ${type}`,
      [{ headers: { 'content-type': type }, body: Buffer.from('{"error":"quota"}') }],
      fileSize,
      13,
    ],
  ),
  [
    'a binary/octet-stream body below the recorded size',
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
    'a part of another version with another ETag',
    [cutReply, (from) => part(from, fileSize, secondVersion, { etag: '"two"' })],
    fileSize,
    13,
  ],
  [
    'a part of another version with another Last-Modified',
    [
      { ...cutReply, headers: { 'content-length': fileSize, 'last-modified': 'Sat, 01 Mar 2025 00:00:00 GMT' } },
      (from) => part(from, fileSize, secondVersion, { etag: '', 'last-modified': 'Sun, 02 Mar 2025 00:00:00 GMT' }),
    ],
    fileSize,
    13,
  ],
  ['a part of a longer file', [cutReply, (from) => part(from, 600_000, pseudoRandomBytes(600_000))], fileSize, 13],
  ['a part that starts after the requested offset', [cutReply, (from) => part(from + 1, fileSize)], fileSize, 13],
  ['a part that was not requested', [part(0, 10)], fileSize, 13],
  [
    'a third of the file without Content-Length',
    [{ headers: { 'content-type': 'video/mp4' }, body: firstVersion.subarray(0, 100_000), endsWithConnection: true }],
    fileSize,
    13,
  ],
  ['an empty body', [{ headers: { ...videoHeaders, 'content-length': 0 }, body: Buffer.alloc(0) }], fileSize, 13],
  ['an empty 204 response', [{ status: 204, headers: {}, body: Buffer.alloc(0) }], null, 13],
  [
    'a web page',
    [{ headers: { 'content-type': 'text/html; charset=utf-8' }, body: Buffer.from('<html>Log in</html>') }],
    null,
    13,
  ],
  [
    'gzip that was not requested',
    [{ headers: { ...videoHeaders, 'content-encoding': 'gzip' }, body: firstVersion }],
    fileSize,
    13,
  ],
  [
    'a complete response that is shorter than the recorded size',
    [{ headers: { ...videoHeaders, 'content-length': 1000 }, body: firstVersion.subarray(0, 1000) }],
    fileSize,
    13,
  ],
  [
    'the rest without its bytes every time',
    [
      cutReply,
      // The first one waits with its connection open.
      ...Array.from({ length: 9 }, (_, nth) => (from: number) => ({
        ...restOfFile(from),
        body: Buffer.alloc(0),
        dropsConnection: nth > 0,
      })),
    ],
    fileSize,
    10,
  ],
  [
    'parts of zero bytes every time',
    [
      cutReply,
      ...Array(9).fill((from: number) => ({
        ...part(from, from + 1, firstVersion, { 'content-length': 0 }),
        body: Buffer.alloc(0),
      })),
    ],
    fileSize,
    13,
  ],
  ['a 403 error', [{ status: 403, headers: {}, body: Buffer.from('expired') }], fileSize, 5],
];

it.each([
  ['the source of an audio asset', 'audio', 'source', 'audio/mp4', true],
  ['an image', 'image', 'variants', 'audio/mp4', true],
  ['a document', 'document', 'url', 'audio/mp4', true],
  ['a video of another type', 'video', 'source_url', 'video/webm', true],
  ['an original audio file', 'audio', 'source', 'audio/mp4', false],
])('download of %s prints a note only if the file is a rendition', async (_what, type, field, mime, isRendition) => {
  const media = { url: 'HERE/media/sound' };
  const source = field === 'variants' ? [media] : field === 'url' ? media.url : media;
  const size = isRendition ? 7 : fileSize;
  const headers = { 'content-type': mime, 'content-length': fileSize };
  const service = await serveAsset({ type, content_type: 'audio/mp4', size, [field]: source }, (response) =>
    sendReply(response, { headers, body: firstVersion }),
  );
  const path = join(cli.home, 'sound');
  const { code, stderr } = await cli.run(['assets', 'download', assetUid, '-o', path], {
    environment: { MEDIACTL_BASE_URL: service },
  });
  expect(code).toBe(0);
  expect(readFileSync(path).equals(firstVersion)).toBe(true);
  const note = `${path} is a rendition, not the original file: 293.0 KiB, ${mime}; the record says 7 B, audio/mp4`;
  expect(stderr).toEqual(isRendition ? expect.stringContaining(note) : '');
});

/** Downloads the film from a service that sends these replies. */
async function downloadFilm(replies: Script[], recordedSize: number | null, extraArgs: string[] = []) {
  const requestedRanges: (string | undefined)[] = [];
  const source_url = { url: 'HERE/media/film.mp4' };
  const service = await serveAsset(
    { type: 'video', size: recordedSize, content_type: 'video/mp4', source_url },
    (response) => {
      const { range } = response.req.headers;
      requestedRanges.push(range);
      const script = replies[Math.min(requestedRanges.length, replies.length) - 1] as Script;
      const from = Number(/\d+/.exec(range ?? '0')?.[0]);
      sendReply(response, typeof script === 'function' ? script(from) : script);
    },
  );
  const path = join(cli.home, 'film.mp4');
  const result = await cli.run(['assets', 'download', assetUid, '-o', path, ...extraArgs], {
    environment: { MEDIACTL_BASE_URL: service },
    clock: acceleratedClock(),
  });
  return { ...result, path, requestedRanges };
}

it('download to a path forgets what was received of another asset before it writes there, so that the first is not resumed from its bytes', async () => {
  let [isCut, known] = [true, -1];
  const state = join(cli.home, 'state');
  const countKnown = () => queryState(state, "SELECT 1 FROM downloads WHERE state = 'partial'").length;
  const source_url = { url: 'HERE/media/film.mp4' };
  const service = await serveAsset(
    { type: 'video', size: fileSize, content_type: 'video/mp4', source_url },
    (response) => {
      known = countKnown();
      sendReply(response, isCut ? cutReply : fullReply);
    },
  );
  const options = { environment: { MEDIACTL_BASE_URL: service }, clock: acceleratedClock() };
  const args = ['download', assetUid, '-o', join(cli.home, 'film.mp4')];
  expect((await cli.run(args, options)).code).not.toBe(0);
  expect(countKnown()).toBe(1);
  changeState(state, "UPDATE downloads SET asset = 'another' WHERE state = 'partial'");
  isCut = false;
  expect((await cli.run(args, options)).code).toBe(0);
  expect(known).toBe(0);
  expect(readFileSync(join(cli.home, 'film.mp4')).equals(firstVersion)).toBe(true);
});

it.each([
  [
    'a part of a longer file',
    { code: 'download_changed', exit: 13, hint: expect.stringMatching(/^run it again; if it/) },
  ],
  ['parts of zero bytes every time', errorInTable('download_incomplete')],
])('download reports the code and the next step if the service sends %s', async (what, error) => {
  const [, replies, recordedSize] = resumeCases.find(([name]) => name === what) as ResumeCase;
  expect(errorOf(await downloadFilm(replies, recordedSize, ['--json']))).toEqual(error);
});

it.each(resumeCases)(
  'download saves the whole file or none if it receives %s (%#)',
  async (_what, replies, recordedSize, exit) => {
    const { code, stderr, path, requestedRanges } = await downloadFilm(replies, recordedSize);
    expect([code, stderr]).toEqual([exit, expect.any(String)]);
    expect(stderr).not.toContain('unclassified');
    if (exit === 0) expect(readFileSync(path).equals(firstVersion)).toBe(true);
    const savedFiles = readdirSync(cli.home).filter((name) => name.startsWith(basename(path)));
    // After a lost connection, what was received is kept for the next run.
    const left = exit === 10 ? [expect.stringMatching(/\.part$/)] : [];
    expect(savedFiles).toEqual(exit === 0 ? ['film.mp4'] : left);
    expect(requestedRanges.length).toBeLessThanOrEqual(Math.max(replies.length, 5)); // no endless retries
  },
);

it('download does not take a text file for an error message if its record has only a generic content type', async () => {
  const asset = { type: 'document', size: 5, content_type: 'application/octet-stream', url: 'HERE/media/notes' };
  const service = await serveAsset(asset, (response) =>
    sendReply(response, { headers: { 'content-type': 'text/plain' }, body: Buffer.from('notes') }),
  );
  const path = join(cli.home, 'notes');
  const { code } = await cli.run(['assets', 'download', assetUid, '-o', path], {
    environment: { MEDIACTL_BASE_URL: service },
  });
  expect([code, readFileSync(path, 'utf8')]).toEqual([0, 'notes']);
});

it('download restarts at offset 0 if the file changes while the connection is down', async () => {
  const mediaServer = await FileServer.start(firstVersion);
  mediaServer.fault = ({ nth }) => (nth === 1 ? { cutAfterBytes: 100_000 } : undefined);
  const service = await serveAsset({ type: 'video', source_url: { url: mediaServer.url } });
  const path = join(cli.home, 'film.mp4');
  const clock = acceleratedClock();
  const { code } = await cli.run(['assets', 'download', assetUid, '-o', path], {
    environment: { MEDIACTL_BASE_URL: service },
    clock: {
      ...clock,
      sleep: (delayMs, signal) => {
        mediaServer.bytes = secondVersion; // while the client waits to connect again
        return clock.sleep(delayMs, signal);
      },
    },
  });
  expect(code).toBe(0);
  expect(readFileSync(path).equals(secondVersion)).toBe(true);
  expect(mediaServer.ranges).toEqual(['', expect.stringMatching(/^\d+-$/)]);
});

it.each([
  ['the same file', firstVersion, restOfFile],
  [
    'another file',
    secondVersion,
    { ...fullReply, headers: { ...fullReply.headers, etag: '"two"' }, body: secondVersion },
  ],
] as [string, Buffer, Script][])(
  'download goes on where an earlier process lost its connection, if the service still has %s',
  async (_what, content, reply) => {
    const requestedRanges: (string | undefined)[] = [];
    let script: Script[] = [
      cutReply,
      ...Array(9).fill((from: number) => ({ ...restOfFile(from), body: Buffer.alloc(0) })),
    ];
    const media = { type: 'video', content_type: 'video/mp4', source_url: { url: 'HERE/media/film.mp4' } };
    const service = await serveAsset(media, (response) => {
      const asked = response.req.headers.range;
      requestedRanges.push(asked);
      const next = script.shift() as Script;
      const found = typeof next === 'function' ? next(Number(/\d+/.exec(asked ?? '0')?.[0])) : next;
      sendReply(response, found.body?.length === 0 ? { ...found, dropsConnection: true } : found);
    });
    const path = join(cli.home, 'film.mp4');
    const download = () => downloadFrom(service, path);
    expect((await download()).code).toBe(10);
    const partFiles = () => readdirSync(cli.home).filter((name) => name.endsWith('.part'));
    expect(partFiles()).toHaveLength(1);
    script = [reply];
    requestedRanges.splice(0);
    const second = await download();
    expect(second.code, second.stderr).toBe(0);
    expect(requestedRanges).toEqual([expect.stringMatching(/^bytes=[1-9]\d*-$/)]);
    expect(readFileSync(path).equals(content)).toBe(true);
    expect(partFiles()).toEqual([]);
  },
);

it.each([
  ['saves the uploaded file', firstVersion, 0],
  ['says that the service has another file', secondVersion, 13],
])(
  'download begins once more if what an earlier process has received was damaged on the disk, and %s',
  async (_what, served, exit) => {
    const requestedRanges: (string | undefined)[] = [];
    const media = { type: 'video', content_type: 'video/mp4', source_url: { url: 'HERE/media/film.mp4' } };
    let isCut = true;
    const service = await serveAsset(media, (response) => {
      const asked = response.req.headers.range;
      requestedRanges.push(asked);
      const from = Number(/\d+/.exec(asked ?? '0')?.[0]);
      if (isCut)
        sendReply(response, asked ? { ...restOfFile(from), body: Buffer.alloc(0), dropsConnection: true } : cutReply);
      else sendReply(response, asked ? part(from, fileSize, served) : { ...fullReply, body: served });
    });
    const path = join(cli.home, 'film.mp4');
    const download = () => downloadFrom(service, path);
    expect((await download()).code).toBe(10);
    const partFile = join(cli.home, readdirSync(cli.home).find((name) => name.endsWith('.part')) ?? '');
    const bytes = readFileSync(partFile);
    bytes[0] = (bytes[0] ?? 0) ^ 1;
    writeFileSync(partFile, bytes);
    const state = join(cli.home, 'state');
    const uploaded = Buffer.from(blake3(firstVersion)).toString('hex');
    changeState(state, "INSERT INTO uploads (state, asset, blake3) VALUES ('done', ?, ?)", assetUid, uploaded);
    isCut = false;
    requestedRanges.splice(0);
    const { code, stderr } = await download();
    expect([code, requestedRanges], stderr).toEqual([exit, [expect.stringMatching(/^bytes=[1-9]/), undefined]]);
    if (exit === 0) expect(readFileSync(path).equals(firstVersion)).toBe(true);
  },
);
