import {
  copyFileSync,
  cpSync,
  linkSync,
  mkdirSync,
  renameSync,
  rmSync,
  unlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { isLinux } from '../../src/shared/platform.ts';
import { Cli } from '../support/cli.ts';
import { acceleratedClockInProcess, stoppedClock } from '../support/clock.ts';
import type { FakeAsset, LibraryOptions } from '../support/fake-library.ts';
import { FakeService, handleThen, respondWithError } from '../support/fake-service.ts';

/* Files and directories that are renamed between two runs of `sync`. Their assets follow them. */

let service: FakeService;
let cli: Cli;
let directory: string;
/** Requests since the last sync began, without those that read folders, such as `PATCH /assets/:uid/`. */
let requests: string[];

beforeEach(() => start({ shows: ['parent', 'size'] }));

async function start(options: LibraryOptions): Promise<void> {
  service = await FakeService.start(options);
  cli = new Cli(service.environment);
  directory = join(cli.home, 'rushes');
  requests = [];
  service.fault = record;
}

const record: FakeService['fault'] = ({ method, path }) => {
  const endpoint = `${method} ${path.replace(/[0-9a-f-]{36}/g, ':uid').replace(/\?.*/, '')}`;
  if (!endpoint.startsWith('GET /workspaces/')) requests.push(endpoint);
  return undefined;
};

/** Answers some requests with a fault, and records the others. */
const failOn = (pattern: RegExp, fault: ReturnType<FakeService['fault']>) => {
  service.fault = (seen) => record(seen) ?? (pattern.test(`${seen.method} ${seen.path}`) ? fault : undefined);
};

/** Writes a file whose content, size and time no other has. */
let written = 0;
function write(path: string, content = `content of ${path} ${'.'.repeat(++written)}`): void {
  const file = join(directory, path);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, content);
  utimesSync(file, 1_700_000_000 + written, 1_700_000_000 + written);
}

function move(from: string, to: string): void {
  const target = join(directory, to);
  mkdirSync(dirname(target), { recursive: true });
  renameSync(join(directory, from), target);
}

async function sync(...args: string[]) {
  requests = [];
  const { code, stdout, stderr } = await cli.run(['sync', directory, '/F', '--json', ...args], {
    clock: stoppedClock(),
  });
  const records: { path: string; outcome: string; moved_from?: string }[] = stdout ? JSON.parse(stdout) : [];
  const outcomes = Object.fromEntries(records.map(({ path, outcome }) => [path.slice(directory.length + 1), outcome]));
  return { code, stderr, records, outcomes };
}

const pathOf = ({ name, folder }: Pick<FakeAsset, 'name' | 'folder'>): string => {
  const found = service.folders.find(({ uid }) => uid === folder);
  return found ? `${pathOf({ name: found.name, folder: found.parent })}/${name}` : `/${name}`;
};

/** Returns the paths of the assets in the library, by uid. */
const pathsByUid = () => Object.fromEntries(service.completeAssets.map((asset) => [asset.uid, pathOf(asset)]));

/** Runs the preview and the sync, and expects that the assets have these paths, and the uids that they had. */
async function expectMoved(renamed: Record<string, string>, args: readonly string[] = []) {
  const before = pathsByUid();
  const preview = await sync('-n', ...args);
  expect([preview.code, preview.stderr]).toEqual([0, expect.any(String)]);
  expect(pathsByUid()).toEqual(before);
  const run = await sync(...args);
  expect([run.code, run.outcomes], run.stderr).toEqual([0, preview.outcomes]);
  const after = Object.fromEntries(
    Object.entries(before).map(([uid, path]) => [uid, renamed[path.slice(3)] ? `/F/${renamed[path.slice(3)]}` : path]),
  );
  expect(pathsByUid()).toEqual(after);
  expect(requests.filter((each) => each.includes('/upload/'))).toEqual([]);
  const made = requests;
  await expectNothingLeft(args);
  requests = made;
  return { preview, run };
}

/** Expects that another sync changes nothing. */
async function expectNothingLeft(args: readonly string[] = []) {
  const { code, outcomes } = await sync(...args);
  expect([code, new Set(Object.values(outcomes))]).toEqual([0, new Set(['skipped'])]);
  expect(requests.filter((each) => !each.startsWith('GET '))).toEqual([]);
}

