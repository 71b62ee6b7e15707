import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { rawHttp } from '../support/raw-http.ts';
import { startSandbox, type TestSandbox } from '../support/sandbox.ts';
import { openDatabase } from '../support/sqlite.ts';

const count = 2_500;
const startedAt = Date.now();
let sandbox: TestSandbox;
const { call, create, playbackInfo } = rawHttp(() => sandbox);
beforeAll(async () => {
  sandbox = await startSandbox({ seed: count, strict: false, now: () => startedAt });
});
afterAll(() => sandbox.end());

type SeededAsset = { uid: string; name: string; created_at: string; duration: number | null };

const page = async (query: string) => (await call('GET', `/assets/?${query}`)).json();

/** Lists all items, page by page. */
async function walk(query: string): Promise<SeededAsset[]> {
  const items: SeededAsset[] = [];
  for (let offset = 0; ; offset += 100) {
    const next = await page(`limit=100&offset=${offset}&${query}`);
    items.push(...next.items);
    if (next.items.length < 100) return items;
  }
}

describe('--seed', () => {
  it('--seed creates the given number of assets with every type, several tags, folders and dates', async () => {
    expect((await page('limit=1')).count).toBe(count);
    for (const query of [
      ...['type=video', 'type=audio', 'type=image', 'type=document', 'type=third_party'],
      'type=generic',
      ...['status=ready', 'status=failed', 'search=harbour', 'tag=press', 'parent=root'],
    ]) {
      const found = (await page(query)).count;
      expect([query, found > 0 && found < count]).toEqual([query, true]);
    }
    const twoYearsAgo = new Date(startedAt - 732 * 86_400_000).toISOString().slice(0, 10);
    expect((await page(`created_after=${twoYearsAgo}`)).count).toBe(count);
    const tree = await (await call('GET', `/workspaces/${sandbox.workspace}/folders/`)).json();
    const inside = await Promise.all(tree.map(async ({ uid }: { uid: string }) => (await page(`parent=${uid}`)).count));
    expect(Math.min(...inside)).toBeGreaterThan(0);
  });

  it('--seed creates the same assets on every machine', async () => {
    const other = await startSandbox({ seed: count, strict: false, now: () => startedAt });
    try {
      const { call: ask } = rawHttp(() => other);
      const theirs = await (await ask('GET', '/assets/?limit=100')).json();
      expect(theirs.items).toEqual((await page('limit=100')).items);
    } finally {
      await other.end();
    }
  });

  it('the playback info of a ready seeded asset is blocked', async () => {
    const [{ uid }] = (await page('status=ready&type=video&limit=1')).items;
    const info = await playbackInfo(uid);
    expect(info).toEqual({ type: 'video', blocked: true });
  });

  it('a seeded third-party asset has an embed page on another origin', async () => {
    const [{ uid, status }] = (await page('type=third_party&limit=1')).items;
    expect(status).toBe('ready');
    const info = await playbackInfo(uid);
    const { embed_url, ...rest } = info;
    expect(rest).toEqual({ type: 'third_party', blocked: false });
    expect(new URL(embed_url).origin).toBe(sandbox.url.replace('127.0.0.1', 'localhost'));
    const provider = await fetch(embed_url);
    expect([provider.status, provider.headers.get('content-type')]).toEqual([
      200,
      expect.stringMatching(/^text\/html/),
    ]);
    const [{ uid: video }] = (await page('type=video&limit=1')).items;
    expect((await fetch(`${sandbox.url}/provider/${video}`)).status).toBe(404);
  });

  it('--seed refuses a data folder that has assets and leaves it unchanged', async () => {
    const used = await startSandbox();
    const { asset_uid } = await (await rawHttp(() => used).create(5)).json();
    await used.close();
    const again = startSandbox({ dataDir: used.dataDir, seed: 10 });
    await expect(again).rejects.toThrow('this one already has assets');
    const after = await startSandbox({ dataDir: used.dataDir });
    try {
      const { items } = await (await rawHttp(() => after).call('GET', '/assets/')).json();
      expect(items.map(({ uid }: SeededAsset) => uid)).toEqual([asset_uid]);
    } finally {
      await after.end();
    }
  });

  it.each([0, 0.5, 100_001, -1])('--seed rejects %d', async (seed) => {
    await expect(startSandbox({ seed })).rejects.toThrow('from 1 to 100000');
  });

  it('seeded assets do not count toward the storage limit', async () => {
    const small = await startSandbox({ seed: 100, storageBytes: 10 });
    try {
      expect((await rawHttp(() => small).create(10)).status).toBe(201);
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
  ])('ordering by %s lists every asset once, ascending and descending', async (ordering, value) => {
    const up = await walk(`ordering=${ordering}`);
    expect(new Set(up.map(({ uid }) => uid)).size).toBe(count);
    const values: (string | number)[] = up.map((item) => value(item));
    expect(values.every((each, at) => at === 0 || (values[at - 1] as string) <= each)).toBe(true);
    const down = await walk(`ordering=-${ordering}`);
    expect(down.map(({ uid }) => uid)).toEqual(up.map(({ uid }) => uid).reverse());
  });

  it('a list reflects the latest changes, including those of other programs', async () => {
    const [first] = (await page('limit=1')).items;
    const { asset_uid } = await (await create(5)).json();
    const after = await page('limit=2');
    expect([after.items[0].uid, after.items[1].uid, after.count]).toEqual([asset_uid, first.uid, count + 1]);
    await call('DELETE', `/assets/${asset_uid}/`);
    expect(await page('limit=1')).toMatchObject({ items: [{ uid: first.uid }], count });
    const database = openDatabase(`${sandbox.dataDir}/sandbox.db`);
    database.prepare('UPDATE assets SET name = ? WHERE uid = ?').run(' first', first.uid);
    database.close();
    expect((await page('limit=1&ordering=name')).items[0].uid).toBe(first.uid);
  });
});
