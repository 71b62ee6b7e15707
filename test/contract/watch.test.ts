import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { rawHttp } from '../support/raw-http.ts';
import { fixturePath, startSandbox, type TestSandbox } from '../support/sandbox.ts';

let sandbox: TestSandbox;
let uid: string;
let still: string;
const { call, upload } = rawHttp(() => sandbox);
beforeAll(async () => {
  sandbox = await startSandbox();
  ({ uid } = await upload(fixturePath('clip.mp4')));
  ({ uid: still } = await upload(fixturePath('still.jpg')));
});
afterAll(() => sandbox.end());

const tokenOf = async (asset: string): Promise<string> =>
  (await (await call('GET', `/assets/${asset}/player/`)).json()).playback_token;
const headersOfJson = { 'content-type': 'application/json' };
const send = (method: string, url: string, body: unknown, headers: Record<string, string> = {}) =>
  call(method, url, { headers: { ...headersOfJson, ...headers }, body: JSON.stringify(body) });
const restrict = (enabled: boolean) => send('PATCH', `/workspaces/${sandbox.workspace}/embed-settings/`, { enabled });
const allow = (domain: string) => send('POST', `/workspaces/${sandbox.workspace}/embed-domains/`, { domain });
afterEach(() => restrict(false));

const watch = async (headers: Record<string, string> = {}, asset = uid) =>
  call('GET', `${sandbox.url}/watch/${asset}?token=${await tokenOf(asset)}`, { key: '', headers });
const info = async (headers: Record<string, string> = {}) =>
  call('POST', '/playback/info/', {
    key: '',
    headers: { ...headersOfJson, ...headers },
    body: JSON.stringify({ asset_id: uid, playback_token: await tokenOf(uid) }),
  });

describe('GET /watch/{uid}', () => {
  it('the watch page requires a playback token of its asset, and a refusal is an HTML page', async () => {
    const page = await watch();
    expect(page.status).toBe(200);
    expect(page.headers.get('content-type')).toMatch(/^text\/html/);
    expect(page.headers.get('cache-control')).toBe('no-store');
    const refused = async (query: string, asset = uid) => {
      const response = await call('GET', `${sandbox.url}/watch/${asset}${query}`, { key: '' });
      return [response.status, await response.text()];
    };
    const token = `?token=${await tokenOf(uid)}`;
    const page401 = expect.stringMatching(/^<!doctype html>.*\(401\)/s);
    expect(await refused('')).toEqual([401, page401]);
    expect(await refused('?token=rubbish')).toEqual([401, page401]);
    expect(await refused(token, still)).toEqual([403, expect.stringContaining('another asset')]);
  });

  it('the watch page lists the allowed hosts in frame-ancestors when embedding is restricted', async () => {
    const policy = async () => (await watch()).headers.get('content-security-policy');
    expect(await policy()).toMatch(/^default-src 'none'; /);
    expect(await policy()).not.toContain('frame-ancestors');
    await restrict(true);
    expect(await policy()).toMatch(/; frame-ancestors 'self'$/);
    await allow('news.example');
    expect(await policy()).toMatch(/; frame-ancestors 'self' http:\/\/news\.example:\* https:\/\/news\.example:\*$/);
  });

  it('the watch page returns 403 when a host that is not allowed embeds it', async () => {
    await allow('news.example');
    const from = async (referer: string | undefined, destination = 'iframe') => {
      const response = await watch({
        'sec-fetch-dest': destination,
        ...(referer && { referer }),
      });
      return response.status;
    };
    expect(await from('https://other.example/page')).toBe(200);
    await restrict(true);
    expect(await from('https://other.example/page')).toBe(403);
    expect(await from('https://news.example.evil.example/')).toBe(403);
    expect(await from('https://news.example:8443/page')).toBe(200);
    expect(await from(`${sandbox.url}/watch/x`)).toBe(200);
    expect(await from('http://localhost:1/')).toBe(403);
    expect(await from('https://other.example/page', 'document')).toBe(200);
    expect(await from(undefined)).toBe(200); // without a Referer, the frame-ancestors header decides
  });
});