describe('sync of a renamed file', () => {
  it('sync renames the asset of a renamed file with one GET and one PATCH, and -n says so', async () => {
    write('day/a.mov');
    write('day/b.mov');
    await sync();
    move('day/a.mov', 'day/opening.mov');
    const { preview, run } = await expectMoved({ 'day/a.mov': 'day/opening.mov' });
    expect(requests).toEqual(['GET /assets/:uid/', 'PATCH /assets/:uid/']);
    const asset = service.completeAssets.find(({ name }) => name === 'opening.mov');
    expect(preview.records).toContainEqual(
      expect.objectContaining({
        path: join(directory, 'day/opening.mov'),
        moved_from: join(directory, 'day/a.mov'),
        outcome: 'moved',
        changes: { name: 'opening.mov' },
        request: { method: 'PATCH', url: `${service.url}/api/external/v1/assets/${asset?.uid}/` },
      }),
    );
    expect(run.outcomes).toEqual({ 'day/opening.mov': 'moved', 'day/b.mov': 'skipped' });
    write('day/c.mov');
    await sync();
    move('day/c.mov', 'day/last.mov');
    const table = await cli.run(['sync', directory, '/F', '-n'], { tty: true, columns: 400 });
    expect(table.stdout).toContain(`${directory}/day/c.mov -> ${directory}/day/last.mov`);
  });

  it.each([
    ['show', ['parent', 'size'] as const],
    ['do not show', []],
  ])(
    'sync moves and renames the asset of a file, which is read behind its lock, if records %s the folder',
    async (_, shows) => {
      await start({ shows: [...shows] });
      for (const path of ['day/a.mov', 'day/b.mov', 'other/c.mov']) write(path);
      await sync();
      move('day/a.mov', 'other/best of.mov');
      const { run } = await expectMoved({ 'day/a.mov': 'other/best of.mov' });
      expect(run.stderr).not.toContain('reading');
    },
  );

  it('sync keeps the uids of files that swapped their names, and of a chain of renamed files', async () => {
    for (const path of ['a.mov', 'b.mov', '1.mov', '2.mov', '3.mov']) write(path);
    await sync();
    move('a.mov', 'x');
    move('b.mov', 'a.mov');
    move('x', 'b.mov');
    for (const n of [3, 2, 1]) move(`${n}.mov`, `${n + 1}.mov`);
    const names = { 'a.mov': 'b.mov', 'b.mov': 'a.mov', '1.mov': '2.mov', '2.mov': '3.mov', '3.mov': '4.mov' };
    await expectMoved(names, ['--prune', '--yes']);
  });

  it('sync keeps the uids of files of one size that swapped their names between directories', async () => {
    for (const path of ['one/a.mov', 'two/a.mov']) write(path, `content in ${dirname(path)}`);
    await sync();
    move('one/a.mov', 'x');
    move('two/a.mov', 'one/a.mov');
    move('x', 'two/a.mov');
    await expectMoved({ 'one/a.mov': 'two/a.mov', 'two/a.mov': 'one/a.mov' });
  });

  it('sync --checksum keeps the uids of directories that swapped their names, whose files have equal sizes and times', async () => {
    for (const path of ['one/a.mov', 'two/a.mov']) {
      write(path, `content in ${dirname(path)}`);
      utimesSync(join(directory, path), 1_700_000_000, 1_700_000_000);
    }
    await sync();
    move('one', 'x');
    move('two', 'one');
    move('x', 'two');
    await expectMoved({ 'one/a.mov': 'two/a.mov', 'two/a.mov': 'one/a.mov' }, ['--checksum']);
  });

  it('sync sends a file that takes the name of a renamed one, and keeps the renamed one', async () => {
    write('a.mov');
    await sync();
    const [asset] = service.completeAssets;
    move('a.mov', 'old.mov');
    write('a.mov', 'a new take');
    expect((await sync('--prune', '--yes')).outcomes).toEqual({ 'a.mov': 'uploaded', 'old.mov': 'moved' });
    expect(pathsByUid()).toMatchObject({ [asset?.uid ?? '']: '/F/old.mov' });
    expect(Object.values(pathsByUid()).sort()).toEqual(['/F/a.mov', '/F/old.mov']);
    await expectNothingLeft(['--prune', '--yes']);
  });

  it('sync follows a change of case only', async () => {
    write('Day/Clip.MOV');
    await sync();
    move('Day/Clip.MOV', 'Day/clip.mov');
    await expectMoved({ 'Day/Clip.MOV': 'Day/clip.mov' });
    move('Day', 'day');
    await expectMoved({ 'Day/clip.mov': 'day/clip.mov' });
  });

  it('sync follows a change of case where the file system takes both names for one file', async () => {
    write('Clip.MOV');
    await sync();
    // Another link to the file stands for the old name, by which such a file system finds it.
    move('Clip.MOV', 'clip.mov');
    linkSync(join(directory, 'clip.mov'), join(directory, 'Clip.MOV'));
    await expectMoved({ 'Clip.MOV': 'clip.mov' }, ['--exclude', 'Clip.MOV']);
  });

  it('sync writes nothing if only the form of an accent changes in the name of a file or a directory', async () => {
    write('été/Café.mov'.normalize('NFC'));
    await sync();
    move('été'.normalize('NFC'), 'été'.normalize('NFD'));
    move('été/Café.mov'.normalize('NFD').replace('Café'.normalize('NFD'), 'Café'.normalize('NFC')), 'x');
    move('x', 'été/Café.mov'.normalize('NFD'));
    const { run } = await expectMoved({});
    expect(Object.values(run.outcomes)).toEqual(['skipped']);
    expect(requests.filter((each) => each.startsWith('PATCH'))).toEqual([]);
  });

  it('sync follows a file that was copied and deleted, whose asset is in the new folder already, as after a kill', async () => {
    for (const path of ['day/a.mov', 'day/b.mov', 'day/c.mov', 'other/d.mov']) write(path);
    await sync();
    const [uid] = Object.entries(pathsByUid()).find(([, path]) => path === '/F/day/a.mov') ?? [];
    cpSync(join(directory, 'day/a.mov'), join(directory, 'other/best.mov'));
    unlinkSync(join(directory, 'day/a.mov'));
    await cli.run(['mv', '/F/day/a.mov', '/F/other', '--yes']);
    expect((await sync('--prune', '--yes')).outcomes).toMatchObject({ 'other/best.mov': 'moved' });
    expect(pathsByUid()[uid ?? '']).toBe('/F/other/best.mov');
    expect(service.assets.size).toBe(4);
    await expectNothingLeft(['--prune', '--yes']);
  });

  it('sync keeps a title that somebody gave, and the form of a name without extension', async () => {
    for (const path of ['a.mov', 'b.mov', 'c.mov']) write(path);
    await sync();
    for (const asset of service.assets.values()) {
      if (asset.name === 'a.mov') asset.name = 'The opening';
      if (asset.name === 'b.mov') asset.name = 'b';
    }
    move('a.mov', 'day/a2.mov');
    move('b.mov', 'day/b2.mov');
    move('c.mov', 'day/c2.mov');
    await sync();
    expect(Object.values(pathsByUid()).sort()).toEqual(['/F/day/The opening', '/F/day/b2', '/F/day/c2.mov']);
    await expectNothingLeft();
  });

  it('sync sends a renamed file whose asset others have moved elsewhere, which stays there', async () => {
    for (const path of ['a.mov', 'b.mov']) write(path);
    await sync();
    await cli.run(['folders', 'create', '/Keep']);
    const keep = service.folders.find(({ name }) => name === 'Keep');
    for (const asset of service.assets.values()) if (asset.name === 'a.mov') asset.folder = keep?.uid;
    move('a.mov', 'day/a.mov');
    expect((await sync()).outcomes).toEqual({ 'day/a.mov': 'uploaded', 'b.mov': 'skipped' });
    expect(Object.values(pathsByUid()).sort()).toEqual(['/F/b.mov', '/F/day/a.mov', '/Keep/a.mov']);
    await expectNothingLeft();
  });

  it('sync sends a renamed file whose asset no longer exists', async () => {
    write('a.mov');
    await sync();
    for (const asset of service.assets.values()) asset.isTrashed = true;
    move('a.mov', 'b.mov');
    expect((await sync('-n')).outcomes).toEqual({ 'b.mov': 'new' });
    expect((await sync()).outcomes).toEqual({ 'b.mov': 'uploaded' });
    await expectNothingLeft();
  });

  it('sync gives a renamed file its new name and the given metadata with one PATCH, which undo reverts', async () => {
    write('a.mov');
    await sync();
    for (const asset of service.assets.values()) asset.fields.tags = [];
    move('a.mov', 'b.mov');
    const preview = await sync('-n', '--tag', 'sea');
    expect(preview.records).toMatchObject([{ outcome: 'moved', changes: { name: 'b.mov', added_tags: ['sea'] } }]);
    await sync('--tag', 'sea');
    expect(requests).toEqual(['GET /assets/:uid/', 'GET /assets/:uid/', 'PATCH /assets/:uid/']); // tags are read again
    expect(service.completeAssets).toMatchObject([{ name: 'b.mov', fields: { tags: ['sea'] } }]);
    expect((await cli.run(['undo', '--yes'])).code).toBe(0);
    expect(service.completeAssets).toMatchObject([{ name: 'a.mov', fields: { tags: [] } }]);
  });

  it('sync keeps the name that the user gives with the command, also if it is that of the old file', async () => {
    for (const path of ['one/one.mov', 'two/a.mov', 'two/two.mov']) write(path);
    await sync('--name', '{parent}');
    move('one/one.mov', 'one/b.mov');
    move('two/two.mov', 'one/c.mov');
    const preview = await sync('-n', '--name', '{parent}');
    const run = await sync('--name', '{parent}');
    expect([run.code, run.outcomes]).toEqual([0, preview.outcomes]);
    expect(run.outcomes).toEqual({ 'one/b.mov': 'skipped', 'one/c.mov': 'moved', 'two/a.mov': 'skipped' });
    expect(Object.values(pathsByUid()).sort()).toEqual(['/F/one/one', '/F/one/one', '/F/two/two']);
    await expectNothingLeft(['--name', '{parent}']);
  });

  it('sync follows a file into a directory of its name, and a file that takes the name of its directory', async () => {
    for (const path of ['take', 'scene/scene', 'b.mov']) write(path);
    await sync();
    for (const [from, to] of [
      ['take', 'x'],
      ['x', 'take/take'],
      ['scene', 'y'],
      ['y/scene', 'scene'],
    ] as const)
      move(from, to);
    await expectMoved({ take: 'take/take', 'scene/scene': 'scene' }, ['--prune', '--yes']);
  });

  it('sync --prune moves the asset of a file to the trash if a directory has its path', async () => {
    for (const path of ['take', 'b.mov']) write(path);
    await sync('--wait');
    unlinkSync(join(directory, 'take'));
    write('take/c.mov');
    const preview = await sync('-n', '--prune', '--yes');
    expect(preview.outcomes).toEqual({ take: 'deleted', 'take/c.mov': 'new', 'b.mov': 'skipped' });
    expect((await sync('--prune', '--yes')).stderr).toContain('moved 1 asset to the trash');
    expect(Object.values(pathsByUid()).sort()).toEqual(['/F/b.mov', '/F/take/c.mov']);
  });

  it('sync claims each asset for one of several copies of a renamed file, and sends the others', async () => {
    write('a.mov', 'the same');
    await sync();
    move('a.mov', 'x/a.mov');
    for (const path of ['y/a.mov', 'z/copy.mov']) {
      mkdirSync(dirname(join(directory, path)), { recursive: true });
      copyFileSync(join(directory, 'x/a.mov'), join(directory, path));
    }
    const outcomes = Object.values((await sync()).outcomes).sort();
    expect(outcomes).toEqual(['moved', 'uploaded', 'uploaded']);
    expect(Object.values(pathsByUid()).sort()).toEqual(['/F/x/a.mov', '/F/y/a.mov', '/F/z/copy.mov']);
    await expectNothingLeft();
  });

  it.runIf(isLinux)('sync moves the asset of a renamed file to it, not to a copy of it that comes first', async () => {
    write('card/a.mov');
    await sync();
    const [asset] = service.completeAssets;
    mkdirSync(join(directory, 'backup'));
    copyFileSync(join(directory, 'card/a.mov'), join(directory, 'backup/a.mov'));
    move('card/a.mov', 'day/a.mov'); // the directory of the card is empty now
    expect((await sync()).outcomes).toEqual({ 'day/a.mov': 'moved', 'backup/a.mov': 'uploaded' });
    expect(pathsByUid()[asset?.uid ?? '']).toBe('/F/day/a.mov');
    await expectNothingLeft();
  });

  it.runIf(isLinux)(
    'sync moves the asset of a file with a new name and directory to it, not to a copy of its name',
    async () => {
      write('card/a.mov');
      await sync();
      const [asset] = service.completeAssets;
      mkdirSync(join(directory, 'backup'));
      copyFileSync(join(directory, 'card/a.mov'), join(directory, 'backup/a.mov'));
      move('card/a.mov', 'day/best.mov');
      expect((await sync('-n')).outcomes).toEqual({ 'day/best.mov': 'moved', 'backup/a.mov': 'new' });
      expect((await sync()).outcomes).toEqual({ 'day/best.mov': 'moved', 'backup/a.mov': 'uploaded' });
      expect(pathsByUid()[asset?.uid ?? '']).toBe('/F/day/best.mov');
      await expectNothingLeft();
    },
  );

  it('upload, unlike sync, sends a renamed file to its new folder as before', async () => {
    write('a.mov');
    const upload = () => cli.json(['upload', directory, '/F', '--create-folders']);
    await upload();
    move('a.mov', 'day/a.mov');
    expect(await upload()).toMatchObject([{ outcome: 'uploaded' }]);
    expect(Object.values(pathsByUid()).sort()).toEqual(['/F/a.mov', '/F/day/a.mov']);
  });
});

