import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import type { ServerResponse } from 'node:http';
import { basename, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { Cli } from '../support/cli.ts';
import { fastClock } from '../support/clock.ts';
import { someBytes } from '../support/files.ts';
import { answer, listen } from '../support/http-server.ts';
import { fixture, startSandbox, type TestSandbox } from '../support/sandbox.ts';
import { mediactl } from '../support/spawn.ts';

let sandbox: TestSandbox;
let cli: Cli;
const account = () => ({
  MEDIACTL_API_KEY: sandbox.key,
  MEDIACTL_BASE_URL: sandbox.url,
  MEDIACTL_WORKSPACE: sandbox.workspace,
});
beforeAll(async () => {
  sandbox = await startSandbox({ rateLimit: { limit: 100_000, windowSeconds: 3600 } });
});
afterAll(() => sandbox.end());
beforeEach(() => {
  cli = new Cli(account());
});

describe('from the sandbox', () => {
  it('gives back the bytes that were uploaded, 0600 and whole', async () => {
    await cli.run(['upload', fixture('clip.mp4'), '--wait']);
    const path = join(cli.home, 'back.mp4');
    const saved = await cli.json(['assets', 'download', '@last', '-o', path]);
    expect(saved).toMatchObject({ path, size_bytes: statSync(fixture('clip.mp4')).size });
    expect(readFileSync(path).equals(readFileSync(fixture('clip.mp4')))).toBe(true);
    expect(statSync(path).mode & 0o777).toBe(0o600);
  });

  it('a file that is there is replaced with --yes only', async () => {
    await cli.run(['upload', fixture('still.jpg'), '--wait']);
    const path = join(cli.home, 'there.jpg');
    writeFileSync(path, 'mine');
    expect((await cli.run(['assets', 'download', '@last', '-o', path])).code).toBe(2);
    expect(readFileSync(path, 'utf8')).toBe('mine');
    expect((await cli.run(['assets', 'download', '@last', '-o', path, '--yes'])).code).toBe(0);
    expect(readFileSync(path).equals(readFileSync(fixture('still.jpg')))).toBe(true);
  });

  it('neither a .part of somebody else nor a link of that name is touched', async () => {
    await cli.run(['upload', fixture('still.jpg'), '--wait']);
    const path = join(cli.home, 'picture.jpg');
    writeFileSync(`${path}.part`, 'mine');
    expect((await cli.run(['assets', 'download', '@last', '-o', path])).code).toBe(0);
    expect(readFileSync(`${path}.part`, 'utf8')).toBe('mine');
    expect(readdirSync(cli.home).filter((name) => name.endsWith('.part'))).toEqual([
      'picture.jpg.part',
    ]);
  });

  it('what is no file is written to, not replaced', async () => {
    await cli.run(['upload', fixture('still.jpg'), '--wait']);
    const pipe = join(cli.home, 'pipe');
    await promisify(execFile)('mkfifo', [pipe]);
    const reader = promisify(execFile)('cat', [pipe], { encoding: 'buffer' });
    expect((await cli.run(['assets', 'download', '@last', '-o', pipe])).code).toBe(0);
    expect((await reader).stdout.equals(readFileSync(fixture('still.jpg')))).toBe(true);
    expect(statSync(pipe).isFIFO()).toBe(true);
  });

  it('two to one place at once: one is done, the other one leaves', async () => {
    const path = join(cli.home, 'same');
    const waiting: ServerResponse[] = [];
    const service = await serving((response) => waiting.push(response));
    const download = () =>
      cli.run(['assets', 'download', uid, '-o', path], {
        environment: { MEDIACTL_BASE_URL: service },
      });
    const slow = download();
    while (waiting.length === 0) await sleep(10);
    const other = await download();
    expect([other.code, other.stderr]).toEqual([
      6,
      expect.stringContaining('is being downloaded already'),
    ]);
    send(waiting[0] as ServerResponse, whole);
    expect((await slow).code).toBe(0);
    expect(readFileSync(path).equals(first)).toBe(true);
  });

  it('what a killed download left is gone with the next one to the same place, nobody else’s is', async () => {
    const path = join(cli.home, 'picture.jpg');
    const parts = () => readdirSync(cli.home).filter((name) => name.endsWith('.part'));
    let isSlow = true;
    const service = await serving((response) => {
      response.writeHead(200, { ...head, 'content-length': size });
      response.write(first.subarray(0, 1000));
      if (!isSlow) response.end(first.subarray(1000));
    });
    const { child } = mediactl(['assets', 'download', uid, '-o', path], {
      ...account(),
      ...{ MEDIACTL_BASE_URL: service, MEDIACTL_STATE_DIR: `${cli.home}/state` },
    });
    while (parts().length === 0) await sleep(20);
    child.kill('SIGKILL');
    await once(child, 'exit');
    const others = `picture.jpg.${'0a1b2c3d'.repeat(2)}.part`;
    for (const left of [join(cli.home, others), `${path}.orig`]) writeFileSync(left, 'left');
    isSlow = false;
    const environment = { MEDIACTL_BASE_URL: service };
    const { code } = await cli.run(['assets', 'download', uid, '-o', path], { environment });
    expect([code, parts(), existsSync(`${path}.orig`)]).toEqual([0, [others], true]);
  });

  it('a file that comes while it downloads is not replaced', async () => {
    const path = join(cli.home, 'film.mp4');
    const service = await serving((response) => {
      writeFileSync(path, 'mine');
      send(response, whole);
    });
    const environment = { MEDIACTL_BASE_URL: service };
    const { code, stderr } = await cli.run(['assets', 'download', uid, '-o', path], {
      environment,
    });
    expect([code, stderr]).toEqual([2, expect.stringContaining('is there by now')]);
    expect(readFileSync(path, 'utf8')).toBe('mine');
    expect(readdirSync(cli.home).filter((name) => name.endsWith('.part'))).toEqual([]);
  });

  it('two that share a place and no state folder leave each other’s bytes alone', async () => {
    const path = join(cli.home, 'film.mp4');
    const waiting: ServerResponse[] = [];
    const service = await serving((response) => {
      if (waiting.push(response) > 1) return send(response, whole);
      response.writeHead(200, { ...head, 'content-length': size });
      response.write(first.subarray(0, 1000));
    });
    const download = (state: string) =>
      cli.run(['assets', 'download', uid, '-o', path, '--yes'], {
        environment: { MEDIACTL_BASE_URL: service, MEDIACTL_STATE_DIR: `${cli.home}/${state}` },
      });
    const slow = download('one');
    while (readdirSync(cli.home).every((name) => !name.endsWith('.part'))) await sleep(20);
    expect((await download('two')).code).toBe(0);
    waiting[0]?.end(first.subarray(1000));
    expect((await slow).code).toBe(0);
    expect(readFileSync(path).equals(first)).toBe(true);
  });

  it('a reader that pauses is no service that is silent', async () => {
    const block = Buffer.alloc(8 * 1024 * 1024);
    const service = await serving((response) => {
      response.writeHead(200, { ...head, 'content-length': block.length });
      response.end(block);
    }, block.length);
    const program = fileURLToPath(new URL('../../bin/mediactl.js', import.meta.url));
    const download = `node '${program}' assets download ${uid} -o - --request-timeout 100ms`;
    const { stdout } = await promisify(execFile)(
      'bash',
      ['--norc', '-c', `set -o pipefail; ${download} | (sleep 2.5; wc -c)`],
      {
        env: {
          ...account(),
          ...{ PATH: process.env.PATH, MEDIACTL_BASE_URL: service },
          ...{ MEDIACTL_STATE_DIR: `${cli.home}/state`, MEDIACTL_CONFIG_DIR: `${cli.home}/config` },
        },
      },
    );
    expect(Number(stdout)).toBe(block.length);
  });

  it('a reader that leaves ends it quietly', async () => {
    await cli.run(['upload', fixture('clip.mp4'), '--wait']);
    const program = fileURLToPath(new URL('../../bin/mediactl.js', import.meta.url));
    const { stdout, stderr } = await promisify(execFile)(
      'bash',
      [
        '--norc',
        '-c',
        `set -o pipefail; node '${program}' assets download @last -o - | head -c 10`,
      ],
      {
        env: {
          ...account(),
          PATH: process.env.PATH,
          MEDIACTL_STATE_DIR: `${cli.home}/state`,
          MEDIACTL_CONFIG_DIR: `${cli.home}/config`,
        },
        encoding: 'buffer',
      },
    );
    expect([stdout.length, stderr.toString()]).toEqual([10, '']);
  });

  it('-o - is stdout, byte for byte; on a terminal that is refused', async () => {
    await cli.run(['upload', fixture('tone.mp3'), '--wait']);
    const program = fileURLToPath(new URL('../../bin/mediactl.js', import.meta.url));
    const { stdout } = await promisify(execFile)(
      process.execPath,
      [program, 'assets', 'download', '@last', '-o', '-'],
      {
        encoding: 'buffer',
        maxBuffer: 64 * 1024 * 1024,
        env: {
          ...{ PATH: process.env.PATH, MEDIACTL_CONFIG_DIR: `${cli.home}/config` },
          ...{ MEDIACTL_STATE_DIR: `${cli.home}/state`, ...account() },
        },
      },
    );
    expect(stdout.equals(readFileSync(fixture('tone.mp3')))).toBe(true);
    expect((await cli.run(['assets', 'download', '@last', '-o', '-'], { tty: true })).code).toBe(2);
  });
});

const size = 300_000;
const first = someBytes(size, 'the first version');
const second = someBytes(size, 'another version');

/** A service of one video, whose media are answered by the test. */
async function serving(
  media: (response: ServerResponse) => void,
  sizeBytes = size,
): Promise<string> {
  const service: string = await listen((request, response) => {
    if (request.url?.startsWith('/media')) return media(response);
    answer(response, 200, {
      ...{ uid, name: 'film', playback_token: 'a.token', type: 'video', size: sizeBytes },
      ...{ content_type: 'video/mp4', source_url: { url: `${service}/media` } },
    });
  });
  return service;
}

/** How one answer of a delivery network looks. */
type Reply = {
  status?: number;
  headers?: Record<string, string | number>;
  body?: Buffer;
  /** The line breaks once the body is sent. */
  isCut?: boolean;
  /** Neither its length nor its parts are told: the body ends with the line. */
  endsWithLine?: boolean;
};

const head = { etag: '"one"', 'content-type': 'video/mp4' };
const whole: Reply = { headers: { ...head, 'content-length': size }, body: first };
const cut: Reply = {
  headers: { ...head, 'content-length': size },
  body: first.subarray(0, 100_000),
  isCut: true,
};
const part = (
  from: number,
  to: number,
  of: Buffer = first,
  headers: Reply['headers'] = {},
): Reply => ({
  status: 206,
  headers: {
    ...head,
    'content-range': `bytes ${from}-${to - 1}/${of.length}`,
    'content-length': to - from,
    ...headers,
  },
  body: of.subarray(from, to),
});
/** What is asked for next: of what was sent before the line broke, a busy machine may have taken less. */
type Script = Reply | ((from: number) => Reply);
const rest = (from: number) => part(from, size);

type Case = [what: string, replies: Script[], size: number | null, exit: number];

/** What comes after the line broke at byte 100,000 of the first version. */
const table: Case[] = [
  ['a whole answer', [whole], size, 0],
  ['without a length in the record', [whole], null, 0],
  ['the rest, under an equal ETag', [cut, rest], size, 0],
  [
    'parts that are shorter than asked for',
    [cut, (from) => part(from, 150_000), part(150_000, size)],
    size,
    0,
  ],
  [
    'a part that ends before its own Content-Range does',
    [
      cut,
      (from) => ({
        ...part(from, size, first, { 'content-length': 10 }),
        body: first.subarray(from, from + 10),
      }),
      rest,
    ],
    size,
    0,
  ],
  [
    'a line that breaks at every part',
    [cut, (from) => ({ ...rest(from), body: first.subarray(from, 200_000), isCut: true }), rest],
    size,
    0,
  ],
  [
    'everything again, since it changed',
    [cut, { ...whole, headers: { ...whole.headers, etag: '"two"' } }],
    size,
    0,
  ],
  ['a service without ranges', [cut, whole], size, 0],
  [
    'Last-Modified alone',
    [
      {
        ...cut,
        headers: { 'content-length': size, 'last-modified': 'Sat, 01 Mar 2025 00:00:00 GMT' },
      },
      (from) =>
        part(from, size, first, { etag: '', 'last-modified': 'Sat, 01 Mar 2025 00:00:00 GMT' }),
    ],
    size,
    0,
  ],
  [
    'no validator: it begins anew',
    [
      { ...cut, headers: { 'content-length': size } },
      { ...whole, headers: { 'content-length': size } },
    ],
    size,
    0,
  ],
  [
    'a weak ETag vouches for nothing: it begins anew',
    [{ ...cut, headers: { ...cut.headers, etag: 'W/"one"' } }, whole],
    size,
    0,
  ],
  [
    'chunked, with the length in the record',
    [{ headers: { 'content-type': 'video/mp4', 'transfer-encoding': 'chunked' }, body: first }],
    size,
    0,
  ],
  [
    'a rendition of another type, of another length',
    [{ ...whole, headers: { ...whole.headers, 'content-type': 'video/webm' } }],
    7,
    0,
  ],
  [
    'parts of a file whose length nobody tells, after a body in chunks that broke',
    [
      { ...cut, headers: { ...head, 'transfer-encoding': 'chunked' } },
      (from) => part(from, 150_000, first, { 'content-range': `bytes ${from}-149999/*` }),
      (from) => part(from, size, first, { 'content-range': `bytes ${from}-${size - 1}/*` }),
      { status: 416 },
    ],
    null,
    0,
  ],

  ...['text/plain', 'application/json', 'application/xml', 'application/problem+json'].map(
    (type): Case => [
      `a refusal that is called a success: ${type}`,
      [{ headers: { 'content-type': type }, body: Buffer.from('{"error":"quota"}') }],
      size,
      13,
    ],
  ),
  [
    'anything, shorter than the record: binary/octet-stream',
    [
      {
        headers: { 'content-type': 'binary/octet-stream', 'content-length': 1000 },
        body: first.subarray(0, 1000),
      },
    ],
    size,
    13,
  ],
  [
    'a part of another version: another ETag',
    [cut, (from) => part(from, size, second, { etag: '"two"' })],
    size,
    13,
  ],
  [
    'a part of another version: another Last-Modified',
    [
      {
        ...cut,
        headers: { 'content-length': size, 'last-modified': 'Sat, 01 Mar 2025 00:00:00 GMT' },
      },
      (from) =>
        part(from, size, second, { etag: '', 'last-modified': 'Sun, 02 Mar 2025 00:00:00 GMT' }),
    ],
    size,
    13,
  ],
  ['a part of a longer file', [cut, (from) => part(from, 600_000, someBytes(600_000))], size, 13],
  ['a part from another place', [cut, (from) => part(from - 1, size)], size, 13],
  ['a part nobody asked for', [part(0, 10)], size, 13],
  [
    'an answer that ends a third of the way, without a length',
    [
      {
        headers: { 'content-type': 'video/mp4' },
        body: first.subarray(0, 100_000),
        endsWithLine: true,
      },
    ],
    size,
    13,
  ],
  ['nothing', [{ headers: { ...head, 'content-length': 0 }, body: Buffer.alloc(0) }], size, 13],
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
    [{ headers: { ...head, 'content-encoding': 'gzip' }, body: first }],
    size,
    13,
  ],
  [
    'a whole answer that is shorter than the record',
    [{ headers: { ...head, 'content-length': 1000 }, body: first.subarray(0, 1000) }],
    size,
    13,
  ],
  [
    'the same part for ever',
    [
      cut,
      ...Array(9).fill((from: number) => ({ ...rest(from), body: Buffer.alloc(0), isCut: true })),
    ],
    size,
    10,
  ],
  [
    'parts of nothing for ever',
    [
      cut,
      ...Array(9).fill((from: number) => ({
        ...part(from, from + 1, first, { 'content-length': 0 }),
        body: Buffer.alloc(0),
      })),
    ],
    size,
    13,
  ],
  ['a refusal', [{ status: 403, headers: {}, body: Buffer.from('expired') }], size, 5],
];