describe('POST /watch/{uid}/position', () => {
  const position = async (seconds: unknown, { asset = uid, token = tokenOf(asset) } = {}) =>
    send('POST', `${sandbox.url}/watch/${asset}/position`, {
      playback_token: await token,
      position_seconds: seconds,
    });
  const resumes = async () => (await (await info()).json()).resume_position_seconds;

  it('a saved position is returned as resume_position_seconds unless it is near the end', async () => {
    expect((await position(4.25)).status).toBe(204);
    expect(await resumes()).toBe(4.25);
    expect((await position(9.8)).status).toBe(204);
    expect(await resumes()).toBeNull();
    await position(3);
    await position(0);
    expect(await resumes()).toBeNull();
  });

  it('saving a position requires a token of the asset, a position in seconds and a small body', async () => {
    expect((await position(1, { token: Promise.resolve('rubbish') })).status).toBe(401);
    expect((await position(1, { token: tokenOf(still) })).status).toBe(403);
    expect((await position(1, { asset: still })).status).toBe(422);
    for (const wrong of [-1, '4', null, undefined, [1]]) expect((await position(wrong)).status).toBe(422);
    expect((await position('x'.repeat(5000))).status).toBe(413);
    expect(await resumes()).toBeNull();
  });
});

describe('cross-origin requests', () => {
  it('POST /playback/info/ returns `blocked` to a web page whose host is not allowed', async () => {
    await allow('news.example');
    const blocked = async (headers: Record<string, string>) => (await (await info(headers)).json()).blocked;
    expect(await blocked({ origin: 'https://other.example' })).toBe(false);
    await restrict(true);
    expect(await (await info({ origin: 'https://other.example' })).json()).toEqual({
      type: 'video',
      blocked: true,
    });
    expect(await blocked({ referer: 'https://other.example/page' })).toBe(true);
    expect(await blocked({ origin: 'null' })).toBe(true);
    expect(await blocked({ origin: 'https://news.example' })).toBe(false);
    expect(await blocked({ origin: sandbox.url })).toBe(false);
    expect(await blocked({})).toBe(false);
  });

  it('CORS allows playback info and signed media without credentials, including preflight requests', async () => {
    const preflight = (url: string, method: string, header: string) =>
      call('OPTIONS', url, {
        key: '',
        headers: {
          origin: 'https://news.example',
          'access-control-request-method': method,
          'access-control-request-headers': header,
        },
      });
    const asked = await preflight('/playback/info/', 'POST', 'content-type');
    expect(asked.status).toBe(204);
    expect(asked.headers.get('access-control-allow-origin')).toBe('*');
    expect(asked.headers.get('access-control-allow-methods')).toBe('POST');
    expect(asked.headers.get('access-control-allow-headers')).toBe('Content-Type');
    expect(asked.headers.get('access-control-allow-credentials')).toBeNull();

    const { source_url } = await (await info()).json();
    const media = await preflight(source_url.url, 'GET', 'range');
    expect(media.status).toBe(204);
    expect(media.headers.get('access-control-allow-headers')).toMatch(/^Range,/);
    const range = await fetch(source_url.url, { headers: { range: 'bytes=0-1' } });
    expect(range.headers.get('access-control-expose-headers')).toContain('Content-Range');

    // Error responses have CORS headers too.
    const refused = await send('POST', '/playback/info/', {
      asset_id: uid,
      playback_token: 'rubbish',
    });
    expect([refused.status, refused.headers.get('access-control-allow-origin')]).toEqual([401, '*']);
    const forged = await fetch(source_url.url.replace(/.$/, '*'));
    expect([forged.status, forged.headers.get('access-control-allow-origin')]).toEqual([403, '*']);
  });

  it('CORS is not enabled for other endpoints', async () => {
    const response = await call('OPTIONS', '/assets/', { key: '' });
    expect(response.status).toBe(401);
    expect(response.headers.get('access-control-allow-origin')).toBeNull();
  });
});
