import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { type AccountLibrary, openAccountLibrary } from '../../src/cli/commands/page/account-library.ts';
import { CodedError } from '../../src/client/errors.ts';
import { type Client, createClient, type Notice } from '../../src/sdk/index.ts';
import { EventBroadcaster } from '../../src/web/browse/server/event-broadcaster.ts';
import { Cli } from '../support/cli.ts';
import { acceleratedClock } from '../support/clock.ts';
import { testKey } from '../support/fake-library.ts';
import { rawHttp } from '../support/raw-http.ts';
import { type RecordedRequest, startRecordingServer } from '../support/recording-server.ts';
import { startSandbox, type TestSandbox } from '../support/sandbox.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

/*
 * Each command that finds assets, where the service shows the workspaces, where it shows none, and where there is one.
 * The requests show which asset it reached.
 */

const uidOf = (digit: number) => `${String(digit).repeat(8)}-0000-4000-8000-000000000000`;
const [main, side, own, foreign] = [1, 2, 3, 4].map(uidOf) as [string, string, string, string];

type Cell = { workspaces: object[]; assets: object[] };

const createdAt = '2026-03-01T11:00:00.000Z';

const asset = (uid: string, fields: object = {}) => ({
  ...{ uid, name: 'clip.mp4', type: 'video', status: 'ready', size: 5, tags: ['sea'], parent: null },
  created_at: createdAt,
  ...fields,
});

const cells = {
  /** Both the workspaces and the records show what is where. */
  shown: {
    workspaces: [
      { uid: main, name: 'Main', is_primary: true },
      { uid: side, name: 'Side' },
    ],
    assets: [asset(own, { workspace_uid: main }), asset(foreign, { workspace_uid: side })],
  },
  /** Nothing shows what is where, and no workspace is chosen. */
  hidden: {
    workspaces: [
      { uid: main, name: 'Main' },
      { uid: side, name: 'Side' },
    ],
    assets: [asset(foreign)],
  },
  one: { workspaces: [{ uid: main, name: 'Main' }], assets: [asset(own)] },
} satisfies Record<string, Cell>;

async function startCell({ workspaces, assets: all }: Cell) {
  let assets = all;
  const { url, requests } = await startRecordingServer(({ method, path, query, body }) => {
    if (path.endsWith('/workspaces/')) return { body: { items: workspaces, count: workspaces.length } };
    if (path.endsWith('/folders/')) return { body: [] };
    if (path.endsWith('/player/')) return { body: { playback_token: 'token' } };
    if (path.endsWith('/playback/info/'))
      return { body: { type: 'video', streams: {}, source: { url: `${url}/file` }, source_url: `${url}/file` } };
    const found = assets.find(({ uid }: { uid?: string }) => path.endsWith(`/${uid}/`));
    if (method === 'DELETE') {
      assets = assets.filter((each) => each !== found);
      return { status: 204 };
    }
    if (found) return { body: { ...found, ...(method === 'PATCH' && (body as object)) } };
    if (!path.endsWith('/assets/') && !path.endsWith('/videos/')) return { status: 404, body: { error: {} } };
    const { search = '', parent, tag = 'sea', offset } = query;
    const isListed = ({ uid, name = '' }: { uid?: string; name?: string }) =>
      name.includes(search) && tag === 'sea' && (parent === undefined || uid === own);
    const listed = assets.filter(isListed);
    return { body: { items: offset === '0' ? listed : [], count: listed.length } };
  });
  return { url, requests, cli: new Cli({ MEDIACTL_API_KEY: testKey, MEDIACTL_BASE_URL: url }) };
}

/** Arguments of each command, and what it does: it changes assets, hands out a URL of one, or reads them. */
type VerbRow = { does: 'change' | 'share' | 'read'; args: string[] };