/** Requests of a folder that moves with all that is in it, without those that read the folders. */
const folderMove = ['GET /assets/', 'PATCH /workspaces/:uid/folders/:uid/'];

describe('sync of a renamed directory', () => {
  const writeDays = () => {
    for (const path of ['day 1/a.mov', 'day 1/b.mov', 'day 1/raw/c.mov', 'day 2/d.mov', 'e.mov']) write(path);
  };

  it('sync renames the folder of a renamed directory with three requests, and -n counts one PATCH for all files', async () => {
    for (const path of ['day 1/a.mov', 'day 1/b.mov', 'day 2/c.mov']) write(path);
    await sync();
    move('day 1', 'first day');
    const folder = service.folders.find(({ name }) => name === 'day 1');
    const requestsOf = async () => {
      const before = service.requestCount;
      await sync();
      return service.requestCount - before;
    };
    const { preview } = await expectMoved({ 'day 1/a.mov': 'first day/a.mov', 'day 1/b.mov': 'first day/b.mov' });
    expect(requests).toEqual(folderMove);
    const url = `${service.url}/api/external/v1/workspaces/7b1f4d0e-58a4-4c8e-9a0b-5d9c1f2e3a4b/folders/${folder?.uid}/`;
    const moved = preview.records.filter(({ outcome }) => outcome === 'moved');
    const planned = { changes: { folder: '/F/first day' }, request: { method: 'PATCH', url } };
    expect(moved).toMatchObject([planned, planned]);
    expect(preview.stderr).toContain('2 renamed; 0 B, 3 requests');
    // Besides what a run without changes asks: the workspaces, once, and the folder is listed, changed and read again.
    const ofUnchanged = await requestsOf();
    move('first day', 'day 1');
    expect(await requestsOf()).toBe(ofUnchanged + 4);
    expect(service.folders.map(({ name }) => name).sort()).toEqual(['F', 'day 1', 'day 2']);
  });

  it('sync moves the folder of a directory with those below it to a new place, and creates the folders above', async () => {
    writeDays();
    await sync();
    move('day 1', 'archive/2026/day one');
    await expectMoved({
      'day 1/a.mov': 'archive/2026/day one/a.mov',
      'day 1/b.mov': 'archive/2026/day one/b.mov',
      'day 1/raw/c.mov': 'archive/2026/day one/raw/c.mov',
    });
    expect(requests.filter((each) => each.startsWith('PATCH'))).toEqual(['PATCH /workspaces/:uid/folders/:uid/']);
    expect(service.folders).toHaveLength(6);
  });

  it('sync follows a file and a directory that were renamed in a renamed directory', async () => {
    writeDays();
    await sync();
    move('day 1/b.mov', 'day 1/z.mov');
    move('day 1/raw', 'day 1/Rohschnitt');
    move('day 1', 'Tag 1');
    await expectMoved({
      'day 1/a.mov': 'Tag 1/a.mov',
      'day 1/b.mov': 'Tag 1/z.mov',
      'day 1/raw/c.mov': 'Tag 1/Rohschnitt/c.mov',
    });
    expect(requests.filter((each) => each.startsWith('PATCH')).sort()).toEqual([
      'PATCH /assets/:uid/',
      'PATCH /workspaces/:uid/folders/:uid/',
      'PATCH /workspaces/:uid/folders/:uid/',
    ]);
  });

  it('sync moves the assets of a renamed directory one by one if others have put one into its folder, which stays', async () => {
    writeDays();
    await sync();
    const folder = service.folders.find(({ name }) => name === 'raw');
    const other = new Cli(service.environment);
    writeFileSync(join(other.home, 'theirs.mov'), 'of others');
    await other.json(['upload', join(other.home, 'theirs.mov'), '/F/day 1/raw']);
    move('day 1', 'Tag 1');
    await expectMoved({
      'day 1/a.mov': 'Tag 1/a.mov',
      'day 1/b.mov': 'Tag 1/b.mov',
      'day 1/raw/c.mov': 'Tag 1/raw/c.mov',
    });
    const single = requests.filter((each) => / \/assets\/:uid\/$/.test(each));
    expect(single.sort()).toEqual([...Array(3).fill('GET /assets/:uid/'), ...Array(3).fill('PATCH /assets/:uid/')]);
    expect(service.completeAssets.find(({ name }) => name === 'theirs.mov')?.folder).toBe(folder?.uid);
    expect(service.folders.find(({ name }) => name === 'raw')).toEqual(folder);
  });

  it('sync leaves a folder where a deleted file of it, or an empty folder that others made, would move along', async () => {
    writeDays();
    await sync();
    unlinkSync(join(directory, 'day 1/b.mov'));
    await cli.run(['folders', 'create', '/F/day 2/selects']);
    move('day 1', 'Tag 1');
    move('day 2', 'Tag 2');
    await expectMoved({
      'day 1/a.mov': 'Tag 1/a.mov',
      'day 1/raw/c.mov': 'Tag 1/raw/c.mov',
      'day 2/d.mov': 'Tag 2/d.mov',
    });
    expect(pathOf({ name: 'selects', folder: service.folders.find(({ name }) => name === 'day 2')?.uid })).toBe(
      '/F/day 2/selects',
    );
  });

  it('sync takes the old version of a changed file along with the folder of its directory', async () => {
    for (const path of ['day 1/a.mov', 'day 1/b.mov']) write(path);
    await sync();
    write('day 1/a.mov', 'a later version');
    await sync();
    move('day 1', 'Tag 1');
    await sync();
    expect(requests).toEqual(folderMove);
    expect(Object.values(pathsByUid()).sort()).toEqual(['/F/Tag 1/a.mov', '/F/Tag 1/a.mov', '/F/Tag 1/b.mov']);
    await expectNothingLeft();
    expect((await sync('--prune', '--yes')).stderr).toContain('moved 1 asset to the trash');
  });

  it('sync --prune keeps the old version of a changed file in a renamed directory until the new one is ready', async () => {
    await start({ shows: ['parent', 'size'], readyAfterMs: 60_000 });
    for (const path of ['day 1/a.mov', 'day 1/b.mov', 'c.mov']) write(path);
    await sync();
    for (const path of ['day 1/a.mov', 'c.mov']) write(path, `a later version of ${path}`);
    await sync();
    const before = pathsByUid();
    move('day 1', 'Tag 1');
    move('c.mov', 'Tag 1/d.mov');
    const { stderr } = await sync('--prune', '--yes');
    expect(stderr).toContain('2 old assets kept until the new ones are ready');
    expect(Object.keys(pathsByUid())).toEqual(Object.keys(before));
    expect(requests.filter((each) => each.startsWith('PATCH /workspaces'))).toHaveLength(1);
    move('Tag 1', 'Day one');
    await sync();
    expect(requests).toEqual(folderMove);
  });

  it('sync moves the assets of a directory that was moved into a new child of itself', async () => {
    for (const path of ['day/a.mov', 'day/b.mov', 'day/c.mov']) write(path);
    await sync();
    move('day', 'x');
    mkdirSync(join(directory, 'day'));
    move('x', 'day/inner');
    await expectMoved(Object.fromEntries(['a', 'b', 'c'].map((name) => [`day/${name}.mov`, `day/inner/${name}.mov`])));
  });

  it('sync follows directories that swapped their names, and a chain of renamed directories', async () => {
    for (const path of ['a/1.mov', 'a/2.mov', 'b/1.mov', 'day 1/x.mov', 'day 2/x.mov']) write(path);
    await sync();
    move('a', 'x');
    move('b', 'a');
    move('x', 'b');
    move('day 2', 'day 3');
    move('day 1', 'day 2');
    await expectMoved({
      'a/1.mov': 'b/1.mov',
      'a/2.mov': 'b/2.mov',
      'b/1.mov': 'a/1.mov',
      'day 1/x.mov': 'day 2/x.mov',
      'day 2/x.mov': 'day 3/x.mov',
    });
    expect(requests.filter((each) => each === 'PATCH /workspaces/:uid/folders/:uid/')).toHaveLength(2);
  });

  it('sync sends new files of a renamed directory to its folder, and new files at the old path to a new one', async () => {
    write('day 1/a.mov');
    await sync();
    const [asset] = service.completeAssets;
    move('day 1', 'Tag 1');
    write('Tag 1/new.mov');
    write('day 1/other.mov');
    await sync();
    expect(Object.values(pathsByUid()).sort()).toEqual(['/F/Tag 1/a.mov', '/F/Tag 1/new.mov', '/F/day 1/other.mov']);
    expect(pathsByUid()[asset?.uid ?? '']).toBe('/F/Tag 1/a.mov');
    expect(service.folders.map(({ name }) => name).sort()).toEqual(['F', 'Tag 1', 'day 1']);
    await expectNothingLeft();
  });

  it('sync --prune of a renamed directory moves nothing to the trash, even if most files were in it', async () => {
    for (let n = 0; n < 15; n++) write(`day 1/${n}.mov`);
    write('empty/.keep', '');
    await sync();
    move('day 1', 'Tag 1');
    move('empty', 'leer');
    const { stderr } = await sync('-n', '--prune', '--yes');
    expect(stderr).not.toMatch(/trash|missing/);
    const run = await sync('--prune', '--yes');
    expect([run.code, run.stderr]).toEqual([0, expect.not.stringMatching(/trash|missing/)]);
    expect(service.assets.size).toBe(16);
    await expectNothingLeft(['--prune', '--yes']);
  });

  it('sync -n --prune shows the asset of a file that was overwritten by a renamed one', async () => {
    for (const path of ['a.mov', 'b.mov', 'c.mov']) write(path);
    await sync('--wait');
    const replaced = service.completeAssets.find(({ name }) => name === 'b.mov')?.uid;
    move('a.mov', 'b.mov');
    const preview = await sync('-n', '--prune', '--yes');
    expect(preview.records).toContainEqual(expect.objectContaining({ outcome: 'deleted', asset_uid: replaced }));
    expect((await sync('--prune', '--yes')).stderr).toContain('moved 1 asset to the trash');
    expect(Object.values(pathsByUid()).sort()).toEqual(['/F/b.mov', '/F/c.mov']);
    expect(Object.keys(pathsByUid())).not.toContain(replaced);
  });

  it('sync -n --prune says, as the run does, that all files of a directory are missing that others have left', async () => {
    for (let n = 0; n < 20; n++) write(`day/${n}.mov`);
    write('keep.mov');
    await sync('--wait');
    for (let n = 0; n < 12; n++) move(`day/${n}.mov`, `other/${n}.mov`);
    for (let n = 12; n < 20; n++) unlinkSync(join(directory, `day/${n}.mov`));
    const preview = await sync('-n', '--prune', '--yes');
    const run = await sync('--prune', '--yes');
    expect([run.code, run.stderr]).toEqual([2, expect.stringContaining('8 of 8 files that were uploaded from')]);
    expect(preview.stderr).toContain('8 of 8 files that were uploaded from');
  });
});

