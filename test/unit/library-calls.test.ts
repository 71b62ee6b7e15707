import { mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { createClient, MediactlError } from '../../src/sdk/index.ts';
import type { Client, ClientOptions, DirectoryResult, Notice } from '../../src/sdk/public-types.ts';
import { Cli } from '../support/cli.ts';
import { assetUid, testKey } from '../support/fake-library.ts';
import { FakeService, serveAsset } from '../support/fake-service.ts';
import { FaultProxy, type ProxiedRequest } from '../support/fault-proxy.ts';
import { pseudoRandomBytes } from '../support/files.ts';
import { respond, startServer } from '../support/http-server.ts';
import { rawHttp } from '../support/raw-http.ts';
import { startSandbox } from '../support/sandbox.ts';
import { queryState } from '../support/state-database.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

const account = { baseUrl: 'http://127.0.0.1:9', apiKey: 'a-key-of-this-test' };

function openClient(options: Partial<ClientOptions> = {}): Client {
  const client = createClient({ ...account, ...options });
  onTestFinished(() => client.close());
  return client;
}

async function openSandboxClient(options: Partial<ClientOptions> = {}): Promise<Client> {
  const sandbox = await startSandbox();
  onTestFinished(() => sandbox.end());
  return openClient({ baseUrl: sandbox.url, apiKey: sandbox.key, ...options });
}

it.each<[string, Partial<ClientOptions>]>([
  ['a base URL of another protocol', { baseUrl: 'ftp://127.0.0.1' }],
  ['a base URL that is no URL', { baseUrl: '' }],
  ['an API key with a line feed', { apiKey: 'key\n' }],
  ['an empty API key', { apiKey: '' }],
  ['a user agent with a line feed', { userAgent: 'a\nb' }],
  ['a request timeout of 0', { requestTimeoutMs: 0 }],
  ['a maximum wait that is not a number', { maxWaitMs: Number.NaN }],
])('createClient rejects %s with the code usage', (_what, options) => {
  expect(() => createClient({ ...account, ...options })).toThrow(
    expect.objectContaining({ name: 'MediactlError', code: 'usage' }),
  );
});

it.each([
  { transfers: Number.NaN },
  { transfers: 0 },
  { chunkBytes: 100_000.5 },
  { chunkBytes: 2 ** 40 },
  { limitRate: 0 },
])('uploadDirectory rejects the options %o with the code usage', async (options) => {
  const upload = openClient().uploadDirectory(temporaryFolder(), options);
  await expect(upload.next()).rejects.toMatchObject({ code: 'usage' });
});

it('a list by a status that the service refuses is rejected with the code usage and names it', async () => {
  const client = await openSandboxClient();
  const list = client.assets.list({ status: 'redy' });
  await expect(list.next()).rejects.toMatchObject({ code: 'usage', message: expect.stringContaining("'redy'") });
});

it('a folder that differs in case only is named in the error for one that does not exist', async () => {
  const client = await openSandboxClient();
  await client.folders.ensure('/Press');
  await expect(client.folders.rename('/press', 'News')).rejects.toMatchObject({
    code: 'not_found',
    message: 'folder /press does not exist; did you mean /Press?',
  });
});

it('existing says which files upload sends', async () => {
  const folder = temporaryFolder();
  const client = await openSandboxClient();
  const paths = ['a.bin', 'b.bin'].map((name) => join(folder, name));
  for (const path of paths) writeFileSync(path, 'the same content');
  const [first = '', copy = ''] = paths;
  expect((await client.upload(first, { folder: '/One' })).outcome).toBe('uploaded');
  expect((await client.upload(copy, { folder: '/One' })).outcome).toBe('duplicate');
  expect((await client.upload(copy, { folder: '/Two', existing: 'anywhere' })).outcome).toBe('duplicate');
  expect((await client.upload(copy, { folder: '/Two' })).outcome).toBe('uploaded');
  expect((await client.upload(copy, { folder: '/One', existing: 'file' })).outcome).toBe('uploaded');
  expect((await client.upload(copy, { folder: '/One', existing: 'file' })).outcome).toBe('skipped');
  expect((await client.upload(copy, { folder: '/One', existing: 'upload' })).outcome).toBe('uploaded');
  for (const wrong of [{ force: true }, { existing: 'name' }])
    await expect(client.upload(copy, wrong as object)).rejects.toMatchObject({ code: 'usage' });
});

it('an error has no API key if the service echoes the request', async () => {
  const baseUrl = await startServer((request, response) => {
    const echo = String(request.headers.authorization);
    respond(response, 400, { error: { code: 'bad', message: echo, details: [{ echo }] } });
  });
  const error = await openClient({ baseUrl })
    .assets.get('00000000-0000-4000-8000-000000000001')
    .catch((thrown) => thrown);
  expect(error).toBeInstanceOf(MediactlError);
  expect(`${error.stack} ${JSON.stringify(error)}`).toContain('Bearer ***');
  expect(`${error.stack} ${JSON.stringify(error)} ${error.cause}`).not.toContain(account.apiKey);
});

it('wait yields an error for a text that is not a uid, and the results of the other assets', async () => {
  const client = await openSandboxClient();
  const path = join(temporaryFolder(), 'notes.md');
  writeFileSync(path, 'notes');
  const { uid } = await client.upload(path);
  const results: Record<string, string | undefined> = {};
  for await (const { uid: waited, asset, error } of client.assets.wait([uid, 'nope']))
    results[waited] = error?.code ?? String(asset?.status);
  expect(results).toEqual({ [uid]: 'ready', nope: 'usage' });
});

it('upload and uploadDirectory leave out the state folder and settings files of projects', async () => {
  const directory = temporaryFolder();
  const notices: Notice[] = [];
  const onNotice = (notice: Notice) => void notices.push(notice);
  const client = await openSandboxClient({ stateDir: join(directory, 'state'), onNotice });
  for (const name of ['a.bin', '.mediactl.json']) writeFileSync(join(directory, name), name);
  for (let run = 0; run < 2; run++) {
    const results: DirectoryResult[] = [];
    for await (const each of client.uploadDirectory(directory)) results.push(each);
    expect(results).toMatchObject([{ path: join(directory, 'a.bin'), upload: { isVerified: true } }]);
  }
  const leftOut = expect.stringMatching(/^skipped: 1 file and 1 directory of mediactl's own configuration and state$/);
  expect(notices).toEqual([
    { kind: 'warning', message: leftOut },
    { kind: 'warning', message: leftOut },
  ]);
  for (const name of ['state/receipts.db', '.mediactl.json'])
    await expect(client.upload(join(directory, name))).rejects.toMatchObject({ code: 'usage' });
});

it('upload and uploadDirectory reject with what a callback of the caller has thrown', async () => {
  const client = await openSandboxClient();
  const directory = join(temporaryFolder(), 'files');
  mkdirSync(directory);
  for (const name of ['a.bin', 'b.bin']) writeFileSync(join(directory, name), pseudoRandomBytes(10_000, name));
  const own = new Error('of the caller');
  const onProgress = () => {
    throw own;
  };
  const uploadAll = async () => {
    for await (const { error } of client.uploadDirectory(directory, { onProgress })) expect(error).toBeUndefined();
  };
  expect(await client.upload(join(directory, 'a.bin'), { onProgress }).catch((thrown) => thrown)).toBe(own);
  expect(await uploadAll().catch((thrown) => thrown)).toBe(own);
});

it('download rejects with already_exists, before it reads the media, if there is a file at the path', async () => {
  const client = await openSandboxClient();
  const path = join(temporaryFolder(), 'notes.md');
  writeFileSync(path, 'notes');
  const { uid } = await client.upload(path);
  for await (const { error } of client.assets.wait([uid])) expect(error).toBeUndefined();
  let receivedBytes = 0;
  const onProgress = (bytes: number) => {
    receivedBytes = bytes;
  };
  await expect(client.assets.download(uid, path, { onProgress })).rejects.toMatchObject({ code: 'already_exists' });
  expect(receivedBytes).toBe(0);
});

describe('find', () => {
  async function openTwoWorkspaces(strict: boolean) {
    const sandbox = await startSandbox({ strict });
    onTestFinished(() => sandbox.end());
    const { call, createUploadOfSize } = rawHttp(() => sandbox);
    const { items } = await (await call('GET', '/workspaces/')).json();
    const archive = items.find(({ uid }: { uid: string }) => uid !== sandbox.workspace).uid;
    for (const workspace_uid of [sandbox.workspace, archive])
      await createUploadOfSize(5, {
        asset_name: `in ${workspace_uid === archive ? 'Archive' : 'Main'}`,
        workspace_uid,
      });
    const notices: Notice[] = [];
    const onNotice = (notice: Notice) => notices.push(notice);
    const options = { baseUrl: sandbox.url, apiKey: sandbox.key, workspace: sandbox.workspace, onNotice };
    return { client: openClient(options), notices, options, archive: archive as string };
  }

  it('find with a glob that does not begin with a folder says how a glob begins, since it is taken as a name', async () => {
    const { client, notices } = await openTwoWorkspaces(false);
    expect(await client.assets.find('in *')).toEqual([]);
    expect(notices).toEqual([
      { kind: 'warning', message: 'no asset is named in *; a glob begins with a folder, such as /**/in *' },
    ]);
  });

  it('find returns no asset of another workspace than that of the client', async () => {
    const { client } = await openTwoWorkspaces(false);
    expect(await client.assets.find('in Main')).toHaveLength(1);
    expect(await client.assets.find('in Archive')).toEqual([]);
  });

  it('find warns if the service does not show the workspace of what it returns', async () => {
    const { client, notices } = await openTwoWorkspaces(true);
    expect(await client.assets.find('in Archive')).toHaveLength(1);
    expect(notices).toEqual([
      { kind: 'warning', message: expect.stringContaining('the service does not show the workspace of 1 asset') },
    ]);
  });

  it('find returns the assets of another workspace than the primary one to a client of that workspace', async () => {
    const { options, archive } = await openTwoWorkspaces(false);
    const client = openClient({ ...options, workspace: archive });
    expect(await client.assets.find('in Archive')).toMatchObject([{ name: 'in Archive' }]);
    expect(await client.assets.find('in Main')).toEqual([]);
    await expect(client.assets.find('/in Archive')).rejects.toMatchObject({ code: 'usage' });
  });

  it('find by path needs primaryWorkspace if the service does not show which workspace is the primary one', async () => {
    const { client, options, archive } = await openTwoWorkspaces(true);
    await expect(client.assets.find('/in Main')).rejects.toMatchObject({
      code: 'usage',
      message: expect.stringContaining('pass its uid as primaryWorkspace to createClient'),
    });
    const stated = openClient({ ...options, primaryWorkspace: options.workspace });
    expect(await stated.assets.find('/in Main')).toMatchObject([{ name: 'in Main' }]);
    const other = openClient({ ...options, workspace: archive, primaryWorkspace: options.workspace });
    await expect(other.assets.find('/in Archive')).rejects.toMatchObject({ code: 'usage' });
  });
});

/** Uploads a file of this content. @returns its path and the uid of the asset */
async function uploadNotes(client: Client, content = 'notes') {
  const path = join(temporaryFolder(), 'notes.md');
  writeFileSync(path, content);
  return { path, uid: (await client.upload(path)).uid };
}

describe('request', () => {
  it('request sends the query of a GET, and returns the status and the JSON of the response', async () => {
    const client = await openSandboxClient();
    for (const content of ['one', 'two']) await uploadNotes(client, content);
    const query = { search: 'notes', limit: 1, tag: undefined };
    expect(await client.request('get', '/assets/', { query })).toEqual({
      status: 200,
      json: expect.objectContaining({ count: 2, items: [expect.objectContaining({ name: 'notes.md' })] }),
    });
  });

  it('request sends a JSON body, and returns no JSON for a response without a body', async () => {
    const client = await openSandboxClient();
    const { uid } = await uploadNotes(client);
    const { status, json } = await client.request('PATCH', `/assets/${uid}/`, { json: { name: 'renamed' } });
    expect([status, json]).toEqual([200, expect.objectContaining({ uid, name: 'renamed' })]);
    expect(await client.assets.get(uid)).toMatchObject({ name: 'renamed' });
    expect(await client.request('DELETE', `/assets/${uid}/`)).toEqual({ status: 204, json: undefined });
  });

  it('request rejects with the status of a response that is not 2xx', async () => {
    const request = (await openSandboxClient()).request('GET', '/assets/00000000-0000-4000-8000-000000000000/');
    await expect(request).rejects.toMatchObject({ name: 'MediactlError', code: 'not_found', status: 404 });
  });

  it('request accepts a URL on the service, and rejects one on another service without connecting to it', async () => {
    let connections = 0;
    const other = await startServer((_request, response) => {
      connections++;
      respond(response, 200, {});
    });
    const baseUrl = await startServer((request, response) => respond(response, 200, { url: request.url }));
    const client = openClient({ baseUrl });
    expect(await client.request('GET', `${baseUrl}/api/external/v1/assets/?limit=1`)).toEqual({
      status: 200,
      json: { url: '/api/external/v1/assets/?limit=1' },
    });
    await expect(client.request('GET', `${other}/api/external/v1/assets/`)).rejects.toMatchObject({ code: 'usage' });
    expect(connections).toBe(0);
  });

  it('a change by request is neither in the history nor in the receipts', async () => {
    const { client, cli } = await openRecorded({ history: true });
    const { path, uid } = await uploadNotes(client);
    await client.request('PATCH', `/assets/${uid}/`, { json: { name: 'renamed' } });
    await client.request('DELETE', `/assets/${uid}/`);
    expect(await cli.json(['history'])).toEqual([]);
    expect(await client.upload(path)).toMatchObject({ uid, outcome: 'skipped' });
  });
});

describe('embed', () => {
  it('embed allows and disallows domains, restricts embedding, and returns the settings after each change', async () => {
    const { embed } = await openSandboxClient();
    expect(await embed.settings()).toEqual({ isRestricted: false, domains: [] });
    const domains = ['news.example.com', 'old.example.com'];
    expect(await embed.allow(['News.Example.com', 'old.example.com', 'old.example.com'])).toEqual({
      isRestricted: false,
      domains,
    });
    expect(await embed.restrict(true)).toEqual({ isRestricted: true, domains });
    expect(await embed.disallow(['OLD.example.com'])).toEqual({ isRestricted: true, domains: ['news.example.com'] });
    expect(await embed.restrict(false)).toEqual({ isRestricted: false, domains: ['news.example.com'] });
    expect(await embed.settings()).toEqual({ isRestricted: false, domains: ['news.example.com'] });
  });

  it.each(['https://news.example.com', 'news.example.com:8080', 'news.example.com/page', '192.0.2.1', 'two words', ''])(
    'embed.allow rejects %j with the code usage, and adds no domain of that call',
    async (domain) => {
      const { embed } = await openSandboxClient();
      await expect(embed.allow(['valid.example.com', domain])).rejects.toMatchObject({ code: 'usage' });
      expect(await embed.settings()).toEqual({ isRestricted: false, domains: [] });
    },
  );
});

describe('folders', () => {
  const missing = '00000000-0000-4000-8000-000000000000';

  /** Opens a client of a library with the folders /Campaigns, /Campaigns/2025, /Campaigns/2026 and /2026. */
  async function openFolders() {
    const { folders } = await openSandboxClient();
    const uids: Record<string, string> = {};
    for (const path of ['/Campaigns', '/Campaigns/2025', '/Campaigns/2026', '/2026'])
      uids[path] = (await folders.ensure(path)).uid;
    const paths = async () => (await folders.list()).map(({ path }) => path).sort();
    return { folders, uids, paths };
  }

  it.each(['path', 'uid'])('folders are renamed, moved and removed by %s', async (by) => {
    const { folders, uids, paths } = await openFolders();
    const { '/Campaigns': campaigns = '', '/Campaigns/2025': year = '' } = uids;
    const id = (path: string, uid: string) => (by === 'uid' ? uid.toUpperCase() : path);
    expect(await folders.rename(id('/Campaigns/2025', year), 'Old')).toEqual({
      ...{ uid: year, name: 'Old', path: '/Campaigns/Old', parent: campaigns },
    });
    expect(await folders.move(id('/Campaigns/Old', year), '/')).toEqual({
      ...{ uid: year, name: 'Old', path: '/Old', parent: null },
    });
    expect(await folders.move(id('/Campaigns', campaigns), id('/Old', year))).toEqual({
      ...{ uid: campaigns, name: 'Campaigns', path: '/Old/Campaigns', parent: year },
    });
    expect(await paths()).toEqual(['/2026', '/Old', '/Old/Campaigns', '/Old/Campaigns/2026']);
    expect(await folders.remove(id('/Old/Campaigns/2026', uids['/Campaigns/2026'] ?? ''))).toBeUndefined();
    expect(await paths()).toEqual(['/2026', '/Old', '/Old/Campaigns']);
  });

  it.each(['/Missing', missing])('rename, move and remove reject with not_found for the folder %s', async (folder) => {
    const { folders, paths } = await openFolders();
    const before = await paths();
    const notFound = { code: 'not_found' };
    await expect(folders.rename(folder, 'New')).rejects.toMatchObject(notFound);
    await expect(folders.move(folder, '/')).rejects.toMatchObject(notFound);
    await expect(folders.move('/2026', folder)).rejects.toMatchObject(notFound);
    await expect(folders.remove(folder)).rejects.toMatchObject(notFound);
    expect(await paths()).toEqual(before);
  });

  it('rename and move reject with already_exists if the parent has a folder of that name', async () => {
    const { folders, paths } = await openFolders();
    const before = await paths();
    const alreadyExists = { code: 'already_exists' };
    await expect(folders.rename('/Campaigns/2025', '2026')).rejects.toMatchObject(alreadyExists);
    await expect(folders.move('/Campaigns/2026', '/')).rejects.toMatchObject(alreadyExists);
    expect(await paths()).toEqual(before);
  });

  it('move rejects with usage if a folder would be inside itself', async () => {
    const { folders } = await openFolders();
    await expect(folders.move('/Campaigns', '/Campaigns/2025')).rejects.toMatchObject({ code: 'usage' });
  });
});

/** Opens a client with a state directory, and the command line of the same account and state directory. */
async function openRecorded(options: Partial<ClientOptions> = {}) {
  const sandbox = await startSandbox();
  onTestFinished(() => sandbox.end());
  const stateDir = join(temporaryFolder(), 'state');
  const client = openClient({ baseUrl: sandbox.url, apiKey: sandbox.key, stateDir, ...options });
  const cli = new Cli({
    ...{ MEDIACTL_BASE_URL: sandbox.url, MEDIACTL_API_KEY: sandbox.key, MEDIACTL_STATE_DIR: stateDir },
  });
  return { client, cli };
}

describe('history', () => {
  it.each([{}, { history: false }])('a client with the options %o records no change', async (options) => {
    const { client, cli } = await openRecorded(options);
    const { uid } = await uploadNotes(client);
    await client.assets.update(uid, { name: 'renamed' });
    expect(await client.assets.get(uid)).toMatchObject({ name: 'renamed' });
    expect(await cli.json(['history'])).toEqual([]);
  });

  it('the command line lists the changes of a client with history: true, and undo takes each back', async () => {
    const { client, cli } = await openRecorded({ history: true });
    const { uid } = await uploadNotes(client);
    const folder = await client.folders.ensure('/Inbox');
    await client.assets.update(uid, { name: 'renamed', addTags: ['sea'] });
    await client.assets.move(uid, '/Inbox');
    await client.folders.rename('/Inbox', 'Outbox');
    const changes = await cli.json(['history']);
    expect(changes).toMatchObject(
      ['rename /Inbox', 'move to /Inbox', 'update'].map((summary) => ({
        ...{ command: 'library', summary, state: 'finished', item_count: 1, done_count: 1, undone_by: null },
      })),
    );
    const [{ uid: listed, before, after }] = await cli.json(['history', changes[2].change_id]);
    expect([listed, before.name, after.name]).toEqual([uid, 'notes.md', 'renamed']);
    for (const { change_id } of changes) await cli.json(['undo', change_id, '--yes']);
    expect(await client.folders.list()).toEqual([folder]);
    expect(await client.assets.get(uid)).toMatchObject({ name: 'notes.md', tags: [] });
    for await (const { uid: atTopLevel } of client.assets.list({ folder: '/' })) expect(atTopLevel).toBe(uid);
  });

  it('createClient rejects history: true without a state directory with the code usage', () => {
    expect(() => openClient({ history: true })).toThrow(expect.objectContaining({ code: 'usage' }));
  });
});

describe.each([
  ['with', () => ({ stateDir: temporaryFolder() })],
  ['without', () => ({})],
])('a client %s a state directory', (_, options) => {
  it('uploads a file again after it moved the asset to the trash', async () => {
    const client = await openSandboxClient(options());
    const { path, uid } = await uploadNotes(client);
    expect(await client.upload(path)).toMatchObject({ uid, outcome: 'skipped' });
    await client.assets.trash(uid);
    const again = await client.upload(path);
    expect([again.outcome, again.uid === uid]).toEqual(['uploaded', false]);
  });

  it('skips a file in the folder that it moved the asset to', async () => {
    const client = await openSandboxClient(options());
    const { path, uid } = await uploadNotes(client);
    await client.folders.ensure('/Notes');
    await client.assets.move(uid, '/Notes');
    expect(await client.upload(path, { folder: '/Notes' })).toMatchObject({ uid, outcome: 'skipped' });
    expect(await client.upload(path)).toMatchObject({ outcome: 'uploaded' });
  });
});

it('a client has the outcome of a file that the command line found in the folder, with the same state folder', async () => {
  const service = await FakeService.start({ shows: ['size', 'parent'] });
  const cli = new Cli(service.environment);
  const path = join(temporaryFolder(), 'clip.bin');
  writeFileSync(path, 'clip');
  const [{ asset_uid }] = await cli.json(['upload', path]);
  const stateDir = temporaryFolder();
  await cli.json(['upload', path], { environment: { MEDIACTL_STATE_DIR: stateDir } });
  const client = openClient({ baseUrl: service.url, stateDir });
  expect(await client.upload(path)).toMatchObject({ uid: asset_uid, outcome: 'same_name_and_size', blake3: null });
});

describe('a client that is aborted or closed', () => {
  it('an aborted call does not wait for the lock that another client holds while it creates folders', async () => {
    const stateDir = temporaryFolder();
    const sandbox = await startSandbox();
    onTestFinished(() => sandbox.end());
    const options = { apiKey: sandbox.key, stateDir };
    let onHeld = () => {};
    const held = new Promise<void>((resolve) => {
      onHeld = resolve;
    });
    let release = () => {};
    const released = new Promise<void>((resolve) => {
      release = resolve;
    });
    const isCreation = ({ method, path }: ProxiedRequest) => method === 'POST' && path.includes('/folders/');
    const slow = await FaultProxy.start(sandbox.url, (seen) => {
      if (!isCreation(seen)) return undefined;
      onHeld();
      return { beforeResponse: () => released };
    });
    const holder = openClient({ ...options, baseUrl: slow.url });
    const holding = holder.folders.ensure('/Spring');
    await held;
    const abort = new AbortController();
    const waiting = openClient({ ...options, baseUrl: sandbox.url }).folders.ensure('/Summer', {
      signal: abort.signal,
    });
    setTimeout(() => abort.abort(new Error('of the caller')), 50);
    await expect(waiting).rejects.toThrow('of the caller');
    release();
    expect(await holding).toMatchObject({ path: '/Spring' });
  });

  it('the signal of the client ends its look-up of workspaces, whose waits are notices', async () => {
    const abort = new AbortController();
    const notices: Notice[] = [];
    const baseUrl = await startServer((_request, response) => respond(response, 429, {}, { 'retry-after': '30' }));
    const onNotice = (notice: Notice) => {
      notices.push(notice);
      abort.abort(new Error('of the caller'));
    };
    const client = openClient({ baseUrl, signal: abort.signal, onNotice });
    await expect(client.assets.find('clip.mp4')).rejects.toThrow('of the caller');
    expect(notices).toEqual([{ kind: 'rate_limited', untilMs: expect.any(Number) }]);
  });

  it('close waits until a change that was sent is recorded', async () => {
    const sandbox = await startSandbox();
    onTestFinished(() => sandbox.end());
    let onSent = () => {};
    const sent = new Promise<void>((resolve) => {
      onSent = resolve;
    });
    const proxy = await FaultProxy.start(sandbox.url, ({ method, path }) =>
      method === 'PATCH' && path.includes('/assets/') ? { beforeResponse: () => onSent() } : undefined,
    );
    const [stateDir, notices] = [temporaryFolder(), [] as Notice[]];
    const onNotice = (notice: Notice) => void notices.push(notice);
    const client = openClient({ baseUrl: proxy.url, apiKey: sandbox.key, stateDir, history: true, onNotice });
    const path = join(temporaryFolder(), 'notes.md');
    writeFileSync(path, 'notes');
    const { uid } = await client.upload(path);
    const updated = client.assets.update(uid, { name: 'Renamed' }).catch(() => {});
    await sent;
    await client.close();
    expect([notices, queryState(stateDir, 'SELECT state FROM change_items')]).toEqual([[], [{ state: 'done' }]]);
    await updated;
  });
});

it('upload and uploadDirectory compare files with the folder, so that what another machine uploaded is not sent again', async () => {
  const sandbox = await startSandbox();
  onTestFinished(() => sandbox.end());
  const options = { baseUrl: sandbox.url, apiKey: sandbox.key };
  const directory = temporaryFolder();
  for (const name of ['a.bin', 'b.bin']) writeFileSync(join(directory, name), pseudoRandomBytes(4_000));
  const other = openClient(options);
  const uids: string[] = [];
  for await (const { upload } of other.uploadDirectory(directory)) uids.push(upload?.uid ?? '');
  const client = openClient(options); // without receipts
  const found: unknown[] = [];
  for await (const { upload } of client.uploadDirectory(directory)) found.push([upload?.uid, upload?.outcome]);
  expect(found.toSorted()).toEqual(uids.map((uid) => [uid, 'same_name_and_size']).toSorted());
  const single = await openClient(options).upload(join(directory, 'a.bin'));
  expect([uids.includes(single.uid), single.outcome]).toEqual([true, 'same_name_and_size']);
  let count = 0;
  for await (const _ of client.assets.list({})) count++;
  expect(count).toBe(2);
});

it('uploadDirectory yields an error for a file whose name is not UTF-8', { tags: 'Linux' }, async () => {
  const client = await openSandboxClient();
  const directory = join(temporaryFolder(), 'files');
  mkdirSync(directory);
  writeFileSync(join(directory, 'a.bin'), 'data');
  writeFileSync(Buffer.concat([Buffer.from(`${directory}/caf`), Buffer.from([0xe9]), Buffer.from('.bin')]), 'data');
  const results: DirectoryResult[] = [];
  for await (const result of client.uploadDirectory(directory)) results.push(result);
  const outcomes = results.map(({ upload, error }) => upload?.outcome ?? error?.code);
  expect(outcomes.sort()).toEqual(['file_unusable', 'uploaded']);
});

it('download writes exactly the new version if a shorter one replaces the file during the download', async () => {
  const [longer, shorter] = [pseudoRandomBytes(300_000), pseudoRandomBytes(100_000, 'shorter')];
  let requests = 0;
  const baseUrl = await serveAsset({ type: 'document', blocked: false, url: 'HERE/media/a.pdf' }, (response) => {
    const [bytes, etag] = ++requests === 1 ? [longer, '"1"'] : [shorter, '"2"'];
    response.writeHead(200, { 'content-type': 'application/pdf', 'content-length': bytes.length, etag });
    if (requests > 1) response.end(bytes);
    else response.write(bytes.subarray(0, 200_000), () => setTimeout(() => response.destroy(), 50));
  });
  const client = openClient({ baseUrl, apiKey: testKey });
  const path = join(temporaryFolder(), 'paper.pdf');
  expect(await client.assets.download(assetUid, path)).toMatchObject({ sizeBytes: shorter.length });
  expect(readFileSync(path).equals(shorter)).toBe(true);
  expect(requests).toBe(2);
});

it('updateAll changes several assets as one change of the history, and fails for those that do not exist', async () => {
  const stateDir = temporaryFolder();
  const sandbox = await startSandbox();
  onTestFinished(() => sandbox.end());
  const client = openClient({ baseUrl: sandbox.url, apiKey: sandbox.key, stateDir, history: true });
  const uids: string[] = [];
  for (const name of ['a.txt', 'b.txt']) {
    const path = join(temporaryFolder(), name);
    writeFileSync(path, name);
    uids.push((await client.upload(path)).uid);
  }
  const results = await client.assets.updateAll(uids, { description: 'both' });
  expect(results.map(({ uid, asset }) => [uid, asset?.description])).toEqual(uids.map((uid) => [uid, 'both']));
  const cli = new Cli({ MEDIACTL_BASE_URL: sandbox.url, MEDIACTL_API_KEY: sandbox.key, MEDIACTL_STATE_DIR: stateDir });
  expect(await cli.json(['history'])).toMatchObject([{ command: 'library', summary: 'update 2 assets' }]);
  await expect(client.assets.updateAll([...uids, assetUid], { description: 'all' })).rejects.toMatchObject({
    code: 'not_found',
  });
});

it('updateAll changes no asset that is not as the records on which the change was decided, and the others', async () => {
  const client = await openSandboxClient();
  const uids: string[] = [];
  for (const name of ['a.txt', 'b.txt']) {
    const path = join(temporaryFolder(), name);
    writeFileSync(path, name);
    uids.push((await client.upload(path)).uid);
  }
  const planned = await Promise.all(uids.map((uid) => client.assets.get(uid)));
  await client.assets.update(uids[0] as string, { description: 'of another' });
  const results = await client.assets.updateAll(uids, { description: 'mine' }, { planned });
  expect(results.map(({ asset, error }) => error?.code ?? asset?.description)).toEqual(['changed_meanwhile', 'mine']);
  expect((await client.assets.get(uids[0] as string)).description).toBe('of another');
});

it('roots of an upload keep out a file that a link leads to, and one that is given by its path', async () => {
  const folder = temporaryFolder();
  mkdirSync(join(folder, 'inside'));
  writeFileSync(join(folder, 'outside.txt'), 'outside');
  writeFileSync(join(folder, 'inside/own.txt'), 'inside');
  symlinkSync('../outside.txt', join(folder, 'inside/link.txt'));
  const client = await openSandboxClient();
  const roots = [join(folder, 'inside')];
  const results: [string, string][] = [];
  for await (const { path, upload, error } of client.uploadDirectory(join(folder, 'inside'), { roots }))
    results.push([path.slice(folder.length), upload?.outcome ?? error?.code ?? '']);
  expect(results.sort()).toEqual([
    ['/inside/link.txt', 'outside_roots'],
    ['/inside/own.txt', 'uploaded'],
  ]);
  await expect(client.upload(join(folder, 'outside.txt'), { roots })).rejects.toMatchObject({ code: 'outside_roots' });
});

it('check reports what is missing on either side, what changed, and what is only known by name', async () => {
  const stateDir = temporaryFolder();
  const sandbox = await startSandbox({ strict: false });
  onTestFinished(() => sandbox.end());
  const client = openClient({ baseUrl: sandbox.url, apiKey: sandbox.key, stateDir });
  const other = openClient({ baseUrl: sandbox.url, apiKey: sandbox.key });
  const directory = temporaryFolder();
  const write = (name: string, content = name) => writeFileSync(join(directory, name), content);
  for (const name of ['same.txt', 'changed.txt', 'removed.txt']) write(name);
  for await (const { error } of client.uploadDirectory(directory, { folder: '/Checked' }))
    expect(error).toBeUndefined();
  write('changed.txt', 'something else');
  write('new.txt');
  write('named.txt');
  const { uid } = await other.upload(join(directory, 'named.txt'), { folder: '/Checked' });
  for await (const { error } of other.assets.wait([uid])) expect(error).toBeUndefined();
  rmSync(join(directory, 'removed.txt'));
  const { files, differences } = await client.check(directory, { folder: '/Checked' });
  expect(files).toBe(4);
  expect(differences.map(({ path, outcome }) => [outcome, path.split('/').at(-1)]).sort()).toEqual([
    ['changed', 'changed.txt'],
    ['missing_locally', 'removed.txt'],
    ['missing_remotely', 'new.txt'],
    ['unverified', 'named.txt'],
  ]);
  await expect(client.check(join(directory, 'new.txt'))).rejects.toMatchObject({ code: 'usage' });
  await expect(client.check(directory, { folder: '/Nowhere' })).rejects.toMatchObject({ code: 'not_found' });
});
