import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { createClient } from '../../src/sdk/index.ts';
import { openClient } from '../../src/sdk/open-client.ts';
import { signIn } from '../support/browse.ts';
import { Cli } from '../support/cli.ts';
import { acceleratedClock } from '../support/clock.ts';
import { assetUid, FakeLibrary, folderUid, numberedUid, testKey, workspaceUid } from '../support/fake-library.ts';
import { type RecordedRequest, type StubResponse, startRecordingServer } from '../support/recording-server.ts';

/* A write that has to wait is not sent as it was planned: what others did during the wait is read first. */

const request: RecordedRequest = { method: 'GET', path: '', query: {}, headers: {}, body: null, bytes: Buffer.of() };
const second = '6a0e1c1b-7d3b-4b7e-9a51-2f2ed6b0a7c2';
const [other, third] = [numberedUid(99), numberedUid(97)];

type Setup = {
  library: FakeLibrary;
  cli: Cli;
  url: string;
  run: (...args: string[]) => Promise<{ code: number; stderr: string }>;
  /** Makes the next write wait, while the second person acts. */
  arm: () => void;
};

/** What the second person does while a write to a path waits. */
type Meanwhile = (library: FakeLibrary, path: string) => void;

/** Ways in which the service makes a request wait. */
const waits: Record<string, (now: number) => StubResponse> = {
  'a 429 with Retry-After': () => ({ status: 429, headers: { 'retry-after': '2' }, body: { error: {} } }),
  'a spent limit': (now) => ({
    status: 429,
    headers: {
      'x-ratelimit-limit': '1000',
      'x-ratelimit-remaining': '0',
      'x-ratelimit-reset': String(Math.ceil(now / 1000) + 2),
    },
    body: { error: {} },
  }),
};

const isWrite = ({ method, path }: RecordedRequest) => method !== 'GET' && !path.includes('/upload/');

/** @param waits returns true for a request that waits once the library is armed */
async function startLibrary(refusal: (now: number) => StubResponse, meanwhile: Meanwhile, waits = isWrite) {
  const asset = (uid: string, name: string) => ({ uid, name, description: 'at first', tags: ['first'] });
  const library = new FakeLibrary({
    assets: [asset(assetUid, 'Quay'), asset(second, 'Pier')],
    shows: ['parent', 'size', 'checksum_blake3'],
    parentFields: { inRequest: 'parent_uid', inResponse: 'parent_uid' },
  });
  library.folders.push({ uid: folderUid, name: 'Campaigns', parent: undefined });
  library.folders.push({ uid: other, name: 'Archive', parent: undefined });
  library.folders.push({ uid: third, name: 'Third', parent: undefined });
  let isArmed = false;
  const responder = (request: RecordedRequest) => {
    if (!isArmed || !waits(request)) return library.respond(request);
    isArmed = false;
    meanwhile(library, request.path);
    return refusal(Date.now());
  };
  const { url, requests } = await startRecordingServer(responder);
  const environment = { MEDIACTL_API_KEY: testKey, MEDIACTL_BASE_URL: url, MEDIACTL_WORKSPACE: workspaceUid };
  const cli = new Cli(environment);
  const arm = () => {
    isArmed = true;
  };
  const run = async (...args: string[]) => {
    const { code, stderr } = await cli.run([...args, '--yes', '--max-wait', '1h'], {
      clock: acceleratedClock({ speed: 20 }),
    });
    return { code, stderr };
  };
  const setup: Setup = { library, cli, url, arm, run };
  return { setup, requests };
}

const assetOf = ({ library }: Pick<Setup, 'library'>, uid = assetUid) => library.assets.get(uid);
const tagsOf = (setup: Setup, uid = assetUid) => [...((assetOf(setup, uid)?.fields.tags ?? []) as string[])].sort();

