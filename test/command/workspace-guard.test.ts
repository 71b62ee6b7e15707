import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { Cli } from '../support/cli.ts';
import { startServer } from '../support/http-server.ts';
import { rawHttp } from '../support/raw-http.ts';
import { startSandbox, type TestSandbox } from '../support/sandbox.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

/* A command changes assets of the workspace in use only, however it names them and however the workspace was set. */

let sandbox: TestSandbox;
let archive: string;
const { call, send, createUploadOfSize } = rawHttp(() => sandbox);

beforeAll(async () => {
  sandbox = await startSandbox({ strict: false, rateLimit: { limit: 100_000, windowSeconds: 3600 } });
  const { items } = await (await call('GET', '/workspaces/')).json();
  archive = items.find(({ name }: { name: string }) => name === 'Archive').uid;
  await send('POST', `/workspaces/${sandbox.workspace}/folders/`, { name: 'Inbox' });
});
afterAll(() => sandbox.end());

let cli: Cli;
let count = 0;
/** Name and tag of the assets of a test, one in each workspace. */
let word: string;
beforeEach(() => {
  cli = new Cli({ MEDIACTL_API_KEY: sandbox.key, MEDIACTL_BASE_URL: sandbox.url });
  word = `clip${++count}`;
});

const createAsset = async (workspace: string, name = word): Promise<string> => {
  const { asset_uid } = await (await createUploadOfSize(5, { asset_name: name, workspace_uid: workspace })).json();
  await send('PATCH', `/assets/${asset_uid}/`, { tags: [word] });
  return asset_uid;
};

type WorkspaceRecord = { uid: string; is_primary: boolean };

/** Starts a proxy that changes the list of workspaces. @returns its URL */
const proxyWorkspaces = (
  change: (workspaces: WorkspaceRecord[]) => object[],
  requests: string[] = [],
): Promise<string> =>
  startServer(async (request, response) => {
    requests.push(request.url ?? '');
    const bytes = Buffer.concat(await request.toArray());
    const answer = await fetch(sandbox.url + request.url, {
      method: request.method ?? 'GET',
      headers: { authorization: `Bearer ${sandbox.key}`, 'content-type': 'application/json' },
      ...(bytes.length > 0 && { body: bytes }),
    });
    const text = await answer.text();
    const body = text === '' ? undefined : JSON.parse(text);
    if (/\/workspaces\/(?:\?|$)/.test(request.url ?? '')) {
      body.items = change(body.items);
      body.count = body.items.length;
    }
    response.writeHead(answer.status, { 'content-type': 'application/json' });
    response.end(body === undefined ? '' : JSON.stringify(body));
  });

const read = async (uid: string) => {
  const response = await call('GET', `/assets/${uid}/`);
  return response.status === 404 ? 'in the trash' : JSON.stringify(await response.json());
};

/** Ways to set the workspace in use. Each returns the options of the command. */
const settings: Record<
  string,
  (workspace: string) => { args?: string[]; environment?: Record<string, string>; cwd?: string }
> = {
  'a flag': (workspace) => ({ args: ['--workspace', workspace] }),
  'a variable': (workspace) => ({ environment: { MEDIACTL_WORKSPACE: workspace } }),
  'a profile': (workspace) => {
    const profile = { baseUrl: sandbox.url, key: sandbox.key, keyStore: 'file', workspace };
    mkdirSync(join(cli.home, 'config'), { recursive: true, mode: 0o700 });
    const config = { current: 'default', profiles: { default: profile } };
    writeFileSync(join(cli.home, 'config/config.json'), JSON.stringify(config), { mode: 0o600 });
    return { environment: { MEDIACTL_API_KEY: '', MEDIACTL_BASE_URL: '' } };
  },
  'a project file': (workspace) => {
    const cwd = temporaryFolder();
    writeFileSync(join(cwd, '.mediactl.json'), JSON.stringify({ workspace }));
    return { cwd };
  },
};

/** Ways to name the assets. A folder and its globs are found in the primary workspace only. */
const selectors: Record<string, () => string[]> = {
  name: () => [word],
  path: () => [`/${word}`],
  glob: () => [`/${word}*`],
  filter: () => ['--tag', word],
};

type GuardedCommand = [command: string, selector: string, args: (selected: string[], table: string) => string[]];

