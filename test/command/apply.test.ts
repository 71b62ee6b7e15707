import { copyFileSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { unguardCell } from '../../src/client/table/guard.ts';
import { Cli, type CliOptions } from '../support/cli.ts';
import { setUpCli } from '../support/cli-setup.ts';
import { stoppedClock } from '../support/clock.ts';
import { parseStrictCsv, writeCsv } from '../support/csv.ts';
import { errorInTable, errorOf } from '../support/errors.ts';
import { FaultProxy, respondWith } from '../support/fault-proxy.ts';
import { hostileNames } from '../support/hostile-names.ts';
import { rawHttp } from '../support/raw-http.ts';
import { anyWorkspace, forSandboxMode, isStrict, startSandbox } from '../support/sandbox.ts';
import { changeState } from '../support/state-database.ts';

const { setup, account } = setUpCli();
const { createUploadOfSize } = rawHttp(() => setup.sandbox);

/** Creates assets without bytes, with these names; each test lists its own by a tag. */
async function createAssets(tag: string, names: readonly string[]): Promise<string[]> {
  const uids: string[] = [];
  for (const asset_name of names) {
    const { asset_uid } = await (await createUploadOfSize(5, { asset_name: 'new' })).json();
    const fields = ['--set', `tags=${tag}`, '--name', asset_name, '--description', 'as exported'];
    expect((await setup.cli.run(['update', asset_uid, ...fields])).code).toBe(0);
    uids.push(asset_uid);
  }
  return uids;
}

const pathOf = (file: string) => join(setup.cli.home, file);
const exportTag = async (tag: string, file = 'table.csv') => {
  const { code, stderr } = await setup.cli.run(['export', '--tag', tag, '-o', pathOf(file)]);
  expect([code, stderr]).toEqual([0, expect.stringContaining('mediactl apply')]);
  return pathOf(file);
};
const readRows = (path: string) => parseStrictCsv(readFileSync(path, 'utf8'));
/** Changes cells of an exported table, given as row (from 1), column and text. */
const edit = (path: string, ...edits: [row: number, column: string, text: string][]) => {
  const rows = readRows(path);
  const [header = []] = rows;
  for (const [row, column, text] of edits) (rows[row] as string[])[header.indexOf(column)] = text;
  writeCsv(path, rows);
};
const apply = async (path: string, ...options: string[]) => {
  const result = await setup.cli.run(['apply', path, ...anyWorkspace, '--json', '--yes', ...options]);
  const changes: Record<string, unknown>[] = JSON.parse(result.stdout);
  return { ...result, changes, outcomes: changes.map(({ line, column, outcome }) => [line, column, outcome]) };
};
const get = async (uid: string) => (await setup.cli.json(['get', uid]))[0];

describe('export and apply', () => {
  it('apply of a table that was not edited needs no request and changes nothing', async () => {
    await createAssets('untouched', hostileNames);
    const path = await exportTag('untouched');
    const proxy = await FaultProxy.start(setup.sandbox.url);
    const environment = { MEDIACTL_BASE_URL: proxy.url };
    const { code, stdout, stderr } = await setup.cli.run(['apply', path, ...anyWorkspace], { environment });
    expect([code, stdout, stderr]).toEqual([0, '', `${hostileNames.length} rows: nothing to change\n`]);
    expect(proxy.requests).toEqual([]);
  });

  it('apply sets every hostile name, and the exported table then has it', async () => {
    const uids = await createAssets(
      'hostile',
      hostileNames.map((_, n) => `plain ${n}`),
    );
    const path = await exportTag('hostile');
    const rows = readRows(path);
    for (const [n, name] of hostileNames.entries()) (rows.find(([uid]) => uid === uids[n]) as string[])[1] = `'${name}`;
    writeCsv(path, rows);
    const { code, changes } = await apply(path);
    expect([code, changes.length]).toEqual([0, hostileNames.length]);
    const normalize = (name: string) => name.normalize('NFC');
    for (const [n, uid] of uids.entries()) expect((await get(uid)).name).toBe(normalize(hostileNames[n] as string));
    const again = readRows(await exportTag('hostile', 'again.csv'));
    const found = again.slice(1).map(([, name = '']) => unguardCell(name));
    expect(found.sort()).toEqual(hostileNames.map(normalize).sort());
  });

  it('apply sends a read and a write for each edited row, a second read for tags, and no request for the others', async () => {
    await createAssets('few', ['a', 'b', 'c', 'd', 'e', 'f']);
    const path = await exportTag('few');
    edit(path, [1, 'name', 'a2'], [3, 'tags', 'few x y'], [5, 'description', '-']);
    const proxy = await FaultProxy.start(setup.sandbox.url);
    const environment = { MEDIACTL_BASE_URL: proxy.url };
    const { code, stderr } = await setup.cli.run(['apply', path, ...anyWorkspace, '--yes'], {
      environment,
      clock: stoppedClock(),
    });
    expect([code, stderr]).toEqual([0, '6 rows: 3 cells to change in 3 assets; about 6 requests, after 3 to read\n']);
    const whose = forSandboxMode({ normal: [], strict: ['GET', 'GET'] });
    expect(proxy.methods.sort()).toEqual([...whose, 'GET', 'GET', 'GET', 'GET', 'PATCH', 'PATCH', 'PATCH']);
    const shown = await setup.cli.json(['ls', '--tag', 'few', '--all', '--sort', 'created_at']);
    expect(shown[0]).toMatchObject({ name: 'a2' });
    expect(shown[2].tags.map((tag: { slug?: string }) => tag.slug ?? tag).sort()).toEqual(['few', 'x', 'y']);
    expect(shown[4]).toMatchObject({ description: '' });
  });

  it('apply reads no asset again because another one of the table shares its lock', async () => {
    const names = Array.from({ length: 40 }, (_, n) => String(n)); // more than there are locks
    await createAssets('forty', names);
    const path = await exportTag('forty');
    edit(path, ...names.map((name, at): [number, string, string] => [at + 1, 'description', `of ${name}`]));
    const proxy = await FaultProxy.start(setup.sandbox.url);
    const environment = { MEDIACTL_BASE_URL: proxy.url };
    expect(
      (await setup.cli.run(['apply', path, ...anyWorkspace, '--yes'], { environment, clock: stoppedClock() })).code,
    ).toBe(0);
    const reads = proxy.requests.filter(({ method }) => method === 'GET').map((each) => each.path);
    expect(reads.length).toBe(new Set(reads).size);
    expect(proxy.methods.filter((method) => method === 'PATCH')).toHaveLength(40);
  });

  it('apply reports a conflict for a cell that was also changed in the library, and --mine or --theirs resolves it', async () => {
    const [one, two] = await createAssets('both', ['one', 'two']);
    const path = await exportTag('both');
    edit(path, [1, 'name', 'one of the table'], [1, 'description', 'of the table'], [2, 'description', 'of the table']);
    await setup.cli.run(['update', one as string, '--name', 'one of the library']);
    await setup.cli.run(['update', two as string, '--name', 'two of the library']);
    const first = await apply(path);
    expect(first.code).toBe(11);
    expect(first.outcomes).toEqual([
      [2, 'name', 'conflict'],
      [2, 'description', 'updated'],
      [3, 'description', 'updated'],
    ]);
    const again = await setup.cli.run(['apply', path, ...anyWorkspace, '--yes']);
    expect(again.stderr).toMatch(/try: +run the same command with --mine, .* or with --theirs/);
    expect(await get(one as string)).toMatchObject({ name: 'one of the library', description: 'of the table' });
    expect(await get(two as string)).toMatchObject({ name: 'two of the library', description: 'of the table' });
    expect(await apply(path, '--theirs')).toMatchObject({ code: 0, outcomes: [[2, 'name', 'kept']] });
    expect(await apply(path, '--mine')).toMatchObject({ code: 0, outcomes: [[2, 'name', 'updated']] });
    expect(await get(one as string)).toMatchObject({ name: 'one of the table' });
    expect(await apply(path)).toMatchObject({ code: 0, outcomes: [] });
  });

  it('apply of a cell that is edited a second time is no conflict with the first apply', async () => {
    const [uid] = await createAssets('twice', ['first']);
    const path = await exportTag('twice');
    for (const name of ['second', 'third']) {
      edit(path, [1, 'name', name]);
      expect(await apply(path)).toMatchObject({ code: 0, outcomes: [[2, 'name', 'updated']] });
    }
    await setup.cli.run(['update', uid as string, '--name', 'by someone else']);
    edit(path, [1, 'name', 'fourth']);
    expect(await apply(path)).toMatchObject({ code: 11, outcomes: [[2, 'name', 'conflict']] });
  });

  it.each([
    ['undo', 'with-undo'],
    ['history --resume', 'with-resume'],
  ])(
    'a tag that others added before %s is in conflict with the next apply, which does not remove it',
    async (between, tag) => {
      const [uid = ''] = await createAssets(tag, ['merged']);
      const path = await exportTag(tag);
      edit(path, [1, 'tags', `${tag} mine`]);
      expect(await apply(path)).toMatchObject({ code: 0 });
      if (between !== 'undo') {
        // As a kill before the write leaves it.
        await new Cli(account()).run(['tag', uid, '--set', tag]);
        changeState(pathOf('state'), "UPDATE change_items SET state = 'pending'");
        changeState(pathOf('state'), "UPDATE changes SET state = 'running'");
      }
      await new Cli(account()).run(['tag', uid, '--add', 'theirs']);
      const [{ change_id }] = await setup.cli.json(['history']);
      const args = between === 'undo' ? ['undo', change_id] : ['history', change_id, '--resume'];
      expect(await setup.cli.run([...args, '--yes'])).toMatchObject({ code: 0 });
      const { tags } = await get(uid);
      expect((await apply(path)).outcomes).toEqual([[2, 'tags', 'conflict']]);
      expect((await get(uid)).tags).toEqual(tags);
      expect(JSON.stringify(tags)).toContain('theirs');
    },
  );

  it('apply of a copied table does not revert what apply of the original changed', async () => {
    const [uid] = await createAssets('copies', ['exported']);
    const path = await exportTag('copies');
    const copy = pathOf('copy.csv');
    copyFileSync(path, copy);
    edit(path, [1, 'name', 'of the table']);
    edit(copy, [1, 'description', 'of the copy']);
    for (const each of [path, copy]) expect(await apply(each)).toMatchObject({ code: 0 });
    expect(await get(uid as string)).toMatchObject({ name: 'of the table', description: 'of the copy' });
  });

  it('apply of a cell that is edited back to its exported value writes it with --restore only', async () => {
    const [uid] = await createAssets('back', ['exported']);
    const path = await exportTag('back');
    edit(path, [1, 'name', 'edited']);
    expect(await apply(path)).toMatchObject({ code: 0, outcomes: [[2, 'name', 'updated']] });
    edit(path, [1, 'name', 'exported']);
    expect(await apply(path)).toMatchObject({ code: 11, outcomes: [[2, 'name', 'outdated']] });
    expect(await apply(path, '--theirs')).toMatchObject({ code: 0, outcomes: [[2, 'name', 'kept']] });
    expect(await get(uid as string)).toMatchObject({ name: 'edited' });
    expect(await apply(path, '--restore')).toMatchObject({ code: 0, outcomes: [[2, 'name', 'updated']] });
    expect(await get(uid as string)).toMatchObject({ name: 'exported' });
  });

  it('--restore says that others have changed the value meanwhile, and --restore --mine writes the exported one', async () => {
    const [uid] = await createAssets('colleague', ['exported']);
    const path = await exportTag('colleague');
    edit(path, [1, 'name', 'edited']);
    await apply(path);
    expect((await new Cli(account()).run(['rename', uid as string, 'of a colleague'])).code).toBe(0);
    edit(path, [1, 'name', 'exported']);
    expect(await apply(path)).toMatchObject({ code: 0, outcomes: [] });
    expect(await apply(path, '--restore')).toMatchObject({ code: 11, outcomes: [[2, 'name', 'conflict']] });
    expect(await apply(path, '--restore', '--theirs')).toMatchObject({ code: 0, outcomes: [[2, 'name', 'kept']] });
    expect(await get(uid as string)).toMatchObject({ name: 'of a colleague' });
    expect(await apply(path, '--restore', '--mine')).toMatchObject({ code: 0, outcomes: [[2, 'name', 'updated']] });
    expect(await get(uid as string)).toMatchObject({ name: 'exported' });
  });

  it('a second edit of a cell is no conflict if the response to the first write was lost', async () => {
    const [uid] = await createAssets('lost', ['exported']);
    const path = await exportTag('lost');
    edit(path, [1, 'name', 'first']);
    const proxy = await FaultProxy.start(setup.sandbox.url, ({ method }) =>
      method === 'PATCH' ? { dropResponse: true } : undefined,
    );
    const environment = { MEDIACTL_BASE_URL: proxy.url };
    expect((await setup.cli.run(['apply', path, ...anyWorkspace, '--yes'], { environment })).code).not.toBe(0);
    expect(await get(uid as string)).toMatchObject({ name: 'first' });
    edit(path, [1, 'name', 'second']);
    expect(await apply(path)).toMatchObject({ code: 0, outcomes: [[2, 'name', 'updated']] });
  });

  it('apply changes no unedited row, even if its values begin with white space', async () => {
    const uids = await createAssets('unedited', ['a', 'b', 'c']);
    const descriptions = ['\n- ', ' - ', "\n'tis the season"];
    for (const [n, description] of descriptions.entries())
      await rawHttp(() => setup.sandbox).send('PATCH', `/assets/${uids[n]}/`, { description });
    const path = await exportTag('unedited');
    expect(await apply(path)).toMatchObject({ code: 0, outcomes: [] });
  });

  it('apply names a row that the service refuses to read, and applies the others', async () => {
    const [refused, other] = await createAssets('refusal', ['refused', 'other']);
    const path = await exportTag('refusal');
    edit(path, [1, 'name', 'x'], [2, 'name', 'changed']);
    const proxy = await FaultProxy.start(setup.sandbox.url, ({ method, path: url }) =>
      method === 'GET' && url.includes(refused as string) ? respondWith(422, { error: {} }) : undefined,
    );
    const environment = { MEDIACTL_BASE_URL: proxy.url };
    const { code, stdout } = await setup.cli.run(['apply', path, ...anyWorkspace, '--yes', '--json'], { environment });
    const outcomes = JSON.parse(stdout).map(({ line, outcome }: { line: number; outcome: string }) => [line, outcome]);
    expect([code, outcomes]).toEqual([
      11,
      [
        [2, 'invalid'],
        [3, 'updated'],
      ],
    ]);
    expect(await get(other as string)).toMatchObject({ name: 'changed' });
  });

  it('apply --report to a file that cannot be written fails before it changes anything', async () => {
    const [uid] = await createAssets('unreported', ['exported']);
    const path = await exportTag('unreported');
    edit(path, [1, 'name', 'edited']);
    for (const report of [pathOf('missing/report.csv'), path]) {
      const args = ['apply', path, ...anyWorkspace, '--yes', '--report', report];
      expect(await setup.cli.run(args)).toMatchObject({ code: 2, stderr: expect.stringContaining('--report') });
    }
    expect(await get(uid as string)).toMatchObject({ name: 'exported' });
  });

  it('apply reports rows whose asset does not exist, rows without a uid and invalid rows, and applies the others', async () => {
    const [gone, kept] = await createAssets('rows', ['gone', 'kept', 'tagged', 'cleared']);
    const path = await exportTag('rows');
    edit(path, [1, 'name', 'x'], [2, 'name', 'kept 2'], [3, 'tags', 'no/slug'], [4, 'name', '-']);
    const rows = readRows(path);
    const copy = [...(rows[4] as string[])];
    const [newRow, invalid] = [(rows[1] ?? []).map((_, at) => (at === 1 ? 'new' : '')), (rows[1] ?? []).with(0, '12')];
    const damaged = rows[2]?.with(-1, 'v1.a.b') as string[];
    writeCsv(path, [...rows, copy, newRow, invalid, damaged]);
    await setup.cli.run(['rm', gone as string, '--yes']);
    const { code, changes, stderr } = await apply(path);
    expect([code, errorOf({ code, stderr })]).toEqual([11, { ...errorInTable('partial_failure') }]);
    expect(changes.map(({ line, outcome }) => [line, outcome])).toEqual(
      expect.arrayContaining([
        [2, 'not_found'],
        [3, 'updated'],
        [4, 'invalid'],
        [5, 'invalid'],
        [6, 'invalid'], // the same asset as line 5
        [7, 'skipped'],
        [8, 'invalid'], // not a uid
        [9, 'invalid'], // damaged hashes in the column `was`
      ]),
    );
    expect(await get(kept as string)).toMatchObject({ name: 'kept 2' });
  });

  it('apply refuses a cell that a spreadsheet seems to have reformatted', async () => {
    const [uid] = await createAssets('reformatted', ['007', 'Gdańsk']);
    const path = await exportTag('reformatted');
    edit(path, [1, 'name', '7'], [2, 'name', 'Gda?sk']);
    const { code, outcomes } = await apply(path);
    expect([code, outcomes]).toEqual([
      11,
      [
        [2, 'name', 'refused'],
        [3, 'name', 'refused'],
      ],
    ]);
    expect(await get(uid as string)).toMatchObject({ name: '007' });
  });

  it('apply without a terminal and --yes exits with 2, and --dry-run shows the changes with exit code 0', async () => {
    const [uid] = await createAssets('asked', ['asked']);
    const path = await exportTag('asked');
    edit(path, [1, 'name', 'not asked']);
    expect(await setup.cli.run(['apply', path, ...anyWorkspace])).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('--yes'),
    });
    expect(await apply(path, '--dry-run')).toMatchObject({ code: 0, outcomes: [[2, 'name', 'planned']] });
    const declined = await setup.cli.run(['apply', path, ...anyWorkspace], {
      tty: true,
      stdin: 'n\n',
    } satisfies CliOptions);
    expect(declined).toMatchObject({ code: 130, stderr: expect.stringContaining('name: asked → not asked') });
    expect(await get(uid as string)).toMatchObject({ name: 'asked' });
  });

  it('apply --dry-run exits with 11 and names the cells that apply would refuse', async () => {
    const [uid] = await createAssets('preview', ['preview']);
    const path = await exportTag('preview');
    edit(path, [1, 'name', 'new'], [1, 'tags', 'no/slug']);
    const { code, stderr } = await setup.cli.run(['apply', path, ...anyWorkspace, '--dry-run']);
    expect([code, stderr]).toEqual([11, expect.stringContaining('1 of 2 cells would not be changed')]);
    expect(await get(uid as string)).toMatchObject({ name: 'preview' });
  });

  it('apply --report writes the result of each cell as a table', async () => {
    await createAssets('report', ['=1+1', 'b']);
    const path = await exportTag('report');
    edit(path, [1, 'name', 'a'], [2, 'tags', 'no/slug']);
    await apply(path, '--report', pathOf('report.csv'));
    const [header, one, two] = readRows(pathOf('report.csv'));
    expect(header).toEqual(['line', 'uid', 'name', 'column', 'before', 'after', 'outcome', 'reason']);
    expect(one?.slice(2, 7)).toEqual(["'=1+1", 'name', "'=1+1", 'a', 'updated']);
    expect(two?.slice(3, 7)).toEqual(['tags', 'report', 'no/slug', 'invalid']);
  });

  it.skipIf(isStrict)(
    'apply moves assets by the path of a folder, and creates folders with --create-folders',
    async () => {
      const [uid] = await createAssets('moved', ['moved']);
      await setup.cli.run(['folders', 'create', '/Here']);
      const path = await exportTag('moved');
      edit(path, [1, 'folder', '/Here/New']);
      expect(await apply(path)).toMatchObject({ code: 11, outcomes: [[2, 'folder', 'invalid']] });
      edit(path, [1, 'folder', '/here']);
      expect((await setup.cli.run(['apply', path, ...anyWorkspace, '--yes'])).stdout).toContain('did you mean /Here?');
      edit(path, [1, 'folder', '/Here/../There']);
      expect(await apply(path, '--create-folders')).toMatchObject({ outcomes: [[2, 'folder', 'invalid']] });
      edit(path, [1, 'folder', '/Here/New']);
      expect(await apply(path, '--create-folders')).toMatchObject({ code: 0, outcomes: [[2, 'folder', 'updated']] });
      expect((await setup.cli.json(['ls', '/Here/New']))[0].uid).toBe(uid);
      edit(path, [1, 'folder', '/']);
      expect(await apply(path, '--restore')).toMatchObject({ code: 0, outcomes: [[2, 'folder', 'updated']] });
      expect((await get(uid as string)).parent).toBeNull();
    },
  );

  it('export FILE writes the file, also after words and filters, and apply reads it', async () => {
    await createAssets('file-word', ['Meadow one', 'Meadow two', 'Hill']);
    for (const [file, words] of [
      ['library.csv', []],
      ['meadow.tsv', ['Meadow']],
    ] as const) {
      const args = ['export', ...words, relative('.', pathOf(file)), '--tag', 'file-word'];
      expect(await setup.cli.run(args)).toMatchObject({ code: 0, stdout: '' });
    }
    expect(readRows(pathOf('library.csv'))).toHaveLength(4);
    expect(readFileSync(pathOf('meadow.tsv'), 'utf8').trim().split('\n')).toHaveLength(3);
    expect(await apply(pathOf('library.csv'))).toMatchObject({ code: 0, outcomes: [] });
  });

  it('export says what it has searched for if nothing is found, and proposes -o for an absolute path', {
    tags: 'undocumented-fields',
  }, async () => {
    const searched = await setup.cli.run(['export', 'no-such-word']);
    expect(searched).toMatchObject({ code: 0, stderr: expect.stringContaining('no assets with "no-such-word" in') });
    const path = pathOf('library.csv');
    expect(await setup.cli.run(['export', path])).toMatchObject({
      code: 3,
      stderr: expect.stringContaining(`-o ${path}`),
    });
  });

  it('export with the format tsv or jsonl prints a table, and apply reads both', async () => {
    const [uid] = await createAssets('formats', ["'Round Midnight"]);
    for (const format of ['tsv', 'jsonl']) {
      const { stdout } = await setup.cli.run(['export', '--tag', 'formats', '--format', format]);
      const edited = stdout.replace('as exported', format).replace('"description":"tsv"', '"description":"jsonl"');
      const path = pathOf(`table.${format}`);
      writeFileSync(path, format === 'jsonl' ? stdout.replace(/"description":"[^"]*"/, '"description":""') : edited);
      expect(await apply(path)).toMatchObject({ code: 0, outcomes: [[expect.any(Number), 'description', 'updated']] });
    }
    expect(await get(uid as string)).toMatchObject({ name: "'Round Midnight", description: '' });
  });

  it.each([
    [['export', '-o', 'library.xlsx'], 'use a name that ends with .csv'],
    [['export', 'library.xlsx'], 'use a name that ends with .csv'],
    [['export', 'a.csv', 'b.tsv'], 'name one file to write'],
    [['export', 'a.csv', '-o', 'b.csv'], 'name one file to write'],
    [['export', '--fields', 'name,size'], '--csv --fields'],
    [['export', 'a.csv', '--jq', '.'], '--csv --fields'],
    [['apply', '-', '--mine', '--theirs'], 'use one of them'],
    [['update', '--manifest', 'a.csv'], 'mediactl apply FILE'],
  ])('mediactl %j exits with 2 and prints a hint', async (args, hint) => {
    expect(await setup.cli.run(args)).toMatchObject({ code: 2, stderr: expect.stringContaining(hint) });
  });

  it.each([
    ['name\na\n', 'the table has no column uid or path'],
    ['uid,colour\na,b\n', 'the table has no column that can be changed'],
  ])('apply of the table %j exits with 2', async (stdin, message) => {
    expect(await setup.cli.run(['apply', '-'], { stdin })).toMatchObject({
      code: 2,
      stderr: expect.stringContaining(message),
    });
  });
});