describe('sync of files whose disk may not be mounted', () => {
  const card = (n: number) => `card/clip ${n}.mov`;

  /** Takes the files of the card away, as a disk that is not mounted, and copies them to another place. */
  const unmountAndCopyTo = (target: string, { leavesMountPoint = true } = {}) => {
    cpSync(join(directory, 'card'), join(directory, target), { recursive: true });
    rmSync(join(directory, 'card'), { recursive: true });
    if (leavesMountPoint) mkdirSync(join(directory, 'card'));
  };

  it('sync sends copies of files whose disk is not mounted, and leaves the assets of the disk where they are', async () => {
    for (let n = 0; n < 4; n++) write(card(n));
    await sync();
    const before = pathsByUid();
    unmountAndCopyTo('copies');
    await sync();
    expect(pathsByUid()).toMatchObject(before);
    expect(service.completeAssets).toHaveLength(8);
  });

  it('sync leaves the assets of a disk where they are if the mount point has files of its own', async () => {
    for (let n = 0; n < 4; n++) write(card(n));
    await sync();
    const before = pathsByUid();
    unmountAndCopyTo('copies');
    for (let n = 0; n < 6; n++) write(`card/stray ${n}.mov`);
    await sync(); // sends the stray files, which prove nothing about the disk
    unlinkSync(join(directory, 'copies/clip 0.mov'));
    copyFileSync(join(directory, 'copies/clip 1.mov'), join(directory, 'copies/second 1.mov'));
    await sync();
    expect(pathsByUid()).toMatchObject(before);
  });

  it('sync moves the assets of files that were copied to another disk and deleted with their directory', async () => {
    for (let n = 0; n < 4; n++) write(card(n));
    await sync();
    unmountAndCopyTo('copies', { leavesMountPoint: false });
    await expectMoved(Object.fromEntries([0, 1, 2, 3].map((n) => [card(n), `copies/clip ${n}.mov`])));
  });

  it('sync sends a copy of one file if most files of the directory are missing', async () => {
    for (let n = 0; n < 14; n++) write(card(n));
    await sync();
    const before = pathsByUid();
    mkdirSync(join(directory, 'best of'));
    copyFileSync(join(directory, card(3)), join(directory, 'best of/clip 3.mov'));
    for (let n = 0; n < 12; n++) unlinkSync(join(directory, card(n)));
    expect((await sync()).outcomes).toMatchObject({ 'best of/clip 3.mov': 'uploaded' });
    expect(pathsByUid()).toMatchObject(before);
  });
});

