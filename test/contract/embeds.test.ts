import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { rawHttp } from '../support/raw-http.ts';
import { startSandbox, type TestSandbox } from '../support/sandbox.ts';

let sandbox: TestSandbox;
const { call, send, createUploadOfSize } = rawHttp(() => sandbox);
beforeAll(async () => {
  sandbox = await startSandbox();
});
afterAll(() => sandbox.end());

const embedPath = (what: string) => `/workspaces/${sandbox.workspace}/embed-${what}/`;

describe('§4 Workspaces: embed settings', () => {
  it('embedding is unrestricted by default, and PATCH returns the complete embed settings', async () => {
    const defaults = await call('GET', embedPath('settings'));
    expect(await defaults.json()).toEqual({ enabled: false, domains: [] });
    const enabled = await send('PATCH', embedPath('settings'), { enabled: true });
    expect([enabled.status, await enabled.json()]).toEqual([200, { enabled: true, domains: [] }]);
    await send('PATCH', embedPath('settings'), { enabled: false });
    expect(await (await call('GET', embedPath('settings'))).json()).toMatchObject({ enabled: false });
  });

  it('POST of a domain returns 201 and is "idempotent", and DELETE returns 200 with the other domains', async () => {
    for (let times = 0; times < 2; times++) {
      const added = await send('POST', embedPath('domains'), { domain: 'News.Example.com' });
      expect([added.status, (await added.json()).domains]).toEqual([201, ['news.example.com']]);
    }
    await send('POST', embedPath('domains'), { domain: 'localhost' });
    const removed = await send('DELETE', embedPath('domains'), { domain: 'news.example.com' });
    expect([removed.status, (await removed.json()).domains]).toEqual([200, ['localhost']]);
    const secondDelete = await send('DELETE', embedPath('domains'), { domain: 'news.example.com' });
    expect(secondDelete.status).toBe(404);
  });

  it.each(['https://example.com', 'example.com:80', 'a b', '', '*.example.com', '-a.com', 5])(
    'POST of the invalid domain %j returns 422',
    async (domain) => {
      expect((await send('POST', embedPath('domains'), { domain })).status).toBe(422);
    },
  );

  it('embed settings return 422 for a missing body or an unknown field', async () => {
    expect((await call('PATCH', embedPath('settings'))).status).toBe(422);
    expect((await send('PATCH', embedPath('settings'), { restricted: true })).status).toBe(422);
    expect((await send('POST', embedPath('domains'), { hostname: 'a.example' })).status).toBe(422);
  });

  it('embed settings return 404 for an unknown workspace and 403 without the required scope', async () => {
    const path = '/workspaces/00000000-0000-4000-8000-000000000000/embed-settings/';
    expect((await call('GET', path)).status).toBe(404);
    const read = sandbox.createKey('read', ['Read Assets']);
    expect((await call('GET', embedPath('settings'), { key: read })).status).toBe(200);
    expect((await send('PATCH', embedPath('settings'), { enabled: true }, read)).status).toBe(403);
    expect((await send('POST', embedPath('domains'), { domain: 'a.b' }, read)).status).toBe(403);
    expect((await send('DELETE', embedPath('domains'), { domain: 'a.b' }, read)).status).toBe(403);
  });
});

describe('§1, §7: plan limits', () => {
  it('POST /upload/ and GET …/player/ return 402 once the credit balance is depleted', async () => {
    const sandboxWithTwoCredits = await startSandbox({ credits: 2 });
    const http = rawHttp(() => sandboxWithTwoCredits);
    try {
      const first = await http.createUploadOfSize(1024 * 1024);
      expect(first.status).toBe(201);
      const { asset_uid } = await first.json();
      expect((await http.createUploadOfSize(2 * 1024 * 1024)).status).toBe(402);
      expect((await http.call('GET', `/assets/${asset_uid}/player/`)).status).toBe(200);
      const spent = await http.call('GET', `/assets/${asset_uid}/player/`);
      expect(spent.status).toBe(402);
      expect((await spent.json()).error.code).toBe('credits_depleted');
      expect((await http.call('GET', `/assets/${asset_uid}/`)).status).toBe(200);
    } finally {
      await sandboxWithTwoCredits.end();
    }
  });

  it('upload creation returns 507 as text once storage, including the trash, is full', async () => {
    const smallSandbox = await startSandbox({ storageBytes: 100 });
    const http = rawHttp(() => smallSandbox);
    try {
      const { asset_uid } = await (await http.createUploadOfSize(60)).json();
      await http.call('DELETE', `/assets/${asset_uid}/`);
      const full = await http.createUploadOfSize(41);
      expect(full.status).toBe(507);
      expect(full.headers.get('content-type')).toMatch(/^text\/plain/);
      expect((await http.createUploadOfSize(40)).status).toBe(201);
    } finally {
      await smallSandbox.end();
    }
    expect((await createUploadOfSize(41)).status).toBe(201);
  });

  it('concurrent upload creations cannot reserve the same storage space', async () => {
    const smallSandbox = await startSandbox({ storageBytes: 100 });
    const http = rawHttp(() => smallSandbox);
    try {
      const responses = await Promise.all(Array.from({ length: 8 }, () => http.createUploadOfSize(100)));
      expect(responses.filter(({ status }) => status === 201)).toHaveLength(1);
    } finally {
      await smallSandbox.end();
    }
  });

  it('§3: an upload session expires on time, and its asset fails with the reason', async () => {
    const smallSandbox = await startSandbox({ sessionSeconds: 0.3 });
    const http = rawHttp(() => smallSandbox);
    try {
      const { asset_uid } = await (await http.createUploadOfSize(100)).json();
      expect(await http.waitUntilProcessed(asset_uid)).toMatchObject({
        status: 'failed',
        failure_reason: 'the upload session expired',
      });
    } finally {
      await smallSandbox.end();
    }
  });

  it('§3: an expired upload session releases its storage, and its asset fails', async () => {
    const smallSandbox = await startSandbox({ storageBytes: 100, sessionSeconds: 0.05 });
    const http = rawHttp(() => smallSandbox);
    try {
      const { asset_uid } = await (await http.createUploadOfSize(100)).json();
      await new Promise((resolve) => setTimeout(resolve, 80));
      expect((await http.createUploadOfSize(100)).status).toBe(201);
      const asset = await (await http.call('GET', `/assets/${asset_uid}/`)).json();
      expect(asset.status).toBe('failed');
    } finally {
      await smallSandbox.end();
    }
  });
});