const rows: Record<string, VerbRow> = {
  ...Object.fromEntries(
    ['assets', 'videos'].flatMap((noun): [string, VerbRow][] => [
      [`${noun} get`, { does: 'read', args: ['clip.mp4'] }],
      [`${noun} player-data`, { does: 'share', args: ['clip.mp4'] }],
      [`${noun} thumb`, { does: 'read', args: ['clip.mp4', '-o', 'thumb.jpg'] }],
      [`${noun} wait`, { does: 'read', args: ['clip.mp4'] }],
      [`${noun} download`, { does: 'read', args: ['clip.mp4', '-o', 'clip.mp4'] }],
      [`${noun} rm`, { does: 'change', args: ['clip.mp4', '--yes'] }],
      [`${noun} update`, { does: 'change', args: ['clip.mp4', '--description', 'seen'] }],
    ]),
  ),
  'assets mv': { does: 'change', args: ['clip.mp4', '/'] },
  'assets tag': { does: 'change', args: ['--tag', 'sea', '--add', 'seen', '--yes'] },
  'assets rename': { does: 'change', args: ['clip.mp4', 'seen'] },
  play: { does: 'share', args: ['clip.mp4', '--url'] },
  'play clip.mp4': { does: 'share', args: ['clip.mp4', '--url'] }, // several
};

/** Commands with ids or filters that are tested elsewhere, or that find no asset. */
const others = ['assets apply', 'assets ls', 'videos ls', 'assets stats', 'assets export', 'browse', 'upload', 'sync'];

const reached = (requests: readonly RecordedRequest[], uid: string) =>
  requests.filter(({ path }) => path.includes(uid)).length;