describe('sync of renamed files whose assets cannot be moved', () => {
  it('sync sends a renamed file if the service refuses to change its asset, and says why', async () => {
    for (const path of ['a.mov', 'b.mov']) write(path);
    await sync();
    move('a.mov', 'day/a2.mov');
    failOn(/^PATCH \/assets\//, respondWithError(403));
    const { code, outcomes, stderr } = await sync();
    expect([code, outcomes]).toEqual([0, { 'day/a2.mov': 'uploaded', 'b.mov': 'skipped' }]);
    expect(stderr).toContain('it is uploaded again, because its asset');
    expect(Object.values(pathsByUid()).sort()).toEqual(['/F/a.mov', '/F/b.mov', '/F/day/a2.mov']);
    service.fault = record;
    await expectNothingLeft();
  });

  it('sync sends a renamed file if the service answers 200 and changes nothing', async () => {
    write('a.mov');
    await sync();
    move('a.mov', 'a2.mov');
    const [asset] = service.completeAssets;
    const reply = { body: { uid: asset?.uid, name: 'a.mov', parent: asset?.folder } };
    failOn(/^PATCH \/assets\//, () => reply);
    expect((await sync()).outcomes).toEqual({ 'a2.mov': 'uploaded' });
    expect(Object.values(pathsByUid()).sort()).toEqual(['/F/a.mov', '/F/a2.mov']);
  });

  it('sync fails a renamed file if the answer to its change is lost, and finds by reading that it was made', async () => {
    for (const path of ['a.mov', 'b.mov']) write(path);
    await sync();
    const asset = service.completeAssets.find(({ name }) => name === 'a.mov');
    move('a.mov', 'a2.mov');
    failOn(
      /^PATCH \/assets\//,
      handleThen(() => undefined),
    );
    const lost = await cli.run(['sync', directory, '/F'], { clock: acceleratedClockInProcess() });
    expect([lost.code, lost.stderr]).toEqual([11, expect.stringMatching(/1 already uploaded, 1 failed/)]);
    service.fault = record;
    expect((await sync()).outcomes).toEqual({ 'a2.mov': 'skipped', 'b.mov': 'skipped' });
    expect(requests).toEqual(['GET /assets/:uid/']);
    expect(pathsByUid()).toMatchObject({ [asset?.uid ?? '']: '/F/a2.mov' });
    await expectNothingLeft();
  });

  it('sync keeps the uid of a renamed file whose change failed while another file was uploaded to its old path', async () => {
    for (const path of ['a.mov', 'b.mov', 'c.mov']) write(path);
    await sync();
    const before = pathsByUid();
    move('a.mov', 'a2.mov');
    write('a.mov', 'a new take');
    move('b.mov', 'x');
    move('c.mov', 'b.mov');
    move('x', 'c.mov');
    const uids = ['/F/a.mov', '/F/b.mov'].map((path) => Object.keys(before).find((uid) => before[uid] === path));
    failOn(new RegExp(`^PATCH /assets/(${uids.join('|')})/`), respondWithError(500));
    const failed = await cli.run(['sync', directory, '/F', '--wait'], { clock: acceleratedClockInProcess() });
    expect(failed.stderr).toContain('1 uploaded and ready, 1 renamed, 2 failed');
    service.fault = record;
    move('b.mov', 'd.mov');
    const preview = await sync('-n', '--prune', '--yes');
    expect(preview.outcomes).toEqual({ 'a.mov': 'skipped', 'a2.mov': 'moved', 'c.mov': 'moved', 'd.mov': 'moved' });
    expect((await sync('--prune', '--yes')).outcomes).toEqual(preview.outcomes);
    const moved = { '/F/a.mov': '/F/a2.mov', '/F/b.mov': '/F/c.mov', '/F/c.mov': '/F/d.mov' };
    const expected = Object.entries(before).map(([uid, path]) => [uid, moved[path as keyof typeof moved]]);
    expect(pathsByUid()).toMatchObject(Object.fromEntries(expected));
    await expectNothingLeft(['--prune', '--yes']);
  });

  it('sync follows a file out of a directory whose folder was moved before the change of its asset failed', async () => {
    for (const path of ['day/raw/a.mov', 'day/raw/b.mov', 'day/c.mov', 'd.mov']) write(path);
    await sync();
    const before = pathsByUid();
    const uid = Object.keys(before).find((each) => before[each] === '/F/day/raw/b.mov') ?? '';
    move('day', 'tag');
    move('tag/raw/b.mov', 'tag/b.mov');
    failOn(new RegExp(`^PATCH /assets/${uid}/`), respondWithError(500));
    const failed = await cli.run(['sync', directory, '/F'], { clock: acceleratedClockInProcess() });
    expect(failed.stderr).toContain('1 already uploaded, 2 renamed, 1 failed');
    expect(pathsByUid()[uid]).toBe('/F/tag/raw/b.mov');
    service.fault = record;
    expect((await sync('--prune', '--yes')).outcomes).toMatchObject({ 'tag/b.mov': 'moved' });
    expect(pathsByUid()[uid]).toBe('/F/tag/b.mov');
    expect(Object.keys(pathsByUid())).toEqual(Object.keys(before));
    await expectNothingLeft(['--prune', '--yes']);
  });

  it('sync moves assets one by one if the service refuses to change their folder', async () => {
    for (const path of ['day 1/a.mov', 'day 1/b.mov']) write(path);
    await sync();
    move('day 1', 'Tag 1');
    failOn(/^PATCH \/workspaces\//, respondWithError(403));
    const { code, outcomes } = await sync();
    expect([code, outcomes]).toEqual([0, { 'Tag 1/a.mov': 'moved', 'Tag 1/b.mov': 'moved' }]);
    expect(Object.values(pathsByUid()).sort()).toEqual(['/F/Tag 1/a.mov', '/F/Tag 1/b.mov']);
    service.fault = record;
    await expectNothingLeft();
  });

  it('sync does not move the asset of a file that is renamed again while the run goes on', async () => {
    for (const path of ['a.mov', 'b.mov']) write(path);
    await sync();
    const before = pathsByUid();
    move('a.mov', 'a2.mov');
    service.fault = (seen) => {
      if (/^GET \/assets\/0/.test(`${seen.method} ${seen.path}`)) move('a2.mov', 'a3.mov');
      return undefined;
    };
    const run = await sync();
    expect([run.code, run.outcomes['a2.mov']]).toEqual([11, 'failed']);
    expect(run.stderr).toContain('the file was changed or renamed meanwhile');
    expect(pathsByUid()).toEqual(before);
    service.fault = record;
    await expectMoved({ 'a.mov': 'a3.mov' });
  });

  it('two syncs at once move each asset once, and send nothing', async () => {
    for (let n = 0; n < 12; n++) write(`day/clip ${n}.mov`);
    await sync();
    const uids = Object.keys(pathsByUid());
    for (let n = 0; n < 12; n++) move(`day/clip ${n}.mov`, `day/take ${n}.mov`);
    requests = [];
    const runs = await Promise.all([1, 2].map(() => cli.run(['sync', directory, '/F', '--json'])));
    expect(requests.filter((each) => each.includes('/upload/'))).toEqual([]);
    for (const { code } of runs) expect([0, 11]).toContain(code);
    expect(Object.keys(pathsByUid())).toEqual(uids);
    expect(Object.values(pathsByUid()).every((path) => path.includes('/take '))).toBe(true);
    await expectNothingLeft();
  });
});

describe('sync of renamed files among many of one size', () => {
  it('sync reads only files of the same name before the first byte is sent, of many that have the size of missing ones', async () => {
    const [newFiles, missing, sameNamed] = [60, 12, 3];
    const frame = (seed: string) => Buffer.alloc(2000, seed);
    for (let n = 0; n < missing; n++) write(`old/${n}.dpx`, String(frame(`old ${n}`)));
    await sync();
    rmSync(join(directory, 'old'), { recursive: true });
    for (let n = 0; n < newFiles; n++) write(`new/${n < sameNamed ? n : `x${n}`}.dpx`, String(frame(`new ${n}`)));
    const { stderr } = await sync();
    expect(stderr).toContain(`reading ${sameNamed} files`);
    expect(service.completeAssets).toHaveLength(missing + newFiles);
  });
});