it.each([
  ['the source of a sound', 'audio', 'source', 'audio/mp4', true],
  ['an image', 'image', 'variants', 'audio/mp4', true],
  ['a document', 'document', 'url', 'audio/mp4', true],
  ['a video of another type', 'video', 'source_url', 'video/webm', true],
  ['a sound that is the file', 'audio', 'source', 'audio/mp4', false],
])('%s may be a rendition, and is called one', async (_what, type, field, sent, isRendition) => {
  const service = await listen((request, response) => {
    if (request.url?.startsWith('/media'))
      return send(response, {
        headers: { 'content-type': sent, 'content-length': size },
        body: first,
      });
    const media = { url: `${service}/media` };
    answer(response, 200, {
      ...{ uid, name: 'sound', playback_token: 'a.token', type, content_type: 'audio/mp4' },
      size: isRendition ? 7 : size,
      [field]: field === 'variants' ? [media] : field === 'url' ? media.url : media,
    });
  });
  const path = join(cli.home, 'sound');
  const { code, stderr } = await cli.run(['assets', 'download', uid, '-o', path], {
    environment: { MEDIACTL_BASE_URL: service },
  });
  expect(code).toBe(0);
  expect(readFileSync(path).equals(first)).toBe(true);
  const note = `this is a rendition, not the original file: 293.0 KiB, ${sent}; the record says 7 B, audio/mp4`;
  expect(stderr).toEqual(isRendition ? expect.stringContaining(note) : '');
});

