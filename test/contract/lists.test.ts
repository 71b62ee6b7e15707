import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { rawHttp } from '../support/raw-http.ts';
import { fixturePath, startSandbox, type TestSandbox } from '../support/sandbox.ts';
import { openDatabase } from '../support/sqlite.ts';

let sandbox: TestSandbox;
const { call, createUploadOfSize, upload } = rawHttp(() => sandbox);
let clip: { uid: string };
let tone: { uid: string };
let still: { uid: string };

/** The sandbox's date, fixed so that no midnight falls between two requests. */
const day = '2026-03-01';
const startedAt = Date.now();
const now = () => Date.parse(`${day}T12:00:00Z`) + Date.now() - startedAt;

beforeAll(async () => {
  sandbox = await startSandbox({ now });
  clip = await upload(fixturePath('clip.mp4'), { asset_name: 'Harbour at dawn', description: 'cranes' });
  tone = await upload(fixturePath('tone.mp3'), { asset_name: 'A tone', description: '330 hertz' });
  still = await upload(fixturePath('still.jpg'), { asset_name: 'Ærø harbour "still"' });
  await createUploadOfSize(10, { filename: 'waiting.mov', content_type: 'video/quicktime' });
});
afterAll(() => sandbox.end());

const listNames = async (path: string) => {
  const response = await call('GET', path);
  expect(response.status).toBe(200);
  return (await response.json()).items.map(({ name }: { name: string }) => name);
};

describe('§4 Common list parameters', () => {
  it('a list page contains `items` with the newest first', async () => {
    const page = await (await call('GET', '/assets/')).json();
    expect(page.count).toBe(4);
    expect(page.items.map(({ name }: { name: string }) => name)).toEqual([
      'waiting.mov',
      'Ærø harbour "still"',
      'A tone',
      'Harbour at dawn',
    ]);
  });

  it('limit and offset select a part of the list', async () => {
    expect(await listNames('/assets/?limit=2&offset=1')).toEqual(['Ærø harbour "still"', 'A tone']);
    expect(await listNames('/assets/?offset=4')).toEqual([]);
  });

  it.each([
    'limit=0',
    'limit=101',
    'limit=x',
    'offset=-1',
    'ordering=size',
    'status=gone',
    'type=gif',
    'created_after=2026-02-30',
    'parent=nowhere',
  ])('the invalid query %s returns 422 with the name of the parameter', async (query) => {
    const response = await call('GET', `/assets/?${query}`);
    expect(response.status).toBe(422);
    const { error } = await response.json();
    expect(error.details[0].loc).toEqual(['query', query.split('=')[0]]);
  });
});

describe('§4 Filters and ordering', () => {
  it.each([
    ['search=harbour', ['Ærø harbour "still"', 'Harbour at dawn']],
    ['search=crane', ['Harbour at dawn']],
    ['search=330', ['A tone']],
    ['search=dawn harb', ['Harbour at dawn']],
    ['search=AND', []],
    ['status=ready', ['Ærø harbour "still"', 'A tone', 'Harbour at dawn']],
    ['status=uploading', ['waiting.mov']],
    ['type=audio', ['A tone']],
    ['type=image', ['Ærø harbour "still"']],
    ['parent=root', ['waiting.mov', 'Ærø harbour "still"', 'A tone', 'Harbour at dawn']],
    ['ordering=name', ['A tone', 'Harbour at dawn', 'waiting.mov', 'Ærø harbour "still"']],
    ['ordering=-duration&status=ready&limit=2', ['Harbour at dawn', 'A tone']],
    ['ordering=created_at&limit=1', ['Harbour at dawn']],
  ])('the query %s returns the matching assets in order', async (query, expected) => {
    expect(await listNames(`/assets/?${query}`)).toEqual(expected);
  });

  it('search terms are never interpreted as query syntax', async () => {
    for (const typed of ['"', '*', 'harbour"', 'name:x', 'NEAR(a b)', "'; DROP TABLE assets"])
      expect((await call('GET', `/assets/?search=${encodeURIComponent(typed)}`)).status).toBe(200);
    expect(await listNames('/assets/?search=harbour%22%20*')).toHaveLength(2);
  });

  it('search finds words with accents in either Unicode form', async () => {
    const database = openDatabase(join(sandbox.dataDir, 'sandbox.db'));
    const rename = (name: string) => database.prepare('UPDATE assets SET name = ? WHERE uid = ?').run(name, tone.uid);
    for (const stored of ['NFC', 'NFD'])
      for (const typed of ['NFC', 'NFD']) {
        rename('Übung हिन्दी'.normalize(stored));
        for (const word of ['Übung', 'हिन्दी'])
          expect(await listNames(`/assets/?search=${encodeURIComponent(word.normalize(typed))}`)).toHaveLength(1);
      }
    rename('A tone');
    database.close();
  });

  it('the tag filter matches only a complete tag', async () => {
    const database = openDatabase(join(sandbox.dataDir, 'sandbox.db'));
    database.prepare('UPDATE assets SET tags = ? WHERE uid = ?').run('["sea","port"]', tone.uid);
    database.close();
    expect(await listNames('/assets/?tag=port')).toEqual(['A tone']);
    expect(await listNames('/assets/?tag=por')).toEqual([]);
  });

  it('created_after and created_before include assets "created on or after", "on or before" the date', async () => {
    expect(await listNames(`/assets/?created_after=${day}&created_before=${day}`)).toHaveLength(4);
    expect(await listNames('/assets/?created_after=2999-01-01')).toEqual([]);
    expect(await listNames('/assets/?created_before=2000-01-01')).toEqual([]);
  });

  it('GET /videos/ lists only the assets that are videos', async () => {
    expect(await listNames('/videos/')).toEqual(['waiting.mov', 'Harbour at dawn']);
  });
});