/** What the second person does, and what must be left of it afterwards. */
const tagged = (mine: string[] = ['mine']) => {
  const waiting: string[] = [];
  return {
    meanwhile: (library: FakeLibrary, path: string) => {
      const asset = [...library.assets.values()].find(({ uid }) => path.includes(uid));
      Object.assign(asset?.fields ?? {}, { tags: ['first', 'theirs'] });
      waiting.push(asset?.uid ?? '');
    },
    expectKept: (setup: Setup) => {
      expect(waiting.splice(0).map((uid) => tagsOf(setup, uid))).toEqual([['first', ...mine, 'theirs']]);
    },
  };
};
const renamed = {
  meanwhile: (library: FakeLibrary) => {
    const asset = library.assets.get(assetUid);
    if (asset) Object.assign(asset, { name: 'KEEP' });
    Object.assign(asset?.fields ?? {}, { name: 'KEEP' });
  },
  expectKept: (setup: Setup) => expect(assetOf(setup)).toMatchObject({ name: 'KEEP', isTrashed: false }),
};
/** The same with the asset whose write waits: of several that are written at once, any may be the first. */
const oneRenamed = () => {
  let waiting: string | undefined;
  return {
    meanwhile: (library: FakeLibrary, path: string) => {
      const asset = [...library.assets.values()].find(({ uid }) => path.includes(uid));
      waiting = asset?.uid;
      Object.assign(asset ?? {}, { name: 'KEEP' });
      Object.assign(asset?.fields ?? {}, { name: 'KEEP' });
    },
    expectKept: (setup: Setup) => expect(assetOf(setup, waiting)).toMatchObject({ name: 'KEEP', isTrashed: false }),
  };
};
const moved = {
  meanwhile: (library: FakeLibrary) => Object.assign(library.assets.get(assetUid) ?? {}, { folder: other }),
  expectKept: (setup: Setup) => expect(assetOf(setup)?.folder).toBe(other),
};
const described = {
  meanwhile: (library: FakeLibrary) =>
    Object.assign(library.assets.get(assetUid)?.fields ?? {}, { description: 'theirs' }),
  expectKept: (setup: Setup) => expect(assetOf(setup)?.fields.description).toBe('theirs'),
};
const folderRenamed = {
  meanwhile: (library: FakeLibrary) => Object.assign(library.folders[0] ?? {}, { name: 'KEEP' }),
  expectKept: ({ library }: Setup) => expect(library.folders.map(({ name }) => name)).toContain('KEEP'),
};
const folderMoved = {
  meanwhile: (library: FakeLibrary) => Object.assign(library.folders[0] ?? {}, { parent: third }),
  expectKept: ({ library }: Setup) => expect(library.folders.find(({ uid }) => uid === folderUid)?.parent).toBe(third),
};
const filled = {
  meanwhile: (library: FakeLibrary) => Object.assign(library.assets.get(assetUid) ?? {}, { folder: folderUid }),
  expectKept: ({ library }: Setup) => expect(library.folders.map(({ uid }) => uid)).toContain(folderUid),
};
const folderCreated = {
  meanwhile: (library: FakeLibrary) =>
    void library.folders.push({ uid: numberedUid(98), name: 'New', parent: undefined }),
  expectKept: ({ library }: Setup) => expect(library.folders.filter(({ name }) => name === 'New')).toHaveLength(1),
};

const domains = (library: FakeLibrary, domain?: string): string[] => {
  const method = domain === undefined ? 'GET' : 'POST';
  const path = `/api/external/v1/workspaces/${workspaceUid}/embed-domains/`;
  const { body } = library.respond({ ...request, method, path, body: { domain } });
  return (body as { domains: string[] }).domains;
};
const domainAdded = {
  meanwhile: (library: FakeLibrary) => void domains(library, 'theirs.example'),
  expectKept: ({ library }: Setup) => expect(domains(library)).toContain('theirs.example'),
};

type Way = {
  meanwhile: Meanwhile;
  expectKept: (setup: Setup) => void;
  /** Makes the change. @returns the exit code */
  act: (setup: Setup) => Promise<number>;
  code: number;
};

const command =
  (...args: string[]): Way['act'] =>
  async ({ arm, run }) => {
    arm();
    return (await run(...args)).code;
  };

async function applyNames(setup: Setup): Promise<number> {
  const table = join(setup.cli.home, 'table.csv');
  writeFileSync(table, `uid,name,tags\n${assetUid},Harbor,first;mine\n${second},Bridge,first;mine\n`);
  return command('apply', table)(setup);
}

async function undoTag(setup: Setup): Promise<number> {
  expect((await setup.run('tag', 'Quay', '--add', 'wrong')).code).toBe(0);
  return command('undo')(setup);
}

