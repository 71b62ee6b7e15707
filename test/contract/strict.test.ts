import { afterAll, beforeAll, expect, it } from 'vitest';
import { rawHttp } from '../support/raw-http.ts';
import { fixturePath, startSandbox, type TestSandbox } from '../support/sandbox.ts';

// Responses have exactly the fields that §2 and §7 name.
let sandbox: TestSandbox;
const { call, createUploadOfSize, head, upload } = rawHttp(() => sandbox);
let uid: string;
beforeAll(async () => {
  sandbox = await startSandbox({ strict: true });
  uid = (await upload(fixturePath('clip.mp4'))).uid;
});
afterAll(() => sandbox.end());

const fetchKeys = async (path: string) => Object.keys(await (await call('GET', path)).json());

const specifiedFields = [
  ...['uid', 'name', 'description', 'status', 'created_at', 'duration', 'thumbnail_url', 'tags'],
].sort();

it('§2 the strict service returns pages with only `items` and records with only the named fields', async () => {
  const page = await (await call('GET', '/videos/')).json();
  expect(Object.keys(page)).toEqual(['items']);
  expect(Object.keys(page.items[0]).sort()).toEqual(specifiedFields);
  expect((await fetchKeys(`/assets/${uid}/`)).sort()).toEqual(specifiedFields);
});

it('§2 the strict service returns only the uid of a workspace, and uid, name and children of a folder', async () => {
  const { items } = await (await call('GET', '/workspaces/')).json();
  expect(items.map(Object.keys)).toEqual([['uid'], ['uid']]);
  const path = `/workspaces/${sandbox.workspace}/folders/`;
  const createFolder = (body: object) =>
    call('POST', path, { headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) });
  const top = await (await createFolder({ name: 'Top' })).json();
  const subfolder = await (await createFolder({ name: 'Below', parent_uid: top.uid })).json();
  expect(subfolder).toEqual({ uid: subfolder.uid, name: 'Below', children: [] });
  expect(await (await call('GET', path)).json()).toEqual([{ uid: top.uid, name: 'Top', children: [subfolder] }]);
});

it('§7 the strict service returns errors as an `error` object with a message, or as text', async () => {
  const missing = await call('GET', '/assets/00000000-0000-4000-8000-000000000000/');
  expect(await missing.json()).toEqual({ error: { message: expect.any(String) } });
  const invalid = await call('GET', '/assets/?limit=0');
  expect(await invalid.json()).toEqual({ error: { message: expect.any(String) } });
  expect((await createUploadOfSize(5, { workspace_uid: '' })).headers.get('content-type')).toMatch(/^text/);
});

it('the strict service refuses query parameters that §4 does not name with 422, and the other mode ignores them', async () => {
  const lenient = await startSandbox({ strict: false });
  const { call: callLenient } = rawHttp(() => lenient);
  try {
    for (const path of [
      ...[
        '/assets/?creted_after=2026-01-01',
        '/videos/?type=video',
        '/workspaces/?search=x',
        `/assets/${uid}/?limit=1`,
      ],
      `/workspaces/${sandbox.workspace}/folders/?limit=1`,
    ])
      expect([path, (await call('GET', path)).status]).toEqual([path, 422]);
    expect((await callLenient('GET', '/assets/?creted_after=2026-01-01')).status).toBe(200);
  } finally {
    await lenient.end();
  }
  const known = 'search=clip&status=ready&tag=x&created_after=2026-01-01&created_before=2026-01-02&ordering=name';
  expect((await call('GET', `/assets/?limit=1&offset=0&${known}&type=video&parent=root`)).status).toBe(200);
  expect((await call('GET', `/videos/?limit=1&offset=0&${known}`)).status).toBe(200);
});

it.each([
  ['a metadata key that §4 does not name', { metadata: { file_name: 'a' } }],
  ['Upload-Concat', { headers: { 'Upload-Concat': 'partial' } }],
  ['Upload-Defer-Length', { headers: { 'Upload-Defer-Length': '1' } }],
  ['X-HTTP-Method-Override', { headers: { 'X-HTTP-Method-Override': 'PATCH' } }],
  ['bytes in the creation', { body: 'bytes' }],
])(
  'the strict service refuses an upload creation with %s as text with 400',
  async (_what, { metadata, ...options }: Creation) => {
    const refused = await createUploadOfSize(5, metadata, options);
    expect([refused.status, refused.headers.get('content-type')]).toEqual([400, expect.stringMatching(/^text\/plain/)]);
  },
);
type Creation = { metadata?: Record<string, string>; headers?: Record<string, string>; body?: string };

it('the strict service sends only headers that the specification, tus or HTTP names', async () => {
  const { location } = await (await createUploadOfSize(5)).json();
  const responses = [await call('GET', '/assets/'), await createUploadOfSize(5), await head(location)];
  const headerNames = new Set(responses.flatMap(({ headers }) => [...headers.keys()]));
  expect([...headerNames].sort()).toEqual(
    [
      ...['x-ratelimit-limit', 'x-ratelimit-remaining', 'x-ratelimit-reset'],
      ...['location', 'upload-offset', 'tus-resumable', 'cache-control'],
      ...['connection', 'content-length', 'content-type', 'date'],
    ].sort(),
  );
});

it('the strict service omits Upload-Length from HEAD responses, because §4 does not promise it', async () => {
  const { location } = await (await createUploadOfSize(5)).json();
  expect((await head(location)).headers.get('Upload-Length')).toBeNull();
});

it('the strict service returns player data and playback info with only the fields of §2', async () => {
  const { playback_token, ...player } = await (await call('GET', `/assets/${uid}/player/`)).json();
  expect(player).toEqual({
    uid,
    player_config: { auto_play: expect.any(Boolean), theme: expect.any(String) },
    items: [{ asset: { uid, thumbnail_url: expect.stringMatching(/^http/) } }],
  });
  const info = await call('POST', '/playback/info/', {
    key: '',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ asset_id: uid, playback_token }),
  });
  expect(Object.keys(await info.json()).sort()).toEqual(
    [
      ...['type', 'blocked', 'hls_url', 'source_url', 'preview_sprites_url', 'chapters'],
      'resume_position_seconds',
    ].sort(),
  );
});