/** Requests that change an asset, or hand out a URL of it. */
const effects = (requests: readonly RecordedRequest[]) =>
  requests.filter(({ method, path }) => /PATCH|DELETE/.test(method) || /\/player\//.test(path));

describe.each(Object.entries(rows))('%s', (command, { does, args }) => {
  const run = async (cell: Cell) => {
    const { cli, requests } = await startCell(cell);
    const result = await cli.run([...command.split(' '), ...args], { cwd: cli.home });
    return { ...result, requests };
  };

  it('reaches the asset of the workspace in use, and no other', async () => {
    const { requests, stderr } = await run(cells.shown);
    expect([reached(requests, own) > 0, reached(requests, foreign)], stderr).toEqual([true, 0]);
    expect(stderr).toMatch(/\d assets? of other workspaces left out/);
  });

  it('does not take an asset for one of the workspace in use where nothing shows it', async () => {
    const { requests, stderr, code } = await run(cells.hidden);
    // To move an asset, a workspace is needed in any case.
    if (command === 'assets mv') expect(stderr).toContain('error: no workspace');
    else expect(stderr).toMatch(/the service does not show the workspace of 1 asset[\s\S]*it may be Main, Side/);
    if (does === 'read') expect(reached(requests, foreign)).toBeGreaterThan(0);
    else expect([code, effects(requests)]).toEqual([2, []]);
  });

  it('says nothing of workspaces where there is one', async () => {
    const { requests, stderr } = await run(cells.one);
    expect(reached(requests, own), stderr).toBeGreaterThan(0);
    expect(stderr).not.toMatch(/workspace/);
  });
});

it('the table above has a row for each command that finds assets by name or filter', async () => {
  const { cli } = await startCell(cells.one);
  const commands: { path: string }[] = await cli.json(['commands']);
  const described = await Promise.all(
    commands.map(async ({ path }) => cli.json(['commands', ...path.split(' ').slice(1)])),
  );
  const finding = described
    .filter(({ options = [] }) =>
      options.some(({ flags }: { flags: string }) => /--(newest|any-workspace|tag <slug>|folder <folder>)/.test(flags)),
    )
    .map(({ path }) => path.replace(/^mediactl /, ''));
  const tested = new Set([...Object.keys(rows), ...others]);
  expect(finding.filter((command) => !tested.has(command))).toEqual([]);
  expect(finding.length).toBeGreaterThan(10);
});

describe.each([
  ['ls', ['ls', '--json']],
  ['videos ls', ['videos', 'ls', '--json']],
  ['ls of a search', ['search', 'clip', '-q']],
  ['export', ['export']],
  ['stats', ['stats', '--json']],
  ['wait without ids', ['wait', '--json']],
])('%s', (name, args) => {
  const listIn = async (cell: Cell) => {
    const { cli, requests } = await startCell(cell);
    await cli.run(['login', '--with-key'], { stdin: testKey });
    requests.length = 0;
    const ran = await cli.run(args);
    const others = requests.filter(({ path }) => !/\/(assets|videos|folders)\/$/.test(path));
    return {
      ...ran,
      others: others.map(({ path }) => path).filter((path) => !/export|stats/.test(name) || !/workspaces/.test(path)),
    };
  };

  it('leaves out what is known to be in another workspace, and says how much', async () => {
    const { code, stdout, stderr, others } = await listIn(cells.shown);
    expect([code, others, stdout.includes(foreign)]).toEqual([0, [], false]);
    if (!name.startsWith('wait')) expect(stderr).toMatch(/\d assets? of other workspaces left out/);
  });

  it('says that it has all workspaces where nothing shows what is where, and ends with 0', async () => {
    const { code, stderr, others } = await listIn(cells.hidden);
    expect([code, others], stderr).toEqual([0, []]);
    if (!name.startsWith('wait')) expect(stderr.match(/all workspaces/g)).toHaveLength(1);
  });

  it('says nothing of workspaces where there is one', async () => {
    const { code, stderr, others } = await listIn(cells.one);
    expect([code, others, stderr.includes('workspace')]).toEqual([0, [], false]);
  });
});

describe('ls --follow', () => {
  it.each([
    ['shown', [own], '1 asset of other workspaces left out\n'],
    ['hidden', [foreign], 'all workspaces\n'],
    ['one', [own], ''],
  ] as const)(
    'leaves out what is known to be elsewhere, and says so as other lists do, where it is %s',
    async (name, uids, words) => {
      const { cli, requests } = await startCell(cells[name]);
      await cli.run(['login', '--with-key'], { stdin: testKey });
      requests.length = 0;
      const stop = new AbortController();
      const { stdout, stderr } = await cli.run(['ls', '--follow', '--jsonl', '--since', '2026-01-01T00:00:00Z'], {
        clock: acceleratedClock({ speed: 300 }),
        signal: stop.signal,
        onStdout: (text) =>
          text.includes('"ready"') && stop.abort(new CodedError('interrupted', { code: 'interrupted' })),
      });
      const events = stdout.trim().split('\n');
      expect(new Set(events.map((line) => JSON.parse(line).asset.uid))).toEqual(new Set(uids));
      expect(stderr.replace(/^\{"error".*\n/m, '')).toBe(words);
      expect(requests.every(({ path }) => path.endsWith('/assets/'))).toBe(true);
    },
  );
});

describe('download by a filter, where nothing shows what is where', () => {
  it('exits with 2 before a request if it would replace a file', async () => {
    const { cli, requests } = await startCell(cells.hidden);
    const file = join(cli.home, 'clip.mp4');
    writeFileSync(file, 'of another account');
    const { code, stderr } = await cli.run(['download', '--tag', 'sea', '-d', cli.home, '--yes']);
    expect([code, stderr]).toEqual([2, expect.stringContaining('and 1 file would be replaced')]);
    expect([readFileSync(file, 'utf8'), effects(requests)]).toEqual(['of another account', []]);
  });

  it('asks nothing if the directory is new, and says that it takes all workspaces', async () => {
    const { cli, requests } = await startCell(cells.hidden);
    const { stderr } = await cli.run(['download', '--tag', 'sea', '-d', join(cli.home, 'new'), '--yes']);
    expect(stderr.match(/all workspaces/g)).toHaveLength(1);
    expect(reached(requests, foreign)).toBeGreaterThan(0);
  });
});

it('what one API key sees is not taken for what another one of the same service sees', async () => {
  const { cli, requests } = await startCell(cells.one);
  await cli.run(['login', '--with-key'], { stdin: testKey });
  requests.length = 0;
  const other = { environment: { MEDIACTL_API_KEY: `${testKey}-of-another-account` } };
  await cli.run(['get', 'clip.mp4'], other);
  expect(requests.filter(({ path }) => path.endsWith('/workspaces/'))).toHaveLength(1);
});

describe('requests for workspaces of a name, where there is one, after a login', () => {
  it.each([
    ['rm', ['rm', 'clip.mp4', '--yes'], 1],
    ['tag', ['tag', 'clip.mp4', '--add', 'seen'], 1],
    ['get', ['get', 'clip.mp4'], 0],
    ['share', ['share', 'clip.mp4'], 0],
  ])('%s sends as many as without this rule, and reads no asset for it', async (verb, args, count) => {
    const { cli, requests } = await startCell(cells.one);
    await cli.run(['login', '--with-key'], { stdin: testKey });
    requests.length = 0;
    const { stderr } = await cli.run(args);
    const paths = requests.map(({ path }) => path);
    expect(
      paths.filter((path) => path.endsWith('/workspaces/')),
      stderr,
    ).toHaveLength(count);
    if (verb === 'get' || verb === 'share') expect(paths.length).toBe(verb === 'get' ? 2 : 3);
  });
});

async function collect<T>(list: AsyncIterable<T>): Promise<T[]> {
  const all: T[] = [];
  for await (const each of list) all.push(each);
  return all;
}

type PackageCall = (client: Client, uid: string) => Promise<unknown>;

describe('the package', () => {
  /** Each function that takes an asset as it is named, and how it reaches it. */
  const named: Record<string, PackageCall> = {
    'assets.get': ({ assets }, uid) => assets.get(uid),
    'assets.update': ({ assets }, uid) => assets.update(uid, { name: 'seen' }),
    'assets.updateAll': ({ assets }, uid) => assets.updateAll([uid], { name: 'seen' }),
    'assets.trash': ({ assets }, uid) => assets.trash(uid),
    'assets.wait': ({ assets }, uid) => collect(assets.wait([uid])),
    'assets.playback': ({ assets }, uid) => assets.playback(uid),
    // The service of these tests has no files.
    'assets.download': ({ assets }, uid) =>
      expect(assets.download(uid, join(temporaryFolder(), 'file'))).rejects.toThrow('(404)'),
  };
  const tested = ['assets.find', 'assets.list', 'assets.follow', 'assets.move', 'downloadFolder'];
  /** Functions that find no asset of the library, or that are tested with folders and uploads. */
  const others = ['folders', 'workspaces', 'embed', 'request', 'upload', 'uploadDirectory', 'check', 'close'];

  const openIn = async (cell: Cell) => {
    const { url, requests } = await startCell(cell);
    const notices: string[] = [];
    const onNotice = (notice: Notice) => void notices.push('message' in notice ? notice.message : notice.kind);
    const client = createClient({ apiKey: testKey, baseUrl: url, stateDir: temporaryFolder(), onNotice });
    onTestFinished(() => client.close());
    return { client, requests, notices };
  };

  it('has a row for each function that finds or takes an asset', async () => {
    const { client } = await openIn(cells.one);
    const functions = Object.entries(client).flatMap(([name, value]) => {
      if (others.includes(name) || value === undefined) return [];
      return typeof value === 'function' ? name : Object.keys(value).map((each) => `${name}.${each}`);
    });
    expect(functions.toSorted()).toEqual([...Object.keys(named), ...tested].toSorted());
  });

  it.each(
    Object.entries(named).flatMap(([name, call]) =>
      (['shown', 'hidden', 'one'] as const).map((cell) => [name, cell, call] as const),
    ),
  )('%s takes a uid as named where the cell is %s, and reaches no other asset', async (_name, cell, call) => {
    const [uid, other] = cell === 'one' ? [own, foreign] : [foreign, own];
    const { client, requests } = await openIn(cells[cell]);
    await call(client, uid);
    expect([reached(requests, uid) > 0, reached(requests, other)]).toEqual([true, 0]);
    expect(requests.filter(({ path }) => path.endsWith('/workspaces/'))).toEqual([]);
  });

  it.each([
    ['shown', foreign, 0],
    ['shown', own, 1],
    ['hidden', foreign, 1],
    ['one', own, 1],
  ] as const)(
    'assets.move puts an asset of its own workspace only into a folder, where it is %s: %s',
    async (cell, uid, count) => {
      const { workspaces, assets } = cells[cell];
      const inFolder = assets.map((each) => ({ ...each, parent: uidOf(7) }));
      const { client, requests } = await openIn({ workspaces, assets: inFolder });
      await client.assets.find('clip.mp4'); // from here on, the client has seen the workspaces
      const moved = client.assets.move(uid, '/');
      if (count > 0) await moved;
      else await expect(moved).rejects.toThrow(`asset ${uid} is in another workspace than the folder`);
      expect(effects(requests)).toHaveLength(count);
    },
  );

  it.each(['shown', 'hidden', 'one'] as const)(
    'downloadFolder, where it is %s, reaches what the folder of the workspace in use lists, and no other asset',
    async (cell) => {
      const { client, requests } = await openIn(cells[cell]);
      const downloaded = collect(client.downloadFolder('/', join(temporaryFolder(), 'files')));
      if (cell === 'hidden') await expect(downloaded).rejects.toThrow('no workspace is primary');
      else await downloaded;
      expect([reached(requests, own) > 0, reached(requests, foreign)]).toEqual([cell !== 'hidden', 0]);
    },
  );

  it.each([
    ['shown', [own], 0],
    ['hidden', [foreign], 1],
    ['one', [own], 0],
  ] as const)(
    'find by name, where it is %s, returns what is not known to be elsewhere, and says so',
    async (name, uids, count) => {
      const { client, notices } = await openIn(cells[name]);
      expect((await client.assets.find('clip.mp4')).map(({ uid }) => uid)).toEqual(uids);
      expect(notices.filter((text) => text.includes('does not show the workspace'))).toHaveLength(count);
    },
  );

  it.each(['shown', 'hidden', 'one'] as const)(
    'list and follow, where it is %s, leave out what is known to be elsewhere, and send no request for workspaces',
    async (name) => {
      const { client, requests, notices } = await openIn(cells[name]);
      await client.assets.find('clip.mp4'); // from here on, the client has seen the workspaces
      const expected = [name === 'hidden' ? foreign : own];
      requests.length = 0;
      notices.length = 0;
      expect((await collect(client.assets.list())).map(({ uid }) => uid)).toEqual(expected);
      expect(notices.some((text) => text.includes('all workspaces'))).toBe(name === 'hidden');
      notices.length = 0;
      const followed: string[] = [];
      for await (const { asset } of client.assets.follow({}, { since: '2026-01-01T00:00:00Z' })) {
        followed.push(asset.uid);
        if (followed.length === 2) break; // new and ready
      }
      expect([...new Set(followed)]).toEqual(expected);
      expect(notices.some((text) => text.includes('all workspaces'))).toBe(name === 'hidden');
      expect(requests.every(({ path }) => path.endsWith('/assets/'))).toBe(true);
    },
  );
});

describe('the page', () => {
  type PageCall = (library: AccountLibrary, uid: string) => Promise<unknown>;

  /** Each call that changes assets which the page shows. */
  const changes: Record<string, PageCall> = {
    update: (library, uid) => library.update(uid, { name: 'seen' }),
    trash: (library, uid) => library.trash(uid),
    move: (library, uid) => library.move([uid], null),
  };
  /** Each call that reads an asset which the page shows, by its uid. */
  const reads: Record<string, PageCall> = {
    get: (library, uid) => library.get(uid),
    fetchPlayback: (library, uid) => library.fetchPlayback(uid),
    fetchLinks: (library, uid) => library.fetchLinks([uid]),
  };
  const tested = ['listAssets', 'keepOwn', 'resolveSelection'];
  /** Calls that find no asset, or take back a change of the page. */
  const others = [
    ...['undoMove', 'fetchFolders', 'fetchMedia', 'uploadFile', 'interrupted', 'resumeUpload'],
    ...['budget', 'toProblem', 'close'],
  ];

  const inPage = async <T>(cell: Cell, work: (library: AccountLibrary) => Promise<T>) => {
    const { cli, requests } = await startCell(cell);
    await cli.run(['login', '--with-key'], { stdin: testKey });
    requests.length = 0;
    const done = await cli.withContext(async (context) => {
      const options = { bytesPerSecond: undefined, anyWorkspace: false, pick: undefined };
      const library = await openAccountLibrary(context, new EventBroadcaster(), options);
      return work(library).catch((error: Error) => error.message);
    });
    return { done, requests };
  };

  it('has a row for each call that finds or changes an asset', async () => {
    const { done } = await inPage(cells.one, async (library) =>
      Object.entries(library).flatMap(([name, value]) => (typeof value === 'function' ? name : [])),
    );
    const rows = [...Object.keys(changes), ...Object.keys(reads), ...tested, ...others];
    expect((done as string[]).toSorted()).toEqual(rows.toSorted());
  });

  it.each(Object.entries(changes))(
    '%s changes only an asset that is known to be in the workspace in use',
    async (name, change) => {
      const attempt = async ({ workspaces, assets }: Cell, uid: string) => {
        const inFolder = assets.map((each) => ({ ...each, parent: main }));
        const { done, requests } = await inPage({ workspaces, assets: inFolder }, async (library) => {
          await change(library, uid);
          return 'done';
        });
        return [done, effects(requests).length];
      };
      const elsewhere =
        name === 'move' ? '1 asset of another workspace cannot be moved here' : 'this asset is in another workspace';
      expect(await attempt(cells.shown, foreign)).toEqual([elsewhere, 0]);
      const unknown = 'the service does not show the workspace of this asset';
      expect(await attempt(cells.hidden, foreign)).toEqual([unknown, 0]);
      for (const cell of [cells.shown, cells.one]) expect(await attempt(cell, own)).toEqual(['done', 1]);
    },
  );

  it.each(Object.entries(reads))('%s reads the asset that it names, and no other', async (_name, read) => {
    for (const [cell, uid, other] of [
      [cells.shown, own, foreign],
      [cells.hidden, foreign, own],
      [cells.one, own, foreign],
    ] as const) {
      const { requests } = await inPage(cell, (library) => read(library, uid));
      expect([reached(requests, uid) > 0, reached(requests, other)]).toEqual([true, 0]);
    }
  });

  it.each([
    ['shown', { uids: [own], isAll: false }],
    ['hidden', { uids: [foreign], isAll: true }],
    ['one', { uids: [own], isAll: false }],
  ] as const)(
    'the list and all that is selected of it, where it is %s, leave out what is known to be elsewhere, without a request for it',
    async (cell, expected) => {
      const { done, requests } = await inPage(cells[cell], async (library) => {
        const signal = new AbortController().signal;
        const { items, total } = await library.listAssets({}, 100, 0, { isBackground: false, signal });
        const { kept, isAll } = await library.keepOwn({}, items);
        const seen = { total: total ?? null, newest: createdAt, count: kept.length };
        const picked = await library.resolveSelection({ query: {}, except: [], seen });
        return { listed: kept.map(({ uid }) => uid), picked: picked.assets.map(({ uid }) => uid), isAll };
      });
      expect(done).toEqual({ listed: expected.uids, picked: expected.uids, isAll: expected.isAll });
      expect(requests.every(({ path }) => path.endsWith('/assets/'))).toBe(true);
    },
  );
});

describe('a strict sandbox with two workspaces, as it comes from login', () => {
  let sandbox: TestSandbox;
  let cli: Cli;
  const raw = rawHttp(() => sandbox);
  const uids: string[] = [];
  const names: string[] = [];
  beforeAll(async () => {
    sandbox = await startSandbox({ strict: true, rateLimit: { limit: 100_000, windowSeconds: 3600 } });
    const { items } = await (await raw.call('GET', '/workspaces/')).json();
    for (const { uid } of items) {
      const upload = { asset_name: `in ${uid}`, workspace_uid: uid };
      const { asset_uid } = await (await raw.createUploadOfSize(5, upload)).json();
      await raw.send('PATCH', `/assets/${asset_uid}/`, { tags: ['sea'] });
      uids.push(asset_uid);
      names.push(upload.asset_name);
    }
    cli = new Cli();
    const login = await cli.run(['login', '--base-url', sandbox.url, '--with-key'], { stdin: sandbox.key });
    expect(login.code).toBe(0);
  });
  afterAll(() => sandbox.end());

  const statuses = () => Promise.all(uids.map(async (uid) => (await raw.call('GET', `/assets/${uid}/`)).status));

  it.each([
    ['rm by a filter', () => ['rm', '--tag', 'sea', '--yes']],
    ['rm by a search', () => ['rm', '--search', 'in', '--yes']],
    ['tag by a filter', () => ['tag', '--tag', 'sea', '--add', 'seen', '--yes']],
    ['share of a name', () => ['share', names[0] as string]],
  ])('%s exits with 2 and changes nothing', async (_what, args) => {
    const { code, stderr } = await cli.run(args());
    expect([code, await statuses()], stderr).toEqual([2, [200, 200]]);
  });

  it('ls ends with 0, and lists all workspaces', async () => {
    const { code, stdout, stderr } = await cli.run(['ls', '--tag', 'sea', '-q']);
    expect([code, stdout.trim().split('\n').sort(), stderr]).toEqual([0, [...uids].sort(), 'all workspaces\n']);
  });

  it('a uid is taken as named', async () => {
    const [uid] = uids as [string];
    expect(await cli.run(['update', uid, '--description', 'seen', '-q'])).toMatchObject({ code: 0, stderr: '' });
  });
});