it('apply and undo of a service whose records do not show folders find the folder by listing each', async () => {
  const sandbox = await startSandbox({ seed: 3, strict: true });
  onTestFinished(() => sandbox.end());
  const profile = { baseUrl: sandbox.url, key: sandbox.key, keyStore: 'file', workspace: sandbox.workspace };
  const writeProfile = (isPrimary: boolean) => {
    const profiles = { main: { ...profile, workspaceIsPrimary: isPrimary } };
    mkdirSync(pathOf('config'), { recursive: true, mode: 0o700 });
    writeFileSync(pathOf('config/config.json'), JSON.stringify({ current: 'main', profiles }), { mode: 0o600 });
  };
  const environment = { MEDIACTL_API_KEY: undefined, MEDIACTL_BASE_URL: undefined, MEDIACTL_WORKSPACE: undefined };
  const run = (...args: string[]) => setup.cli.run([...args, '--yes'], { environment });
  const path = pathOf('strict.csv');
  writeProfile(false);
  const unknown = await run('export', '-o', path);
  expect([unknown.code, unknown.stderr]).toEqual([0, expect.stringContaining('the folders of assets are not known')]);
  writeProfile(true);
  await run('export', '-o', path);
  edit(path, [1, 'folder', '/Press']);
  expect(await run('apply', path)).toMatchObject({
    code: 0,
    stderr: expect.stringContaining('1 cell to change in 1 asset'),
    stdout: expect.stringContaining('\tupdated'),
  });
  expect(await run('apply', path)).toMatchObject({ code: 0, stderr: '3 rows: 1 already as in the table\n' });
  const count = async () => JSON.parse((await run('ls', '/Press', '--all', '--json')).stdout).length;
  const after = await count();
  expect(await run('undo')).toMatchObject({ code: 0 });
  expect(await count()).toBe(after - 1);
});