describe('§2 Records', () => {
  it('a list item contains the fields that §2 names', async () => {
    const page = await (await call('GET', '/assets/?type=video&status=ready')).json();
    expect(page.items).toEqual([
      {
        uid: clip.uid,
        name: 'Harbour at dawn',
        description: 'cranes',
        type: 'video',
        status: 'ready',
        created_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/),
        updated_at: expect.any(String),
        duration: 10,
        thumbnail_url: null,
        tags: [],
        size: 431943,
        parent: null,
        width: 640,
        height: 360,
      },
    ]);
  });

  it('"a union of list-item shapes": a list item has only the fields of its type', async () => {
    const { items } = await (await call('GET', '/assets/')).json();
    const keys = Object.fromEntries(items.map((item: object & { type: string }) => [item.type, Object.keys(item)]));
    const commonFields = ['uid', 'name', 'description', 'status', 'created_at', 'duration'];
    for (const type of ['video', 'audio', 'image'])
      expect(keys[type]).toEqual(expect.arrayContaining([...commonFields, 'thumbnail_url', 'tags']));
    const hasDimensions = (type: string) => keys[type].includes('width') && keys[type].includes('height');
    expect([hasDimensions('video'), hasDimensions('audio'), hasDimensions('image')]).toEqual([true, false, true]);
    expect(items.find(({ type }: { type: string }) => type === 'image').duration).toBeNull();
  });

  it('the detail of an asset has the fields of its type', async () => {
    const detail = async (uid: string) => (await call('GET', `/assets/${uid}/`)).json();
    expect(await detail(clip.uid)).toMatchObject({ width: 640, height: 360, content_type: 'video/mp4' });
    const audio = await detail(tone.uid);
    expect(audio).toMatchObject({ type: 'audio', duration: 3.03, content_type: 'audio/mpeg' });
    expect(audio).not.toHaveProperty('width');
    expect(await detail(still.uid)).toMatchObject({ type: 'image', duration: null, width: 320, height: 180 });
    const { asset_uid } = await (await createUploadOfSize(5, { filename: 'a.pdf' })).json();
    const generic = await detail(asset_uid);
    expect(generic).toMatchObject({ type: 'generic', duration: null, thumbnail_url: null });
    expect(generic).not.toHaveProperty('width');
    await call('DELETE', `/assets/${asset_uid}/`);
  });

  it('an asset that is unknown or not a video returns 404, and an invalid UUID returns 422', async () => {
    const status = async (path: string) => (await call('GET', path)).status;
    expect(await status('/assets/00000000-0000-4000-8000-000000000000/')).toBe(404);
    expect(await status(`/videos/${tone.uid}/`)).toBe(404);
    expect(await status(`/videos/${clip.uid}/`)).toBe(200);
    expect(await status('/assets/not-a-uuid/')).toBe(422);
  });

  it('GET /workspaces/ returns a page with one primary workspace', async () => {
    const page = await (await call('GET', '/workspaces/')).json();
    expect(page.count).toBe(2);
    expect(page.items[0]).toMatchObject({ uid: sandbox.workspace, name: 'Main', is_primary: true });
    expect(page.items[1]).toMatchObject({ name: 'Archive', is_primary: false });
    expect((await (await call('GET', '/workspaces/?limit=1&offset=1')).json()).items).toHaveLength(1);
  });
});
