import { request } from 'node:http';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { rawHttp } from '../support/raw-http.ts';
import { startSandbox, type TestSandbox } from '../support/sandbox.ts';

let sandbox: TestSandbox;
beforeAll(async () => {
  sandbox = await startSandbox();
});
afterAll(() => sandbox.end());
const { call, create } = rawHttp(() => sandbox);

const nobody = '00000000-0000-4000-8000-000000000000';

describe('§5 Authentication', () => {
  it.each([
    ['GET', '/videos/'],
    ['GET', '/assets/'],
    ['GET', '/workspaces/'],
    ['GET', `/assets/${nobody}/player/`],
    ['POST', '/upload/'],
    ['GET', `/workspaces/${nobody}/folders/`],
  ])('"A request without a valid key returns 401": %s %s', async (method, path) => {
    for (const key of ['', 'no-such-key']) {
      const response = await call(method, path, { key });
      expect(response.status).toBe(401);
      // §7: "a JSON body with an `error` object"
      expect(await response.json()).toMatchObject({ error: { code: 'unauthenticated' } });
    }
  });

  it('"A call needing a scope that the key lacks returns 403"', async () => {
    const read = sandbox.createKey('read', ['Read Assets']);
    const write = sandbox.createKey('write', ['Write Assets']);
    expect((await call('GET', '/videos/', { key: read })).status).toBe(200);
    expect((await call('GET', '/workspaces/', { key: write })).status).toBe(403);
    const refused = await create(1, {}, { key: read });
    expect(refused.status).toBe(403);
    expect((await refused.json()).error.message).toContain('Write Assets');
    expect((await create(1, {}, { key: write })).status).toBe(201);
  });

  it('the key is kept as a hash only', async () => {
    const { readFileSync } = await import('node:fs');
    for (const file of ['sandbox.db', 'sandbox.db-wal'])
      expect(readFileSync(`${sandbox.dataDir}/${file}`).includes(sandbox.key)).toBe(false);
  });
});

describe('§8 Limits', () => {
  it('X-RateLimit-* on every response of an authenticated call, errors included', async () => {
    const key = sandbox.createKey('counted');
    const first = await call('GET', '/assets/', { key });
    const second = await call('GET', `/assets/${nobody}/`, { key });
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
    const reset = Number(first.headers.get('X-RateLimit-Reset')) - Date.now() / 1000;
    expect(reset).toBeGreaterThan(3590);
    expect(reset).toBeLessThanOrEqual(3601);
  });

  it('"Over the limit: 429 with Retry-After", until the window ends', async () => {
    const limited = await startSandbox({ rateLimit: { limit: 2, windowSeconds: 1 } });
    const { call: ask } = rawHttp(() => limited);
    try {
      const statuses = [];
      for (let n = 0; n < 3; n++) statuses.push((await ask('GET', '/assets/')).status);
      expect(statuses).toEqual([200, 200, 429]);
      const refused = await ask('GET', '/assets/');
      expect(refused.headers.get('Retry-After')).toBe('1');
      expect(refused.headers.get('X-RateLimit-Remaining')).toBe('0');
      expect(await refused.json()).toMatchObject({ error: { code: 'rate_limited' } });
      await new Promise((resolve) => setTimeout(resolve, 1050));
      expect((await ask('GET', '/assets/')).status).toBe(200);
    } finally {
      await limited.end();
    }
  });
});

describe('the address', () => {
  it('paths end with a slash, as written', async () => {
    expect((await call('GET', '/assets')).status).toBe(404);
  });

  it('another Host is refused: a page elsewhere cannot reach this machine through its own name', async () => {
    const { port } = new URL(sandbox.url);
    const status = await new Promise((resolve) =>
      request({
        port,
        host: '127.0.0.1',
        path: '/health',
        headers: { host: 'evil.example' },
      })
        .on('response', (response) => resolve(response.statusCode))
        .end(),
    );
    expect(status).toBe(403);
  });
});