it.each(table)(
  '%s: the first version whole, or no file (%#)',
  async (_what, replies, told, exit) => {
    const asked: (string | undefined)[] = [];
    const service = await listen((request, response) => {
      if (!request.url?.startsWith('/media'))
        return answer(response, 200, {
          ...{ uid: uid, name: 'film', playback_token: 'a.token', type: 'video', size: told },
          content_type: 'video/mp4',
          source_url: { url: `${service}/media` },
        });
      asked.push(request.headers.range);
      const script = replies[Math.min(asked.length, replies.length) - 1] as Script;
      const from = Number(/\d+/.exec(request.headers.range ?? '0')?.[0]);
      send(response, typeof script === 'function' ? script(from) : script);
    });
    const path = join(cli.home, 'film.mp4');
    const { code, stderr } = await cli.run(['assets', 'download', uid, '-o', path], {
      environment: { MEDIACTL_BASE_URL: service },
      clock: fastClock(),
    });
    expect([code, stderr]).toEqual([exit, expect.any(String)]);
    expect(stderr).not.toContain('unclassified');
    if (exit === 0) expect(readFileSync(path).equals(first)).toBe(true);
    const left = readdirSync(cli.home).filter((name) => name.startsWith(basename(path)));
    expect(left).toEqual(exit === 0 ? ['film.mp4'] : []);
    expect(asked.length).toBeLessThanOrEqual(Math.max(replies.length, 5));
  },
);

const uid = '00000000-0000-4000-8000-000000000001';

function send(
  response: ServerResponse,
  { status = 200, headers = {}, body, isCut, endsWithLine }: Reply,
) {
  const told = Object.entries(headers).filter(([, value]) => value !== '');
  if (endsWithLine) {
    response.useChunkedEncodingByDefault = false;
    response.shouldKeepAlive = false;
  }
  response.writeHead(
    status,
    Object.fromEntries([...told, ['date', 'Sat, 21 Nov 2026 00:00:00 GMT']]),
  );
  if (isCut) response.write(body ?? '', () => setTimeout(() => response.destroy(), 10));
  else response.end(body);
}