const rows: GuardedCommand[] = [
  ...Object.keys(selectors).flatMap((selector): GuardedCommand[] => [
    ['rm', selector, (selected) => ['rm', ...selected]],
    ['tag', selector, (selected) => ['tag', ...selected, '--add', 'seen']],
    ['mv', selector, (selected) => ['mv', ...selected, '/Inbox', '--create-folders']],
  ]),
  ...['name', 'path', 'glob'].map((selector): GuardedCommand => {
    return ['update', selector, (selected) => ['update', ...selected, '--description', 'seen']];
  }),
  ...['name', 'path'].map(
    (selector): GuardedCommand => ['rename', selector, (selected) => ['rename', ...selected, 'seen']],
  ),
  ['apply', 'path', (_selected, table) => ['apply', table]],
];

describe.each(rows)('%s by %s', (_command, selector, argsOf) => {
  it.each(Object.keys(settings))('changes the asset of the workspace that %s sets, and no other', async (setting) => {
    for (const inUse of [sandbox.workspace, archive]) {
      word = `clip${++count}`;
      const other = inUse === archive ? sandbox.workspace : archive;
      const [own, foreign] = [await createAsset(inUse), await createAsset(other)];
      const before = [await read(own), await read(foreign)];
      const { args = [], cwd = temporaryFolder(), environment } = settings[setting]?.(inUse) ?? {};
      const table = join(cwd, 'table.csv');
      writeFileSync(table, `path,description\n/${word},seen\n`);
      const selected = selectors[selector]?.() ?? [];
      const { code, stderr } = await cli.run([...argsOf(selected, table), ...args, '--yes'], { cwd, environment });
      expect(await read(foreign), stderr).toBe(before[1]);
      const isChanged = (await read(own)) !== before[0];
      // A folder is found in the primary workspace only.
      const isFound = inUse === sandbox.workspace || selector === 'name' || selector === 'filter';
      expect([isChanged, code === 0], stderr).toEqual([isFound, isFound]);
    }
  });

  it('changes nothing if only another workspace has the asset', async () => {
    const foreign = await createAsset(archive);
    const before = await read(foreign);
    const table = join(temporaryFolder(), 'table.csv');
    writeFileSync(table, `path,description\n/${word},seen\n`);
    const args = argsOf(selectors[selector]?.() ?? [], table);
    await cli.run([...args, '--yes'], { environment: { MEDIACTL_WORKSPACE: sandbox.workspace } });
    expect(await read(foreign)).toBe(before);
  });
});

it('the table above has a row for each command that takes --any-workspace', async () => {
  const commands: { path: string }[] = await cli.json(['commands']);
  const described = await Promise.all(
    commands.map(async ({ path }) => cli.json(['commands', ...path.split(' ').slice(1)])),
  );
  const taking = described
    .filter(({ options = [] }) => options.some(({ flags }: { flags: string }) => flags.includes('--any-workspace')))
    .map(({ path }) => path.replace(/^mediactl (?:assets )?/, ''));
  const tested = new Set([...rows.map(([command]) => command), 'browse', 'videos rm', 'videos update']);
  expect(taking.filter((command) => !tested.has(command))).toEqual([]);
  expect(taking.length).toBeGreaterThan(5);
});

