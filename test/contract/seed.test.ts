import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { rawHttp } from '../support/raw-http.ts';
import { startSandbox, type TestSandbox } from '../support/sandbox.ts';
import { openDatabase } from '../support/sqlite.ts';

const seededCount = 2_500;
const startedAt = Date.now();
let sandbox: TestSandbox;
const { call, createUploadOfSize, fetchPlaybackInfo } = rawHttp(() => sandbox);
beforeAll(async () => {
  sandbox = await startSandbox({ seed: seededCount, strict: false, now: () => startedAt });
});
afterAll(() => sandbox.end());

type SeededAsset = { uid: string; name: string; created_at: string; duration: number | null };

const listPage = async (query: string) => (await call('GET', `/assets/?${query}`)).json();

/** Lists all items, page by page. */
async function listAll(query: string): Promise<SeededAsset[]> {
  const items: SeededAsset[] = [];
  for (let offset = 0; ; offset += 100) {
    const next = await listPage(`limit=100&offset=${offset}&${query}`);
    items.push(...next.items);
    if (next.items.length < 100) return items;
  }
}

describe('--seed', () => {
  it('--seed creates the given number of assets with every type, several tags, folders and dates', async () => {
    expect((await listPage('limit=1')).count).toBe(seededCount);
    for (const query of [
      ...['type=video', 'type=audio', 'type=image', 'type=document', 'type=third_party'],
      'type=generic',
      ...['status=ready', 'status=failed', 'search=harbour', 'tag=press', 'parent=root'],
    ]) {
      const matchCount = (await listPage(query)).count;
      expect([query, matchCount > 0 && matchCount < seededCount]).toEqual([query, true]);
    }
    const twoYearsAgo = new Date(startedAt - 732 * 86_400_000).toISOString().slice(0, 10);
    expect((await listPage(`created_after=${twoYearsAgo}`)).count).toBe(seededCount);
    const folders = await (await call('GET', `/workspaces/${sandbox.workspace}/folders/`)).json();
    for (const { uid } of folders) expect((await listPage(`parent=${uid}`)).count).toBeGreaterThan(0);
  });

  it('--seed 6 creates one asset of each type', async () => {
    const small = await startSandbox({ seed: 6, strict: false });
    try {
      const { items } = await (await rawHttp(() => small).call('GET', '/assets/')).json();
      const types = items.map(({ type }: { type: string }) => type).sort();
      expect(types).toEqual(['audio', 'document', 'generic', 'image', 'third_party', 'video']);
    } finally {
      await small.end();
    }
  });

  it('--seed creates the same assets on every machine', async () => {
    const otherSandbox = await startSandbox({ seed: seededCount, strict: false, now: () => startedAt });
    try {
      const { call: callOther } = rawHttp(() => otherSandbox);
      const otherPage = await (await callOther('GET', '/assets/?limit=100')).json();
      expect(otherPage.items).toEqual((await listPage('limit=100')).items);
    } finally {
      await otherSandbox.end();
    }
  });

  it('the playback info of a ready seeded asset is blocked', async () => {
    const [{ uid }] = (await listPage('status=ready&type=video&limit=1')).items;
    const info = await fetchPlaybackInfo(uid);
    expect(info).toEqual({ type: 'video', blocked: true });
  });

  it('a seeded third-party asset has an embed page on another origin', async () => {
    const [{ uid, status }] = (await listPage('type=third_party&limit=1')).items;
    expect(status).toBe('ready');
    const info = await fetchPlaybackInfo(uid);
    const { embed_url, ...rest } = info;
    expect(rest).toEqual({ type: 'third_party', blocked: false });
    expect(new URL(embed_url).origin).toBe(sandbox.url.replace('127.0.0.1', 'localhost'));
    const provider = await fetch(embed_url);
    expect([provider.status, provider.headers.get('content-type')]).toEqual([
      200,
      expect.stringMatching(/^text\/html/),
    ]);
    const [{ uid: video }] = (await listPage('type=video&limit=1')).items;
    expect((await fetch(`${sandbox.url}/provider/${video}`)).status).toBe(404);
  });

  it('--seed refuses a data folder that has assets and leaves it unchanged', async () => {
    const usedSandbox = await startSandbox();
    const { asset_uid } = await (await rawHttp(() => usedSandbox).createUploadOfSize(5)).json();
    await usedSandbox.close();
    const seededStart = startSandbox({ dataDir: usedSandbox.dataDir, seed: 10 });
    await expect(seededStart).rejects.toThrow('this one already has assets');
    const restarted = await startSandbox({ dataDir: usedSandbox.dataDir });
    try {
      const { items } = await (await rawHttp(() => restarted).call('GET', '/assets/')).json();
      expect(items.map(({ uid }: SeededAsset) => uid)).toEqual([asset_uid]);
    } finally {
      await restarted.end();
    }
  });

  it.each([0, 0.5, 100_001, -1])('--seed rejects %d', async (seed) => {
    await expect(startSandbox({ seed })).rejects.toThrow('from 1 to 100000');
  });

  it('seeded assets do not count toward the storage limit', async () => {
    const small = await startSandbox({ seed: 100, storageBytes: 10 });
    try {
      expect((await rawHttp(() => small).createUploadOfSize(10)).status).toBe(201);
    } finally {
      await small.end();
    }
  });
});

describe('long lists', () => {
  it.each([
    ['created_at', ({ created_at }: SeededAsset) => created_at],
    ['name', ({ name }: SeededAsset) => name],
    ['duration', ({ duration }: SeededAsset) => duration ?? -1],
  ])('ordering by %s lists every asset once, ascending and descending', async (ordering, sortValue) => {
    const ascending = await listAll(`ordering=${ordering}`);
    expect(new Set(ascending.map(({ uid }) => uid)).size).toBe(seededCount);
    const values: (string | number)[] = ascending.map((item) => sortValue(item));
    expect(values.every((value, at) => at === 0 || (values[at - 1] as string) <= value)).toBe(true);
    const descending = await listAll(`ordering=-${ordering}`);
    expect(descending.map(({ uid }) => uid)).toEqual(ascending.map(({ uid }) => uid).reverse());
  });

  it('a list reflects the latest changes, including those of other programs', async () => {
    const [first] = (await listPage('limit=1')).items;
    const { asset_uid } = await (await createUploadOfSize(5)).json();
    const pageAfter = await listPage('limit=2');
    expect(pageAfter).toMatchObject({ items: [{ uid: asset_uid }, { uid: first.uid }], count: seededCount + 1 });
    await call('DELETE', `/assets/${asset_uid}/`);
    expect(await listPage('limit=1')).toMatchObject({ items: [{ uid: first.uid }], count: seededCount });
    const database = openDatabase(`${sandbox.dataDir}/sandbox.db`);
    database.prepare('UPDATE assets SET name = ? WHERE uid = ?').run(' first', first.uid);
    database.close();
    expect((await listPage('limit=1&ordering=name')).items[0].uid).toBe(first.uid);
  });
});