describe('apply of a table without the column was', () => {
  it('apply reads apostrophes, hyphens and hostile names literally, and leaves empty cells', async () => {
    const names = hostileNames.filter((name) => !/\s$|\n/.test(name));
    const uids = await createAssets(
      'literal',
      names.map((_, n) => `plain ${n}`),
    );
    const path = pathOf('names.csv');
    writeCsv(
      path,
      [['UID', 'name', 'description', 'colour'], ...uids.map((uid, n) => [uid, names[n] as string, '', 'red'])],
      ';',
    );
    const { code, stderr, changes } = await apply(path);
    expect([code, changes.length]).toEqual([0, names.length]);
    expect(stderr).toContain('columns that are ignored: colour');
    for (const [n, uid] of uids.entries())
      expect(await get(uid)).toMatchObject({ name: (names[n] as string).normalize('NFC'), description: 'as exported' });
    expect(await apply(path)).toMatchObject({ code: 0, changes: [] });
  });

  it('apply --clear-with names the text that clears a value', async () => {
    const [one, two] = await createAssets('clear', ['one', 'two']);
    const path = pathOf('clear.csv');
    writeCsv(path, [
      ['uid', 'description', 'tags'],
      [one as string, 'NONE', 'NONE'],
      [two as string, '-', ''],
    ]);
    expect(await apply(path, '--clear-with', 'NONE')).toMatchObject({ code: 0 });
    const { tags, description } = await get(one as string);
    expect([tags, description]).toEqual([[], '']);
    expect(await get(two as string)).toMatchObject({ description: '-' });
  });

  it('apply reads JSON lines as ls --jsonl prints them, also tags that are objects', async () => {
    const [uid] = await createAssets('objects', ['a']);
    const line = { uid, name: 'b', tags: [{ uid, slug: 'objects', name: 'Objects' }] };
    const { code, stdout } = await setup.cli.run(['apply', '-', ...anyWorkspace, '--yes', '--json'], {
      stdin: JSON.stringify(line),
    });
    expect([code, JSON.parse(stdout).map(({ column }: { column: string }) => column)]).toEqual([0, ['name']]);
    const wrong = { uid, name: { text: 'c' } };
    const result = await setup.cli.run(['apply', '-', ...anyWorkspace, '--yes', '--json'], {
      stdin: JSON.stringify(wrong),
    });
    expect(result).toMatchObject({ code: 11, stdout: expect.stringContaining('name is not a text') });
  });

  it.skipIf(isStrict)(
    'apply rejects a second row of the same asset, even if its uid or path is spelled differently',
    async () => {
      const [uid = ''] = await createAssets('same', ['same row']);
      const rows = [uid, uid.toUpperCase(), ''].map((key, n) => [key, key === '' ? '//same row/' : '', `name ${n}`]);
      writeCsv(pathOf('same.csv'), [['uid', 'path', 'name'], ...rows]);
      const { code, outcomes } = await apply(pathOf('same.csv'));
      expect([code, outcomes]).toEqual([
        11,
        [
          [2, null, 'invalid'],
          [3, null, 'invalid'],
          [4, null, 'invalid'],
        ],
      ]);
    },
  );

  it('apply reads what ls --csv prints, tags and apostrophes as they are', async () => {
    const [uid] = await createAssets('printed', ["'Round Midnight"]);
    const { stdout } = await setup.cli.run(['ls', '--tag', 'printed', '--all', '--csv', '--fields', 'uid,name,tags']);
    const stdin = stdout.replace('printed', 'printed","added').replaceAll('"printed","added"', '"printed"",""added"');
    const { code } = await setup.cli.run(['apply', '-', ...anyWorkspace, '--yes'], {
      stdin: stdin.replaceAll('""""', '""'),
    });
    expect(code).toBe(0);
    const { name, tags } = await get(uid as string);
    expect([name, JSON.stringify(tags)]).toEqual(["'Round Midnight", expect.stringContaining('added')]);
  });

  it.skipIf(isStrict)('apply finds assets by the column path', async () => {
    const [uid] = await createAssets('by-path', ['by path']);
    const path = pathOf('paths.csv');
    writeCsv(path, [
      ['path', 'description'],
      ['/by path', 'found'],
      ['/no such asset', 'x'],
    ]);
    expect(await apply(path)).toMatchObject({ code: 11, outcomes: expect.arrayContaining([[3, null, 'not_found']]) });
    expect(await get(uid as string)).toMatchObject({ description: 'found' });
  });
});