describe('the guard', () => {
  const inMain = () => ({ environment: { MEDIACTL_WORKSPACE: sandbox.workspace } });

  it('says how many assets of other workspaces a filter leaves out', async () => {
    await createAsset(sandbox.workspace);
    await createAsset(archive);
    const { code, stderr } = await cli.run(['rm', '--tag', word, '--yes'], inMain());
    expect([code, stderr]).toEqual([0, expect.stringContaining('1 asset of other workspaces left out')]);
  });

  it('takes a uid as named, in any workspace', async () => {
    const foreign = await createAsset(archive);
    expect(await cli.run(['rm', foreign, '--yes'], inMain())).toMatchObject({ code: 0 });
    expect(await read(foreign)).toBe('in the trash');
  });

  it('leaves the candidate of another workspace out of the choice between assets of one name', async () => {
    const [own, foreign] = [await createAsset(sandbox.workspace), await createAsset(archive)];
    expect(await cli.run(['rm', word, '--newest', '--yes'], inMain())).toMatchObject({ code: 0 });
    expect([await read(own), await read(foreign)]).toEqual(['in the trash', expect.stringContaining(foreign)]);
  });

  it('counts the limit of a change after it left out assets of other workspaces', async () => {
    for (let n = 0; n < 3; n++) await createAsset(archive);
    for (let n = 0; n < 2; n++) await createAsset(sandbox.workspace);
    const { code, stdout } = await cli.run(['rm', '--tag', word, '--max-changes', '2', '--yes', '-q'], inMain());
    expect([code, stdout.trim().split('\n').length]).toEqual([0, 2]);
  });

  it('get names the other workspace if only that has the name', async () => {
    await createAsset(archive);
    const { code, stderr } = await cli.run(['get', word], inMain());
    expect([code, stderr]).toEqual([3, expect.stringContaining('one of that name is in another workspace')]);
  });

  it('mv of a uid exits with 2 if the asset is in another workspace than the folder', async () => {
    const own = await createAsset(sandbox.workspace);
    const { code, stderr } = await cli.run(['mv', own, '/', '-w', archive]);
    expect([code, stderr]).toEqual([2, expect.stringContaining('is in another workspace than the folder')]);
  });

  it('reads no asset if the key can see one workspace only', async () => {
    const own = await createAsset(sandbox.workspace);
    const requests: string[] = [];
    const proxy = await proxyWorkspaces((all) => all.slice(0, 1), requests);
    const environment = { MEDIACTL_WORKSPACE: sandbox.workspace, MEDIACTL_BASE_URL: proxy };
    await cli.run(['rm', '--tag', word, '-n'], { environment });
    expect(requests.filter((path) => path.includes(own))).toEqual([]);
  });
});

describe('a service that shows only what the specification names', () => {
  let strict: TestSandbox;
  let uid: string;
  const raw = rawHttp(() => strict);
  beforeAll(async () => {
    strict = await startSandbox({ strict: true, rateLimit: { limit: 100_000, windowSeconds: 3600 } });
    await raw.send('POST', `/workspaces/${strict.workspace}/folders/`, { name: 'Inbox' });
  });
  afterAll(() => strict.end());
  beforeEach(async () => {
    cli = new Cli({
      MEDIACTL_API_KEY: strict.key,
      MEDIACTL_BASE_URL: strict.url,
      MEDIACTL_WORKSPACE: strict.workspace,
    });
    ({ asset_uid: uid } = await (await raw.createUploadOfSize(5, { asset_name: word })).json());
    await raw.send('PATCH', `/assets/${uid}/`, { tags: [word] });
  });
  const status = async () => (await raw.call('GET', `/assets/${uid}/`)).status;
  const primary = () => ({ environment: { MEDIACTL_PRIMARY_WORKSPACE: strict.workspace } });

  it.each([
    ['a name', () => [word]],
    ['a filter', () => ['--tag', word]],
  ])('rm by %s exits with 2 before any write in a script, unless --any-workspace is given', async (_way, selected) => {
    const refused = await cli.run(['rm', ...selected(), '--yes'], primary());
    expect([refused.code, refused.stderr]).toEqual([
      2,
      expect.stringContaining('the service does not show the workspace of 1 asset'),
    ]);
    expect(await status()).toBe(200);
    expect((await cli.run(['rm', ...selected(), '--yes', '--any-workspace'], primary())).code).toBe(0);
    expect(await status()).toBe(404);
  });

  it.each([
    ['a path', () => [`/${word}`]],
    ['a glob', () => [`/${word}*`]],
    ['a filter with a folder', () => ['--tag', word, '--folder', '/']],
  ])(
    'rm by %s needs no --any-workspace, since the list of a folder is of the primary workspace',
    async (_way, selected) => {
      expect(await cli.run(['rm', ...selected(), '--yes'], primary())).toMatchObject({ code: 0, stderr: '' });
      expect(await status()).toBe(404);
    },
  );

  it.each([
    ['no', 130, ''],
    ['yes', 0, 'seen'],
  ])('update on a terminal names the workspaces and asks; the answer %s ends with %i', async (answer, code, text) => {
    const { stderr, ...ran } = await cli.run(['update', word, '--description', 'seen'], {
      ...primary(),
      tty: true,
      stdin: `${answer}\n`,
    });
    const { description } = await (await raw.call('GET', `/assets/${uid}/`)).json();
    expect([ran.code, description], stderr).toEqual([code, text]);
    expect(stderr.replaceAll('\n', ' ')).toContain(`it may be ${strict.workspace}`);
  });

  it('rm of a uid asks nothing', async () => {
    expect((await cli.run(['rm', uid, '--yes'])).code).toBe(0);
    expect(await status()).toBe(404);
  });

  it('a path names the setting if the service does not show which workspace is primary', async () => {
    const { code, stderr } = await cli.run(['ls', '/Inbox']);
    expect([code, stderr]).toEqual([2, expect.stringContaining('is not known to be the primary one')]);
    expect(stderr).toContain(`export MEDIACTL_PRIMARY_WORKSPACE=${strict.workspace}`);
  });

  it.each([
    ['with', () => strict.workspace],
    ['without', () => ''],
  ])('paths work %s a workspace once the setting primary_workspace names the primary one', async (_with, workspace) => {
    const environment = { ...primary().environment, MEDIACTL_WORKSPACE: workspace() };
    for (const args of [
      ['ls', '/'],
      ['ls', '/Inbox'],
      ['get', `/${word}`],
      ['check', cli.home, '/Inbox'],
    ])
      expect((await cli.run(args, { environment })).code, args.join(' ')).not.toBe(2);
  });
});

