import { request } from 'node:http';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { rawHttp } from '../support/raw-http.ts';
import { rawSocket } from '../support/raw-socket.ts';
import { forSandboxMode, startSandbox, type TestSandbox } from '../support/sandbox.ts';

let sandbox: TestSandbox;
beforeAll(async () => {
  sandbox = await startSandbox();
});
afterAll(() => sandbox.end());
const { call, send, createUploadOfSize } = rawHttp(() => sandbox);

const unknownUid = '00000000-0000-4000-8000-000000000000';

describe('§5 Authentication', () => {
  it.each([
    ['GET', '/videos/'],
    ['GET', '/assets/'],
    ['GET', '/workspaces/'],
    ['GET', `/assets/${unknownUid}/player/`],
    ['POST', '/upload/'],
    ['GET', `/workspaces/${unknownUid}/folders/`],
  ])('"A request without a valid key returns 401": %s %s', async (method, path) => {
    for (const key of ['', 'no-such-key']) {
      const response = await call(method, path, { key });
      expect(response.status).toBe(401);
      // §7: "a JSON body with an `error` object"
      expect(await response.json()).toMatchObject({ error: { code: 'unauthenticated' } });
    }
  });

  it('"A call needing a scope that the key lacks returns 403"', async () => {
    const readKey = sandbox.createKey('read', ['Read Assets']);
    const writeKey = sandbox.createKey('write', ['Write Assets']);
    expect((await call('GET', '/videos/', { key: readKey })).status).toBe(200);
    expect((await call('GET', '/workspaces/', { key: writeKey })).status).toBe(403);
    const refused = await createUploadOfSize(1, {}, { key: readKey });
    expect(refused.status).toBe(403);
    expect((await refused.json()).error.message).toContain('Write Assets');
    expect((await createUploadOfSize(1, {}, { key: writeKey })).status).toBe(201);
  });

  it.each(['bearer', 'BEARER', 'Bearer '])('the Authorization scheme is case-insensitive: %j', async (scheme) => {
    const headers = { authorization: `${scheme} ${sandbox.key}` };
    expect((await call('GET', '/videos/', { key: '', headers })).status).toBe(200);
  });

  it('a playback token with extra characters is refused with 401', async () => {
    const { asset_uid } = await (await createUploadOfSize(1)).json();
    const { playback_token: token } = await (await call('GET', `/assets/${asset_uid}/player/`)).json();
    const status = async (playback_token: string) =>
      (await send('POST', '/playback/info/', { asset_id: asset_uid, playback_token }, 'none')).status;
    expect(await status(token)).toBe(200);
    const [payload, mac] = token.split('.');
    for (const changedToken of [`${token}.x`, `${token}.`, `${token}x`, `.${token}`, `${payload}..${mac}`])
      expect([changedToken, await status(changedToken)]).toEqual([changedToken, 401]);
  });

  it('the API key is stored only as a hash', async () => {
    const { readFileSync } = await import('node:fs');
    for (const file of ['sandbox.db', 'sandbox.db-wal'])
      expect(readFileSync(`${sandbox.dataDir}/${file}`).includes(sandbox.key)).toBe(false);
  });
});

