import type { Responder, StubResponse } from './recording-server.ts';

export const assetUid = '0c6f2a52-3c35-4f3e-9a51-2f2ed6b0a7c1';
export const workspaceUid = '7b1f4d0e-58a4-4c8e-9a0b-5d9c1f2e3a4b';
export const folderUid = '5d2c8e9f-1a2b-4c3d-8e4f-5a6b7c8d9e0f';
const newFolderUid = 'e1d2c3b4-a5f6-4788-99aa-bbccddeeff00';
export const testKey = 'a-key-of-this-test';
const v1 = '/api/external/v1';

/** Request body of any command. */
type WriteBody = {
  name?: string;
  tags?: unknown[];
  domain?: string;
  enabled?: boolean;
  parent_uid?: string | null;
};

/** Creates a fake service with one asset and one folder: responses as in §2, which reflect earlier writes. */
export function createLibrary(): Responder {
  let tags: unknown[] = [];
  let name = 'Quay';
  let enabled = false;
  let domains = ['old.example'];
  let folders = [{ uid: folderUid, name: 'Campaigns', parent_uid: null as string | null }];
  return ({ method, path, query, body, headers }): StubResponse => {
    const origin = `http://${headers.host}`;
    if (path.startsWith('/media/'))
      return {
        body: 'some bytes',
        headers: { 'content-type': path.endsWith('.jpg') ? 'image/jpeg' : 'application/pdf' },
      };
    const json = (body ?? {}) as WriteBody;
    if (path.endsWith('/player/'))
      return {
        body: {
          uid: assetUid,
          playback_token: 'token-of-this-test',
          player_config: { auto_play: false, theme: 'dark' },
          items: [{ asset: { uid: assetUid, thumbnail_url: 'https://media.example/t.jpg' } }],
        },
      };
    if (path === `${v1}/playback/info/`)
      return { body: { type: 'document', blocked: false, url: `${origin}/media/a.pdf` } };
    if (path === `${v1}/upload/`)
      return {
        status: 201,
        headers: { location: `${v1}/upload/s1/` },
        body: { uid: 's1', location: `${v1}/upload/s1/`, asset_uid: assetUid, total_size: 4 },
      };
    if (path === `${v1}/upload/s1/`) return { status: 204, headers: { 'upload-offset': '4' } };
    if (path === `${v1}/workspaces/`) return { body: { items: [{ uid: workspaceUid, name: 'Main' }] } };
    if (path.includes('/embed-domains/')) {
      const { domain = '' } = json;
      domains = method === 'POST' ? [...domains, domain] : domains.filter((each) => each !== domain);
      return { status: method === 'POST' ? 201 : 200, body: { enabled, domains } };
    }
    if (path.includes('/embed-settings/')) {
      if (method === 'PATCH') enabled = json.enabled ?? enabled;
      return { body: { enabled, domains } };
    }
    if (path.includes('/folders/')) {
      if (method === 'DELETE') {
        folders = folders.filter(({ uid }) => !path.includes(uid));
        return { status: 204 };
      }
      if (method === 'POST') folders.push({ uid: newFolderUid, parent_uid: null, name: '', ...json });
      if (method === 'PATCH') folders = folders.map((each) => (path.includes(each.uid) ? { ...each, ...json } : each));
      const folderRecord = folders.find(({ uid }) => (method === 'POST' ? uid === newFolderUid : path.includes(uid)));
      const nested = (parent: string | null): unknown[] =>
        folders
          .filter(({ parent_uid }) => parent_uid === parent)
          .map((each) => ({ ...each, children: nested(each.uid) }));
      if (method === 'GET') return { body: nested(null) };
      return { status: method === 'POST' ? 201 : 200, body: { ...folderRecord, children: [] } };
    }
    if (method === 'DELETE') return { status: 204 };
    if (method === 'PATCH') {
      tags = json.tags ?? tags;
      name = json.name ?? name;
    }
    const item = {
      uid: assetUid,
      name,
      description: 'two\nlines',
      type: 'document',
      status: 'ready',
      tags,
      created_at: '2026-03-01T11:00:00Z',
      duration: null,
      size: 10,
      thumbnail_url: `${origin}/media/t.jpg`,
    };
    if (path.includes(assetUid)) return { body: item };
    const isMatch = matches(item, query);
    return { body: { items: isMatch ? [item] : [], count: isMatch ? 1 : 0 } };
  };
}

/** Applies the filters of §4 to the asset. */
function matches(
  item: { name: string; status: string; type: string; tags: unknown[]; created_at: string },
  { search, status, type, tag, created_after, created_before }: Record<string, string>,
): boolean {
  const day = item.created_at.slice(0, 10);
  return (
    (search === undefined || item.name.toLowerCase().includes(search.toLowerCase())) &&
    (status === undefined || item.status === status) &&
    (type === undefined || item.type === type) &&
    (tag === undefined || item.tags.includes(tag)) &&
    (created_after === undefined || day >= created_after) &&
    (created_before === undefined || day <= created_before)
  );
}
