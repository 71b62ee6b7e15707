import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { rawHttp } from '../support/raw-http.ts';
import { startSandbox, type TestSandbox } from '../support/sandbox.ts';

let sandbox: TestSandbox;
const { call, send, createUploadOfSize } = rawHttp(() => sandbox);
beforeAll(async () => {
  sandbox = await startSandbox();
});
afterAll(() => sandbox.end());

const unknownUid = '00000000-0000-4000-8000-000000000000';
const foldersPath = () => `/workspaces/${sandbox.workspace}/folders/`;
const createFolder = async (name: string, parent_uid?: string | null) => {
  const response = await send('POST', foldersPath(), { name, ...(parent_uid && { parent_uid }) });
  expect(response.status).toBe(201);
  return (await response.json()).uid as string;
};
const folderTree = async () => (await call('GET', foldersPath())).json();
const archiveWorkspace = async () => {
  const { items } = await (await call('GET', '/workspaces/')).json();
  return items.find(({ name }: { name: string }) => name === 'Archive').uid as string;
};

describe('§4 Folders', () => {
  it('GET folders returns an "array of folders, root folders with nested children"', async () => {
    const top = await createFolder('Campaigns');
    const subfolder = await createFolder('2026', top);
    expect(await folderTree()).toEqual([
      expect.objectContaining({
        uid: top,
        name: 'Campaigns',
        parent_uid: null,
        children: [expect.objectContaining({ uid: subfolder, parent_uid: top, children: [] })],
      }),
    ]);
  });

  it('PATCH of a folder can "rename and/or move under another parent (partial)"', async () => {
    const [oldParent, newParent] = [await createFolder('from'), await createFolder('to')];
    const moved = await createFolder('moved', oldParent);
    const child = await createFolder('child', moved);
    const renamed = await send('PATCH', `${foldersPath()}${moved}/`, { name: 'renamed' });
    expect(renamed.status).toBe(200);
    expect(await renamed.json()).toMatchObject({ name: 'renamed', parent_uid: oldParent });
    const response = await send('PATCH', `${foldersPath()}${moved}/`, { parent_uid: newParent, name: 'both' });
    expect(await response.json()).toMatchObject({ name: 'both', parent_uid: newParent, children: [{ uid: child }] });
    await send('PATCH', `${foldersPath()}${moved}/`, { parent_uid: null });
    expect((await folderTree()).map(({ name }: { name: string }) => name)).toContain('both');
  });

  it('moving a folder below itself returns 422', async () => {
    const top = await createFolder('top');
    const subfolder = await createFolder('below', await createFolder('middle', top));
    for (const parent_uid of [top, subfolder]) {
      const response = await send('PATCH', `${foldersPath()}${top}/`, { parent_uid });
      expect(response.status).toBe(422);
      expect((await response.json()).error.details[0].loc).toEqual(['body', 'parent_uid']);
    }
  });

  it('folder uids are case-insensitive, including parent_uid', async () => {
    const top = await createFolder('upper');
    const child = await createFolder('below', top.toUpperCase());
    expect(
      (await (await call('GET', foldersPath())).json()).find((each: { uid: string }) => each.uid === top).children[0]
        .uid,
    ).toBe(child);
    const itself = await send('PATCH', `${foldersPath()}${top}/`, { parent_uid: top.toUpperCase() });
    expect(itself.status).toBe(422);
  });

  it('creating or moving a folder deeper than 100 levels returns 422', async () => {
    let parent = await createFolder('1');
    const top = parent;
    for (let depth = 2; depth <= 100; depth++) parent = await createFolder(String(depth), parent);
    expect((await send('POST', foldersPath(), { name: '101', parent_uid: parent })).status).toBe(422);
    const other = await createFolder('above');
    expect((await send('PATCH', `${foldersPath()}${top}/`, { parent_uid: other })).status).toBe(422);
  });

  it.each([
    ['no name', {}],
    ['an empty name', { name: '  ' }],
    ['a slash in the name', { name: 'a/b' }],
    ['an unknown field', { name: 'a', parent: null }],
    ['an invalid parent_uid', { name: 'a', parent_uid: 'x' }],
  ])('creating a folder with %s returns 422', async (_what, body) => {
    expect((await send('POST', foldersPath(), body)).status).toBe(422);
  });

  it('folder requests for an unknown workspace, folder or parent return 404', async () => {
    const top = await createFolder('here');
    expect((await call('GET', `/workspaces/${unknownUid}/folders/`)).status).toBe(404);
    expect((await send('POST', foldersPath(), { name: 'a', parent_uid: unknownUid })).status).toBe(404);
    expect((await send('PATCH', `${foldersPath()}${unknownUid}/`, { name: 'a' })).status).toBe(404);
    // a folder of another workspace is not found
    const elsewhere = `/workspaces/${await archiveWorkspace()}/folders/`;
    expect((await send('PATCH', `${elsewhere}${top}/`, { name: 'a' })).status).toBe(404);
    expect((await send('POST', elsewhere, { name: 'a', parent_uid: top })).status).toBe(404);
  });

  it('DELETE of a folder succeeds only if the folder is empty', async () => {
    const top = await createFolder('goes');
    const subfolder = await createFolder('first', top);
    expect((await call('DELETE', `${foldersPath()}${top}/`)).status).toBe(422);
    expect((await call('DELETE', `${foldersPath()}${subfolder}/`)).status).toBe(204);
    expect((await call('DELETE', `${foldersPath()}${top}/`)).status).toBe(204);
    expect((await call('DELETE', `${foldersPath()}${top}/`)).status).toBe(404);
  });

  it('folder requests without the required scope return 403', async () => {
    const read = sandbox.createKey('read', ['Read Assets']);
    const write = sandbox.createKey('write', ['Write Assets']);
    const top = await createFolder('guarded');
    expect((await call('GET', foldersPath(), { key: write })).status).toBe(403);
    expect((await send('POST', foldersPath(), { name: 'a' }, read)).status).toBe(403);
    expect((await send('PATCH', `${foldersPath()}${top}/`, { name: 'a' }, read)).status).toBe(403);
    expect((await call('DELETE', `${foldersPath()}${top}/`, { key: write })).status).toBe(403);
  });
});