describe('the primary workspace', () => {
  it.each(['is_primary', 'primary', 'is_default', 'default'])('is the one whose field %s is true', async (field) => {
    const proxy = await proxyWorkspaces((workspaces) =>
      workspaces.map(({ is_primary, ...rest }) => ({ ...rest, [field]: is_primary })),
    );
    const environment = { MEDIACTL_BASE_URL: proxy, MEDIACTL_WORKSPACE: sandbox.workspace };
    expect((await cli.run(['ls', '/Inbox'], { environment })).code).toBe(0);
  });

  it('is asked for again before a change, since another workspace can have become primary', async () => {
    const own = await createAsset(sandbox.workspace);
    const proxy = await proxyWorkspaces((workspaces) =>
      workspaces.map((each) => ({ ...each, is_primary: each.uid === archive })),
    );
    const profile = { baseUrl: proxy, key: sandbox.key, keyStore: 'file', workspace: sandbox.workspace };
    mkdirSync(join(cli.home, 'config'), { recursive: true, mode: 0o700 });
    const config = { current: 'default', profiles: { default: { ...profile, workspaceIsPrimary: true } } };
    writeFileSync(join(cli.home, 'config/config.json'), JSON.stringify(config), { mode: 0o600 });
    const { code, stderr } = await cli.run(['rm', `/${word}`, '--yes'], {
      environment: { MEDIACTL_API_KEY: '', MEDIACTL_BASE_URL: '' },
    });
    expect([code, stderr]).toEqual([2, expect.stringContaining('is not the primary one')]);
    expect(await read(own)).not.toBe('in the trash');
  });
});

describe('reads', () => {
  it.each([
    ['ls', ['ls'], { tty: true }],
    ['export', ['export'], {}],
    ['stats', ['stats'], {}],
  ])('%s says that it has all workspaces, and reads no asset for that', async (_name, args, options) => {
    await createAsset(archive);
    const requests: string[] = [];
    const proxy = await proxyWorkspaces((all) => all, requests);
    const environment = { MEDIACTL_BASE_URL: proxy, MEDIACTL_WORKSPACE: sandbox.workspace };
    const { stdout, stderr } = await cli.run(args, { ...options, environment });
    expect((stdout + stderr).match(/all workspaces/g)).toEqual(['all workspaces']);
    expect(requests.filter((path) => /\/assets\/[0-9a-f-]{36}\//.test(path))).toEqual([]);
  });
});

it('folders rm of a folder in a workspace that is not primary exits with 2 in a script, and does not suggest rm -r', async () => {
  const name = `Full${word}`;
  const { uid } = await (await send('POST', `/workspaces/${archive}/folders/`, { name })).json();
  await createUploadOfSize(5, { asset_name: word, workspace_uid: archive, parent_folder_uid: uid });
  const { code, stderr } = await cli.run(['folders', 'rm', `/${name}`, '--yes', '-w', 'Archive']);
  expect([code, stderr]).toEqual([2, expect.stringContaining(`error: cannot tell whether /${name} is empty`)]);
  expect(stderr).not.toContain('rm -r');
});
