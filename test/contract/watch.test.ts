import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { rawHttp } from '../support/raw-http.ts';
import { fixturePath, startSandbox, type TestSandbox } from '../support/sandbox.ts';

let sandbox: TestSandbox;
let uid: string;
let imageUid: string;
const { call, upload } = rawHttp(() => sandbox);
beforeAll(async () => {
  sandbox = await startSandbox();
  ({ uid } = await upload(fixturePath('clip.mp4')));
  ({ uid: imageUid } = await upload(fixturePath('still.jpg')));
});
afterAll(() => sandbox.end());

const tokenOf = async (asset: string): Promise<string> =>
  (await (await call('GET', `/assets/${asset}/player/`)).json()).playback_token;
const jsonHeaders = { 'content-type': 'application/json' };
const send = (method: string, url: string, body: unknown, headers: Record<string, string> = {}) =>
  call(method, url, { headers: { ...jsonHeaders, ...headers }, body: JSON.stringify(body) });
const restrictEmbedding = (enabled: boolean) =>
  send('PATCH', `/workspaces/${sandbox.workspace}/embed-settings/`, { enabled });
const allowDomain = (domain: string) => send('POST', `/workspaces/${sandbox.workspace}/embed-domains/`, { domain });
afterEach(() => restrictEmbedding(false));

const openWatchPage = async (headers: Record<string, string> = {}, asset = uid) =>
  call('GET', `${sandbox.url}/watch/${asset}?token=${await tokenOf(asset)}`, { key: '', headers });
const requestPlaybackInfo = async (headers: Record<string, string> = {}) =>
  call('POST', '/playback/info/', {
    key: '',
    headers: { ...jsonHeaders, ...headers },
    body: JSON.stringify({ asset_id: uid, playback_token: await tokenOf(uid) }),
  });

describe('GET /watch/{uid}', () => {
  it('the watch page requires a playback token of its asset, and a refusal is an HTML page', async () => {
    const page = await openWatchPage();
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
    expect(await refused(token, imageUid)).toEqual([403, expect.stringContaining('another asset')]);
  });

  it('the watch page loads its script and style from addresses with a hash, which a browser keeps', async () => {
    const page = await (await openWatchPage()).text();
    const paths = page.match(/\/static\/[\w.-]+/g) ?? [];
    expect(paths.map((path) => path.replace(/-[\da-f]{16}/, ''))).toEqual([
      '/static/watch.css',
      '/static/hls.js', // in the setup, to load when it is needed
      '/static/player.js',
    ]);
    for (const path of paths) {
      const { status, headers } = await call('GET', `${sandbox.url}${path}`, { key: '' });
      expect([status, headers.get('cache-control')]).toEqual([200, 'public, max-age=31536000, immutable']);
      expect(headers.get('content-type')).toMatch(path.endsWith('.css') ? 'text/css' : 'text/javascript');
    }
    expect((await call('GET', `${sandbox.url}/static/player-0000000000000000.js`, { key: '' })).status).toBe(404);
  });

  it('the watch page lists the allowed hosts in frame-ancestors when embedding is restricted', async () => {
    const policy = async () => (await openWatchPage()).headers.get('content-security-policy');
    expect(await policy()).toMatch(/^default-src 'none'; /);
    expect(await policy()).not.toContain('frame-ancestors');
    await restrictEmbedding(true);
    expect(await policy()).toMatch(/; frame-ancestors 'self'$/);
    await allowDomain('news.example');
    expect(await policy()).toMatch(/; frame-ancestors 'self' http:\/\/news\.example:\* https:\/\/news\.example:\*$/);
  });

  it('the watch page returns 403 when a host that is not allowed embeds it', async () => {
    await allowDomain('news.example');
    const statusWhenEmbeddedIn = async (referer: string | undefined, destination = 'iframe') => {
      const response = await openWatchPage({
        'sec-fetch-dest': destination,
        ...(referer && { referer }),
      });
      return response.status;
    };
    expect(await statusWhenEmbeddedIn('https://other.example/page')).toBe(200);
    await restrictEmbedding(true);
    expect(await statusWhenEmbeddedIn('https://other.example/page')).toBe(403);
    expect(await statusWhenEmbeddedIn('https://news.example.evil.example/')).toBe(403);
    expect(await statusWhenEmbeddedIn('https://news.example:8443/page')).toBe(200);
    expect(await statusWhenEmbeddedIn(`${sandbox.url}/watch/x`)).toBe(200);
    expect(await statusWhenEmbeddedIn('http://localhost:1/')).toBe(403);
    expect(await statusWhenEmbeddedIn('https://other.example/page', 'document')).toBe(200);
    expect(await statusWhenEmbeddedIn(undefined)).toBe(200); // without a Referer, the frame-ancestors header decides
  });
});