describe('assets in folders', () => {
  it('§4 upload: parent_folder_uid places the asset in the folder, and the `parent` filter finds it', async () => {
    const folder = await createFolder('uploads');
    const { asset_uid } = await (await createUploadOfSize(5, { parent_folder_uid: folder })).json();
    const inFolder = await (await call('GET', `/assets/?parent=${folder}`)).json();
    expect(inFolder.items.map(({ uid }: { uid: string }) => uid)).toEqual([asset_uid]);
    expect(inFolder.items[0].parent).toBe(folder);
    const inRoot = await (await call('GET', '/assets/?parent=root')).json();
    expect(inRoot.items.map(({ uid }: { uid: string }) => uid)).not.toContain(asset_uid);
    expect((await call('DELETE', `${foldersPath()}${folder}/`)).status).toBe(422);
    await call('DELETE', `/assets/${asset_uid}/`);
    expect((await call('DELETE', `${foldersPath()}${folder}/`)).status).toBe(204);
  });

  it('"in the primary workspace": filtering by a folder of another workspace returns 422', async () => {
    const otherWorkspace = await archiveWorkspace();
    const { uid } = await (await send('POST', `/workspaces/${otherWorkspace}/folders/`, { name: 'kept' })).json();
    expect((await call('GET', `/assets/?parent=${uid}`)).status).toBe(422);
    // the parent folder must belong to the upload's workspace
    const response = await createUploadOfSize(5, { parent_folder_uid: uid });
    expect(response.status).toBe(404);
    expect(response.headers.get('content-type')).toMatch(/^text\/plain/);
    expect((await createUploadOfSize(5, { parent_folder_uid: uid, workspace_uid: otherWorkspace })).status).toBe(201);
    const inRoot = await (await call('GET', '/assets/?parent=root')).json();
    expect(inRoot.items.every(({ parent }: { parent: unknown }) => parent === null)).toBe(true);
  });
});