const page =
  (method: string, body?: object): Way['act'] =>
  async ({ cli, arm }) => {
    const stop = new AbortController();
    let onAddress = (_address: string) => {};
    const address = new Promise<string>((resolve) => {
      onAddress = resolve;
    });
    const served = cli.run(['browse', '--no-open', '--max-wait', '1h'], {
      signal: stop.signal,
      clock: acceleratedClock({ speed: 20 }),
      onStdout: (text) => text.includes('\n') && onAddress(text.trim()),
    });
    const { fetchPage } = await signIn(await address);
    arm();
    const headers = { 'content-type': 'application/json' };
    const { status } = await fetchPage(`assets/${assetUid}`, { method, headers, body: JSON.stringify(body) });
    stop.abort();
    await served;
    return status;
  };

const callPackage =
  (call: (client: ReturnType<typeof createClient>) => Promise<unknown>): Way['act'] =>
  async ({ cli, url, arm }) => {
    const stateDir = join(cli.home, 'package');
    const options = { baseUrl: url, apiKey: testKey, workspace: workspaceUid, stateDir, history: true };
    const client = openClient(options, { profile: 'library' }, acceleratedClock({ speed: 20 }));
    onTestFinished(() => client.close());
    arm();
    return call(client).then(
      () => 0,
      () => 6,
    );
  };

const uploadInto =
  (prepare: (directory: string) => void): Way['act'] =>
  async (setup) => {
    const directory = join(setup.cli.home, 'rushes');
    mkdirSync(directory);
    writeFileSync(join(directory, 'a.bin'), 'a');
    prepare(directory);
    return command('upload', directory, '/New', '--create-folders')(setup);
  };

const ways: Record<string, Way> = {
  'tag of one asset': { ...tagged(), act: command('tag', 'Quay', '--add', 'mine'), code: 0 },
  'tag of two assets': { ...tagged(), act: command('tag', assetUid, second, '--add', 'mine'), code: 0 },
  'update of a description': { ...described, act: command('update', 'Quay', '--description', 'mine'), code: 6 },
  rename: { ...renamed, act: command('rename', 'Quay', 'Mine'), code: 6 },
  mv: { ...moved, act: command('mv', 'Quay', '/Campaigns'), code: 6 },
  'mv into a folder that is renamed': { ...folderRenamed, act: command('mv', 'Quay', '/Campaigns'), code: 6 },
  rm: { ...renamed, act: command('rm', 'Quay'), code: 6 },
  'rm of two assets': { ...oneRenamed(), act: command('rm', 'Quay', 'Pier'), code: 11 },
  apply: { ...tagged(), act: applyNames, code: 0 },
  undo: { ...tagged([]), act: undoTag, code: 0 },
  'rename of a folder': { ...folderRenamed, act: command('rename', '/Campaigns', 'Mine'), code: 6 },
  'mv of a folder': { ...folderMoved, act: command('mv', '/Campaigns', '/Archive'), code: 6 },
  'rm of a folder': { ...filled, act: command('rm', '/Campaigns'), code: 6 },
  'folders create': { ...folderCreated, act: command('folders', 'create', '/New'), code: 6 },
  'upload into a new folder': { ...folderCreated, act: uploadInto(() => {}), code: 0 },
  'embed domains add': {
    ...domainAdded,
    act: command('embed', 'domains', 'add', 'mine.example'),
    code: 0,
  },
  'embed restrict': { ...domainAdded, act: command('embed', 'restrict'), code: 0 },
  'PATCH of the page: tags': {
    ...tagged(),
    act: page('PATCH', { tags: { add: ['mine'], remove: [] } }),
    code: 200,
  },
  'PATCH of the page: name': { ...renamed, act: page('PATCH', { name: 'Mine', from: { name: 'Quay' } }), code: 409 },
  'PATCH of the page: folder': { ...moved, act: page('PATCH', { folder: folderUid }), code: 409 },
  'DELETE of the page': { ...renamed, act: page('DELETE'), code: 409 },
  'update of the package': {
    ...tagged(),
    act: callPackage(({ assets }) => assets.update(assetUid, { addTags: ['mine'] })),
    code: 0,
  },
  'move of the package': { ...moved, act: callPackage(({ assets }) => assets.move(assetUid, folderUid)), code: 6 },
  'trash of the package': { ...renamed, act: callPackage(({ assets }) => assets.trash(assetUid)), code: 6 },
  'folders.rename of the package': {
    ...folderRenamed,
    act: callPackage(({ folders }) => folders.rename('/Campaigns', 'Mine')),
    code: 6,
  },
  'folders.ensure of the package': {
    ...folderCreated,
    act: callPackage(({ folders }) => folders.ensure('/New')),
    code: 0,
  },
};