describe('POST /watch/{uid}/position', () => {
  const savePosition = async (seconds: unknown, { asset = uid, token = tokenOf(asset) } = {}) =>
    send('POST', `${sandbox.url}/watch/${asset}/position`, {
      playback_token: await token,
      position_seconds: seconds,
    });
  const fetchResumePosition = async () => (await (await requestPlaybackInfo()).json()).resume_position_seconds;

  it('a saved position is returned as resume_position_seconds unless it is near the end', async () => {
    expect((await savePosition(4.25)).status).toBe(204);
    expect(await fetchResumePosition()).toBe(4.25);
    expect((await savePosition(9.8)).status).toBe(204);
    expect(await fetchResumePosition()).toBeNull();
    await savePosition(3);
    await savePosition(0);
    expect(await fetchResumePosition()).toBeNull();
  });

  it('saving a position requires a token of the asset, a position in seconds and a small body', async () => {
    expect((await savePosition(1, { token: Promise.resolve('rubbish') })).status).toBe(401);
    expect((await savePosition(1, { token: tokenOf(imageUid) })).status).toBe(403);
    expect((await savePosition(1, { asset: imageUid })).status).toBe(422);
    for (const wrong of [-1, '4', null, undefined, [1]]) expect((await savePosition(wrong)).status).toBe(422);
    expect((await savePosition('x'.repeat(5000))).status).toBe(413);
    expect(await fetchResumePosition()).toBeNull();
  });
});

describe('cross-origin requests', () => {
  it('POST /playback/info/ returns `blocked` to a web page whose host is not allowed', async () => {
    await allowDomain('news.example');
    const blocked = async (headers: Record<string, string>) =>
      (await (await requestPlaybackInfo(headers)).json()).blocked;
    expect(await blocked({ origin: 'https://other.example' })).toBe(false);
    await restrictEmbedding(true);
    expect(await (await requestPlaybackInfo({ origin: 'https://other.example' })).json()).toEqual({
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
    const infoPreflight = await preflight('/playback/info/', 'POST', 'content-type');
    expect(infoPreflight.status).toBe(204);
    expect(infoPreflight.headers.get('access-control-allow-origin')).toBe('*');
    expect(infoPreflight.headers.get('access-control-allow-methods')).toBe('POST');
    expect(infoPreflight.headers.get('access-control-allow-headers')).toBe('Content-Type');
    expect(infoPreflight.headers.get('access-control-allow-credentials')).toBeNull();

    const { source_url } = await (await requestPlaybackInfo()).json();
    const mediaPreflight = await preflight(source_url.url, 'GET', 'range');
    expect(mediaPreflight.status).toBe(204);
    expect(mediaPreflight.headers.get('access-control-allow-headers')).toMatch(/^Range,/);
    const range = await fetch(source_url.url, { headers: { range: 'bytes=0-1' } });
    expect(range.headers.get('access-control-expose-headers')).toContain('Content-Range');

    // Error responses have CORS headers too.
    const refused = await send('POST', '/playback/info/', { asset_id: uid, playback_token: 'rubbish' });
    expect([refused.status, refused.headers.get('access-control-allow-origin')]).toEqual([401, '*']);
    const forgedUrl = await fetch(source_url.url.replace(/.$/, '*'));
    expect([forgedUrl.status, forgedUrl.headers.get('access-control-allow-origin')]).toEqual([403, '*']);
  });

  it('CORS is not enabled for other endpoints', async () => {
    const response = await call('OPTIONS', '/assets/', { key: '' });
    expect(response.status).toBe(401);
    expect(response.headers.get('access-control-allow-origin')).toBeNull();
  });
});