describe('§8 Limits', () => {
  it('every response of an authenticated call has X-RateLimit-* headers, including errors', async () => {
    const key = sandbox.createKey('counted');
    const first = await call('GET', '/assets/', { key });
    const second = await call('GET', `/assets/${unknownUid}/`, { key });
    const third = await call('GET', '/assets/?limit=1000', { key });
    expect([first, second, third].map(({ status }) => status)).toEqual([200, 404, 422]);
    expect(
      [first, second, third].map(({ headers }) => [
        headers.get('X-RateLimit-Limit'),
        headers.get('X-RateLimit-Remaining'),
      ]),
    ).toEqual([
      ['1000', '999'],
      ['1000', '998'],
      ['1000', '997'],
    ]);
    // "Unix timestamp of window reset", within the hour
    const secondsUntilReset = Number(first.headers.get('X-RateLimit-Reset')) - Date.now() / 1000;
    expect(secondsUntilReset).toBeGreaterThan(3590);
    expect(secondsUntilReset).toBeLessThanOrEqual(3601);
  });

  it('responses with 401 have X-RateLimit-* headers and count in a separate window', async () => {
    const limitedSandbox = await startSandbox({ rateLimit: { limit: 2, windowSeconds: 3600 } });
    const { call: callLimited } = rawHttp(() => limitedSandbox);
    try {
      const responses = [];
      for (const key of ['', 'no-such-key', 'another']) responses.push(await callLimited('GET', '/assets/', { key }));
      expect(responses.map(({ status, headers }) => [status, headers.get('X-RateLimit-Remaining')])).toEqual([
        [401, '1'],
        [401, '0'],
        [429, '0'],
      ]);
      expect(Number(responses[2]?.headers.get('Retry-After'))).toBeGreaterThan(3590);
      expect((await callLimited('GET', '/assets/')).status).toBe(200);
    } finally {
      await limitedSandbox.end();
    }
  });

  it('a preflight of POST /playback/info/ has X-RateLimit-* headers and is not counted', async () => {
    const preflight = async () => {
      const response = await call('OPTIONS', '/playback/info/', {
        key: '',
        headers: { origin: 'https://news.example', 'access-control-request-method': 'POST' },
      });
      const names = ['X-RateLimit-Limit', 'X-RateLimit-Remaining', 'X-RateLimit-Reset'];
      return [response.status, ...names.map((name) => response.headers.get(name))];
    };
    const first = await preflight();
    expect(first).toEqual([204, '1000', expect.stringMatching(/^\d+$/), expect.stringMatching(/^\d{10}$/)]);
    expect(await preflight()).toEqual(first);
  });

  it.each([
    ['a request line that is not HTTP', 'what is this\r\n\r\n', 400, 'bad_request'],
    [
      'headers over 32 KiB',
      `GET /api/external/v1/assets/ HTTP/1.1\r\nX-Long: ${'x'.repeat(33 * 1024)}\r\n\r\n`,
      431,
      'headers_too_large',
    ],
  ])('%s is answered with an error object and X-RateLimit-* headers', async (_what, bytes, status, code) => {
    const { socket, closed } = await rawSocket(sandbox.url);
    socket.write(bytes);
    const [head = '', body = ''] = (await closed).split('\r\n\r\n');
    expect(head).toMatch(new RegExp(`^HTTP/1.1 ${status} `));
    for (const name of ['Limit', 'Remaining', 'Reset'])
      expect(head).toMatch(new RegExp(`^X-RateLimit-${name}: \\d`, 'm'));
    expect(head).toContain(`Content-Length: ${body.length}`);
    expect(JSON.parse(body)).toEqual({
      error: { message: expect.any(String), ...forSandboxMode({ normal: { code }, strict: {} }) },
    });
  });

  it('POST /playback/info/ is rate limited per playback token, including errors', async () => {
    const limitedSandbox = await startSandbox({ rateLimit: { limit: 3, windowSeconds: 3600 } });
    const { call: callLimited, send, createUploadOfSize } = rawHttp(() => limitedSandbox);
    const requestPlayback = async (body: unknown) => {
      const { status, headers } = await send('POST', '/playback/info/', body, 'none');
      return [status, headers.get('X-RateLimit-Remaining')];
    };
    try {
      const { asset_uid } = await (await createUploadOfSize(5)).json();
      const createToken = async () =>
        (await (await callLimited('GET', `/assets/${asset_uid}/player/`)).json()).playback_token;
      const [firstToken, secondToken] = [await createToken(), await createToken()];
      expect(firstToken).not.toBe(secondToken);
      expect(await requestPlayback({ asset_id: asset_uid, playback_token: firstToken })).toEqual([200, '2']);
      expect(await requestPlayback({ asset_id: unknownUid, playback_token: firstToken })).toEqual([403, '1']);
      expect(await requestPlayback({ playback_token: firstToken })).toEqual([422, '0']);
      expect(await requestPlayback({ asset_id: asset_uid, playback_token: firstToken })).toEqual([429, '0']);
      expect(await requestPlayback({ asset_id: asset_uid, playback_token: secondToken })).toEqual([200, '2']);
      // Requests without a valid token share one window.
      expect(await requestPlayback({ asset_id: asset_uid, playback_token: 'x' })).toEqual([401, '2']);
      expect(await requestPlayback({})).toEqual([422, '1']);
      const tooLarge = await requestPlayback({ playback_token: 'x'.repeat(1024 * 1024) });
      expect(tooLarge).toEqual([413, '0']);
    } finally {
      await limitedSandbox.end();
    }
  });

  it('the service responds "Over the limit: 429 with Retry-After" until the window ends', async () => {
    let now = Date.now();
    const rateLimit = { limit: 2, windowSeconds: 60 };
    const limitedSandbox = await startSandbox({ rateLimit, now: () => now });
    const { call: callLimited } = rawHttp(() => limitedSandbox);
    try {
      const statuses = [];
      for (let n = 0; n < 3; n++) statuses.push((await callLimited('GET', '/assets/')).status);
      expect(statuses).toEqual([200, 200, 429]);
      const refused = await callLimited('GET', '/assets/');
      expect(refused.headers.get('Retry-After')).toBe('60');
      expect(refused.headers.get('X-RateLimit-Remaining')).toBe('0');
      expect(await refused.json()).toMatchObject({ error: { code: 'rate_limited' } });
      now += 60_001; // a millisecond after the window of 60 seconds
      expect((await callLimited('GET', '/assets/')).status).toBe(200);
    } finally {
      await limitedSandbox.end();
    }
  });
});

describe('request addresses', () => {
  it('a path without its trailing slash returns 404', async () => {
    expect((await call('GET', '/assets')).status).toBe(404);
  });

  it.each([
    ['evil.example', 403],
    ['evil.example:PORT', 403],
    ['127.0.0.1', 403],
    ['LOCALHOST:PORT', 200],
    ['127.0.0.1:PORT', 200],
  ])('the DNS rebinding protection answers the Host header %s with status %d', async (host, expected) => {
    const { port } = new URL(sandbox.url);
    const status = await new Promise((resolve) =>
      request({ port, host: '127.0.0.1', path: '/health', headers: { host: host.replace('PORT', port) } })
        .on('response', (response) => resolve(response.statusCode))
        .end(),
    );
    expect(status).toBe(expected);
  });
});