describe.each(Object.entries(waits))('%s', (_, refusal) => {
  it.each(Object.entries(ways))('%s keeps what others did during the wait', async (_name, way) => {
    const { setup } = await startLibrary(refusal, way.meanwhile);
    expect(await way.act(setup)).toBe(way.code);
    way.expectKept(setup);
  });
});

it('a conflict and an undo that it stops name the command that shows the asset', async () => {
  const { setup } = await startLibrary(
    (now) => (waits['a 429 with Retry-After'] as (now: number) => StubResponse)(now),
    renamed.meanwhile,
  );
  const shows = expect.stringContaining(`mediactl get ${assetUid}, to see it now`);
  setup.arm();
  expect(await setup.run('rename', 'Quay', 'Mine')).toEqual({ code: 6, stderr: shows });
  expect((await setup.run('rename', 'KEEP', 'Mine')).code).toBe(0);
  Object.assign(assetOf(setup)?.fields ?? {}, { name: 'Other' });
  expect(await setup.run('undo')).toEqual({ code: 6, stderr: shows });
});

/* A wait between the read of an asset and its write: of a request that is neither. */
it.each<[string, Way, at: RegExp]>([
  ['rename of a name', { ...renamed, act: command('rename', 'Quay', 'Mine'), code: 6 }, /\/workspaces\/$/],
  [
    'updateAll of the package',
    {
      ...described,
      act: callPackage(({ assets }) => assets.updateAll([assetUid, second], { description: 'mine' })),
      code: 0,
    },
    new RegExp(`${second}/$`),
  ],
  [
    'move of the package',
    { ...moved, act: callPackage(({ assets }) => assets.move(assetUid, folderUid)), code: 6 },
    /\/folders\/$/,
  ],
  ['PATCH of the page: folder', { ...moved, act: page('PATCH', { folder: folderUid }), code: 409 }, /\/folders\/$/],
])('%s keeps what others did while a request before the write waits', async (_, way, at) => {
  let hasRead = false;
  const { setup } = await startLibrary(
    () => ({ status: 429, headers: { 'retry-after': '3' }, body: { error: {} } }),
    way.meanwhile,
    ({ path }) => {
      hasRead ||= path.endsWith(`/${assetUid}/`) || path.endsWith('/assets/');
      return hasRead && at.test(path);
    },
  );
  expect(await way.act(setup)).toBe(way.code);
  way.expectKept(setup);
});

describe('a service with entity tags', () => {
  /** Starts a service that compares If-Match. @param onRead called after each read of the asset, with its number */
  async function startService(onRead: (library: FakeLibrary, nth: number) => void, etagOf = textOf) {
    const library = new FakeLibrary({ assets: [{ uid: assetUid, name: 'Quay', tags: ['first'] }] });
    let reads = 0;
    const { url, requests } = await startRecordingServer((received) => {
      const { method, headers } = received;
      const wanted = headers['if-match'];
      if (wanted !== undefined && wanted !== textOf(library)) return { status: 412, body: { error: {} } };
      const response = { ...library.respond(received), headers: { etag: etagOf(library) } };
      if (method === 'GET') onRead(library, ++reads);
      return response;
    });
    const cli = new Cli({ MEDIACTL_API_KEY: testKey, MEDIACTL_BASE_URL: url, MEDIACTL_WORKSPACE: workspaceUid });
    const preconditions = () =>
      requests.filter(({ method }) => method === 'PATCH').map(({ headers }) => headers['if-match']);
    return { library, cli, preconditions };
  }
  const textOf = (library: FakeLibrary) => `"${JSON.stringify(library.tags).replaceAll('"', '')}"`;

  it('refuses a write of an older version, which is then read again', async () => {
    const { library, cli, preconditions } = await startService(({ assets }, nth) => {
      if (nth === 2) Object.assign(assets.get(assetUid)?.fields ?? {}, { tags: ['first', 'theirs'] });
    });
    expect((await cli.run(['tag', assetUid, '--add', 'mine'])).code).toBe(0);
    expect(library.tags).toEqual([['first', 'theirs', 'mine']]);
    expect(preconditions()).toEqual(['"[[first]]"', '"[[first,theirs]]"']);
  });

  it('gets no precondition that it has refused, since a gateway may have changed the tag', async () => {
    const { library, cli, preconditions } = await startService(
      () => {},
      (of) => textOf(of).replace(']"', ']-gzip"'),
    );
    expect((await cli.run(['tag', assetUid, '--add', 'mine'])).code).toBe(0);
    expect(library.tags).toEqual([['first', 'mine']]);
    expect(preconditions()).toEqual(['"[[first]]-gzip"', undefined]);
  });
});

