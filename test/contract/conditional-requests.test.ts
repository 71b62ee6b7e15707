import { readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { rawHttp } from '../support/raw-http.ts';
import { fixturePath, startSandbox, type TestSandbox } from '../support/sandbox.ts';

// RFC 9110 §13: an interrupted download resumes only if the file is unchanged.
let sandbox: TestSandbox;
const { fetchPlaybackInfo, upload } = rawHttp(() => sandbox);
const bytes = readFileSync(fixturePath('clip.mp4'));
let source: string;
let playlist: string;
let writtenMs: number;
beforeAll(async () => {
  sandbox = await startSandbox();
  const { uid } = await upload(fixturePath('clip.mp4'));
  writtenMs = statSync(join(sandbox.dataDir, 'media', uid, 'source')).mtimeMs;

  const { source_url, hls_url } = await fetchPlaybackInfo(uid);
  source = source_url.url;
  playlist = hls_url.url;
  // Last-Modified is a strong validator only after its second has passed (§8.8.2.2).
  await new Promise((resolve) => setTimeout(resolve, 1_100));
});
afterAll(() => sandbox.end());

const fetchFile = async (url: string, headers: Record<string, string> = {}, method = 'GET') => {
  const response = await fetch(url, { method, headers });
  return {
    status: response.status,
    body: Buffer.from(await response.arrayBuffer()),
    etag: response.headers.get('etag') as string,
    modified: response.headers.get('last-modified') as string,
    range: response.headers.get('content-range'),
  };
};

it.each([
  ['a source', () => source],
  ['a playlist', () => playlist],
])('%s has a strong ETag and a Last-Modified that do not change between GET and HEAD', async (_w, url) => {
  const getResponse = await fetchFile(url());
  expect(getResponse.etag).toMatch(/^"[^"]+"$/);
  // Compares with the file system's clock, which under faketime differs from the process's.
  expect(Math.abs(writtenMs - Date.parse(getResponse.modified))).toBeLessThan(60_000);
  expect(getResponse.modified).toMatch(/ GMT$/);
  const headResponse = await fetchFile(url(), {}, 'HEAD');
  expect([headResponse.etag, headResponse.modified]).toEqual([getResponse.etag, getResponse.modified]);
});

it('different files have different ETags', async () => {
  expect((await fetchFile(source)).etag).not.toBe((await fetchFile(playlist)).etag);
});

describe.each([
  ['a source', () => source],
  ['a playlist', () => playlist],
])('conditional GET of %s', (_what, url) => {
  it.each([
    ['If-None-Match', (etag: string) => etag, 304],
    ['If-None-Match', (etag: string) => `"other", W/${etag}`, 304],
    ['If-None-Match', () => '*', 304],
    ['If-None-Match', () => '"other"', 200],
    ['If-Modified-Since', (_etag: string, modified: string) => modified, 304],
    ['If-Modified-Since', () => 'Sat, 01 Jan 2000 00:00:00 GMT', 200],
    ['If-Modified-Since', () => 'no date', 200],
  ])('a request with %s set to %s returns %s', async (name, value, status) => {
    const { etag, modified } = await fetchFile(url());
    const response = await fetchFile(url(), { [name]: value(etag, modified) });
    expect([response.status, response.etag]).toEqual([status, etag]);
    if (status === 304) expect(response.body).toHaveLength(0);
  });

  it('If-None-Match takes precedence over If-Modified-Since', async () => {
    const { modified } = await fetchFile(url());
    const headers = { 'If-None-Match': '"other"', 'If-Modified-Since': modified };
    expect((await fetchFile(url(), headers)).status).toBe(200);
  });
});

describe('If-Range', () => {
  const rangeStart = 100_000;
  const fetchRange = (validator: string) => fetchFile(source, { Range: `bytes=${rangeStart}-`, 'If-Range': validator });

  it.each(['etag', 'modified'] as const)(
    'If-Range with the current validator (%s) returns the requested range',
    async (which) => {
      const { status, body, range } = await fetchRange((await fetchFile(source))[which]);
      expect([status, range]).toEqual([206, `bytes ${rangeStart}-${bytes.length - 1}/${bytes.length}`]);
      expect(body.equals(bytes.subarray(rangeStart))).toBe(true);
    },
  );

  it.each([
    ['a different ETag', () => '"other"'],
    ['a weak ETag', (etag: string) => `W/${etag}`],
    ['a different date', () => 'Sat, 01 Jan 2000 00:00:00 GMT'],
  ])('If-Range with %s returns the whole file', async (_what, validator) => {
    const { status, body, range } = await fetchRange(validator((await fetchFile(source)).etag));
    expect([status, range, body.equals(bytes)]).toEqual([200, null, true]);
  });

  it('a Range header without If-Range returns the requested range', async () => {
    const { status, body } = await fetchFile(source, { Range: 'bytes=0-9' });
    expect([status, body.equals(bytes.subarray(0, 10))]).toEqual([206, true]);
  });
});

it('CORS allows other origins to send If-Range and to read the ETag', async () => {
  const preflight = await fetch(source, {
    method: 'OPTIONS',
    headers: {
      origin: 'https://news.example',
      'access-control-request-method': 'GET',
      'access-control-request-headers': 'range, if-range',
    },
  });
  expect(preflight.headers.get('access-control-allow-headers')).toContain('If-Range');
  const { headers } = await fetch(source, { headers: { origin: 'https://news.example' } });
  expect(headers.get('access-control-expose-headers')).toContain('ETag');
});