it('edits of one asset that a client makes at once are all there', async () => {
  const { setup } = await startLibrary(
    () => ({}),
    () => {},
  );
  const client = createClient({ baseUrl: setup.url, apiKey: testKey, workspace: workspaceUid });
  onTestFinished(() => client.close());
  const tags = ['a', 'b', 'c', 'd'];
  await Promise.all(tags.map((tag) => client.assets.update(assetUid, { addTags: [tag] })));
  expect(tagsOf(setup)).toEqual([...tags, 'first']);
});

/* The page refuses a change of an asset that is no longer as the page shows it. */
it.each<[string, (library: FakeLibrary, path: string) => unknown, 'DELETE' | 'PATCH', object, number]>([
  ['moves to the trash what it still shows', () => {}, 'DELETE', {}, 200],
  ['keeps an asset that others have renamed', renamed.meanwhile, 'DELETE', {}, 409],
  ['keeps an asset that others have tagged', tagged().meanwhile, 'DELETE', {}, 409],
  ['keeps an asset that others have described', described.meanwhile, 'DELETE', {}, 409],
  ['keeps an asset that others have moved', moved.meanwhile, 'DELETE', {}, 409],
  ['moves an asset', () => {}, 'PATCH', { folder: folderUid }, 200],
  ['leaves an asset where others have moved it', moved.meanwhile, 'PATCH', { folder: folderUid }, 409],
  ['moves an asset that others have renamed', renamed.meanwhile, 'PATCH', { folder: folderUid }, 200],
])('the page %s', async (_, meanwhile, method, change, status) => {
  const { setup } = await startLibrary(
    () => ({}),
    () => {},
  );
  const from = { name: 'Quay', description: 'at first', tags: ['first'], folder: null };
  meanwhile(setup.library, assetUid);
  const act = page(method, { ...change, from });
  expect(await act({ ...setup, arm: () => {} })).toBe(status);
  expect(assetOf(setup)?.isTrashed).toBe(method === 'DELETE' && status === 200);
});

it('an upload that its own rate limiter makes wait creates no folder that others have created during the wait', async () => {
  const library = new FakeLibrary({ parentFields: { inRequest: 'parent_uid', inResponse: 'parent_uid' } });
  const clock = acceleratedClock({ speed: 20 });
  let reset: number | undefined;
  const startWait = () => {
    void clock.sleep(1_500).then(() => folderCreated.meanwhile(library));
    return Math.ceil(clock.now() / 1000) + 3;
  };
  const { url } = await startRecordingServer((received) => {
    const { headers, ...response } = library.respond(received);
    reset ??= startWait();
    const isSpent = clock.now() / 1000 <= reset;
    const rateLimit = {
      'x-ratelimit-limit': '1000',
      'x-ratelimit-remaining': isSpent ? '0' : '500',
      'x-ratelimit-reset': String(isSpent ? reset : reset + 3600),
    };
    return { ...response, headers: { ...headers, ...rateLimit } };
  });
  const cli = new Cli({ MEDIACTL_API_KEY: testKey, MEDIACTL_BASE_URL: url, MEDIACTL_WORKSPACE: workspaceUid });
  writeFileSync(join(cli.home, 'a.bin'), 'a');
  const args = ['upload', join(cli.home, 'a.bin'), '/New', '--create-folders', '--yes'];
  expect((await cli.run(args, { clock })).code).toBe(0);
  expect(library.folders.filter(({ name }) => name === 'New')).toHaveLength(1);
});
