import { mkdirSync, renameSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import type { UploadRecord } from '../../src/cli/uploading/upload-record.ts';
import { Cli } from '../support/cli.ts';
import { FakeService } from '../support/fake-service.ts';

/* Every cell of the table in docs/same-content.md. */

let service: FakeService;
let cli: Cli;
let directory: string;
beforeEach(async () => {
  service = await FakeService.start();
  cli = new Cli(service.environment);
  directory = join(cli.home, 'rushes');
  write('day1/a.bin', 'the content of a');
  write('day1/b.bin', 'the content of b');
});

function write(path: string, text: string): string {
  const place = join(directory, path);
  mkdirSync(join(place, '..'), { recursive: true });
  writeFileSync(place, text);
  return place;
}

function pathOf(uid: string | undefined): string {
  const found = service.folders.find((each) => each.uid === uid);
  return found ? `${pathOf(found.parent)}/${found.name}` : '';
}

const library = () => service.completeAssets.map(({ name, folder }) => `${pathOf(folder)}/${name}`).sort();

const renameFolder = (from: string, to: string) => {
  const folder = service.folders.find(({ name }) => name === from);
  if (folder) folder.name = to;
};

type Column = 'upload' | '--sync' | '--duplicates upload';
const columns: readonly Column[] = ['upload', '--sync', '--duplicates upload'];

/** Builds the command that uploads a directory to a folder and mirrors its subdirectories. */
const command = (column: Column, folder = '/F', from = directory) => [
  ...['upload', ...(column === '--sync' ? ['--sync'] : ['--create-folders'])],
  ...(column === '--duplicates upload' ? ['--duplicates', 'upload'] : []),
  ...[from, '--folder', folder],
];

/** Runs a command and expects the same from `-n` and `--estimate` before. @returns outcomes by file name */
async function outcomesOf(args: readonly string[]): Promise<Record<string, string>> {
  const dry: UploadRecord[] = await cli.json([...args, '-n']);
  const estimate = await cli.json([...args, '--estimate']);
  const items: UploadRecord[] = await cli.json(args);
  const found = byName(items);
  const isSent = (outcome: string) => ['new', 'changed'].includes(outcome);
  const planned = dry.map((item) => ({
    ...item,
    outcome: isSent(item.outcome) ? 'uploaded' : item.outcome,
  }));
  expect(byName(planned)).toEqual(found);
  const count = (kind: string) => items.filter(({ outcome }) => outcome === kind).length;
  const { skipped, duplicate, new: added, changed } = estimate;
  expect([skipped.file_count, duplicate.file_count, added.file_count + changed.file_count]).toEqual(
    ['skipped', 'duplicate', 'uploaded'].map(count),
  );
  return found;
}

const byName = (items: readonly UploadRecord[]) =>
  Object.fromEntries(items.map(({ path, outcome }) => [path.split('/').at(-1), outcome]));

describe.each(columns)('%s of', (column) => {
  const skipped = column === 'upload' ? 'duplicate' : 'uploaded';
  beforeEach(async () => {
    await cli.json(command(column));
    expect(library()).toEqual(['/F/day1/a.bin', '/F/day1/b.bin']);
  });

  it('the same path in the same folder: there, untouched or touched', async () => {
    expect(await outcomesOf(command(column))).toEqual({ 'a.bin': 'skipped', 'b.bin': 'skipped' });
    utimesSync(join(directory, 'day1/a.bin'), 1, 1);
    expect(await outcomesOf(command(column))).toEqual({ 'a.bin': 'skipped', 'b.bin': 'skipped' });
    expect(service.completeAssets).toHaveLength(2);
  });

  it('the same path with other bytes: uploaded', async () => {
    write('day1/a.bin', 'other content here');
    expect(await outcomesOf(command(column))).toEqual({ 'a.bin': 'uploaded', 'b.bin': 'skipped' });
    expect(library()).toEqual(['/F/day1/a.bin', '/F/day1/a.bin', '/F/day1/b.bin']);
  });

  it('the same content under another name in the same folder', async () => {
    write('day1/copy.bin', 'the content of a');
    expect(await outcomesOf(command(column))).toMatchObject({ 'copy.bin': skipped });
    expect(service.completeAssets).toHaveLength(skipped === 'duplicate' ? 2 : 3);
  });

  it('the same paths with another --folder: uploaded', async () => {
    expect(await outcomesOf(command(column, '/Other'))).toEqual({
      'a.bin': 'uploaded',
      'b.bin': 'uploaded',
    });
    expect(library()).toContain('/Other/day1/a.bin');
  });

  it('another file whose content is in another folder: uploaded', async () => {
    write('day2/copy.bin', 'the content of a');
    expect(await outcomesOf(command(column))).toMatchObject({ 'copy.bin': 'uploaded' });
    expect(library()).toContain('/F/day2/copy.bin');
  });

  it('a renamed directory: uploaded to the new folder', async () => {
    renameSync(join(directory, 'day1'), join(directory, 'day one'));
    expect(await outcomesOf(command(column))).toEqual({ 'a.bin': 'uploaded', 'b.bin': 'uploaded' });
    expect(library()).toContain('/F/day one/a.bin');
  });

  it('a renamed directory, and the library folder renamed too', async () => {
    renameSync(join(directory, 'day1'), join(directory, 'day one'));
    renameFolder('day1', 'day one');
    const expected = column === '--sync' ? 'skipped' : skipped;
    expect(await outcomesOf(command(column))).toEqual({ 'a.bin': expected, 'b.bin': expected });
    expect(service.completeAssets).toHaveLength(column === '--duplicates upload' ? 4 : 2);
  });
});

it.each([
  ['upload', 'duplicate', 2],
  ['--duplicates upload', 'uploaded', 4],
] as const)('%s of a renamed directory into one folder', async (column, outcome, count) => {
  const flat = (from: string) =>
    command(column, '/F', from).map((arg) => (arg === '--create-folders' ? '--flatten' : arg));
  await cli.run(['folders', 'create', '/F']);
  await cli.json(flat(directory));
  renameSync(directory, `${directory} of May`);
  expect(await outcomesOf(flat(`${directory} of May`))).toEqual({
    'a.bin': outcome,
    'b.bin': outcome,
  });
  expect(service.completeAssets).toHaveLength(count);
});

describe('what is skipped', () => {
  it('is named with its folder and name, in every form', async () => {
    const [first]: UploadRecord[] = await cli.json(['upload', join(directory, 'day1/a.bin')]);
    const copy = write('copy.bin', 'the content of a');
    const other = write('other.bin', 'the content of a');
    const one = await cli.run(['upload', copy]);
    expect(one.stderr).toContain('skipped, a duplicate of /a.bin');
    const many = await cli.run(['upload', copy, other, '-v']);
    expect(many.stdout.match(/skipped: duplicate of \/a\.bin/g)).toHaveLength(2);
    expect(await cli.json(['upload', copy])).toMatchObject([
      { outcome: 'duplicate', asset_name: 'a.bin', duplicate_of: '/a.bin', asset_uid: first?.asset_uid },
    ]);
    expect((await cli.run(['upload', copy, '-q'])).stdout).toBe(`${first?.asset_uid}\n`);
    const dry = await cli.run(['upload', copy, '-n']);
    expect([dry.code, dry.stdout]).toEqual([0, expect.stringContaining('duplicate')]);
    expect(await cli.json(['upload', copy, '-n'])).toMatchObject([{ outcome: 'duplicate', duplicate_of: '/a.bin' }]);
    const plan = await cli.run(['upload', copy, '--estimate']);
    expect([plan.code, plan.stderr]).toEqual([0, expect.stringContaining('1 duplicate content')]);
  });

  it('is skipped anywhere in the library with --duplicates skip-anywhere, and named with its folder', async () => {
    const path = join(directory, 'day1/a.bin');
    await cli.json(['upload', path, '/Archive/2026', '--create-folders']);
    const copy = write('copy.bin', 'the content of a');
    const skip = ['--duplicates', 'skip-anywhere'];
    const duplicate = { outcome: 'duplicate', duplicate_of: '/Archive/2026/a.bin' };
    expect(await cli.json(['upload', copy, '-n', ...skip])).toMatchObject([duplicate]);
    expect(await cli.json(['upload', copy, ...skip])).toMatchObject([duplicate]);
    const shown = await cli.run(['upload', copy, '-v', ...skip]);
    expect(shown.stdout).toContain('skipped: duplicate of /Archive/2026/a.bin');
    // The same file to another folder is a duplicate too.
    expect(await cli.json(['upload', path, '/Other', '--create-folders', ...skip])).toMatchObject([duplicate]);
    // It is uploaded once the other asset no longer exists.
    const [{ asset_uid: uid }] = await cli.json(['upload', copy, ...skip]);
    service.assets.delete(uid);
    expect(await cli.json(['upload', copy, '-n', ...skip])).toMatchObject([{ outcome: 'new' }]);
    expect(await cli.json(['upload', copy, ...skip])).toMatchObject([{ outcome: 'uploaded', duplicate_of: null }]);
  });

  it('is an asset of the folder that was asked for, with -q', async () => {
    const path = join(directory, 'day1/a.bin');
    await cli.json(['upload', path]);
    const { stdout } = await cli.run([...['upload', path, '--folder', '/Other', '--create-folders', '-q']]);
    expect(pathOf(service.assets.get(stdout.trim())?.folder)).toBe('/Other');
  });
});

describe('--sync of a renamed directory', () => {
  const sync = (...more: string[]) => [...command('--sync'), ...more];
  beforeEach(async () => {
    await cli.json(sync());
    renameSync(join(directory, 'day1'), join(directory, 'day one'));
  });

  it('says before anything is sent what happens, and what avoids it', async () => {
    const warning =
      /2 files of \S+\/rushes\/day1 are now in \S+\/rushes\/day one: they will be uploaded again, to \/F\/day one; the old assets in \/F\/day1 stay\. To avoid that, stop, run mediactl folders rename \/F\/day1 'day one', then/;
    expect((await cli.run(sync('-n'))).stderr).toMatch(warning);
    let isSaidBefore = false;
    const ran = await cli.run(sync(), {
      onStderr: (text) => {
        isSaidBefore ||= warning.test(text) && service.completeAssets.length === 2;
      },
    });
    expect([ran.code, isSaidBefore]).toEqual([0, true]);
    expect(ran.stderr).toContain('reading 2 files, 32 B');
    expect(service.completeAssets).toHaveLength(4);
    expect((await cli.run(sync())).stderr).not.toContain('are now in');
  });

  it('and --prune: the old assets go', async () => {
    const { stderr } = await cli.run(sync('--prune', '--yes'));
    expect(stderr).toContain('the old assets in /F/day1 move to the trash');
    expect(library()).toEqual(['/F/day one/a.bin', '/F/day one/b.bin']);
  });

  it('whose library folder is renamed too sends nothing, and --prune takes nothing', async () => {
    renameFolder('day1', 'day one');
    const { code, stderr } = await cli.run(sync('--prune', '--yes', '-n'));
    expect([code, stderr]).toEqual([0, expect.not.stringMatching(/trash|of 2 files/)]);
    expect((await cli.run(sync('--prune', '--yes'))).code).toBe(0);
    service.requests = 0;
    expect(await cli.json(sync('--prune', '--yes'))).toMatchObject([{ outcome: 'skipped' }, { outcome: 'skipped' }]);
    expect(library()).toEqual(['/F/day one/a.bin', '/F/day one/b.bin']);
  });

  it('of other content with the same names and sizes is read, and uploaded without a warning', async () => {
    write('day one/a.bin', 'the CONTENT of a');
    write('day one/b.bin', 'the CONTENT of b');
    renameFolder('day1', 'day one');
    const { stderr } = await cli.run(sync());
    expect(stderr).not.toContain('are now in');
    expect(service.completeAssets).toHaveLength(4);
  });
});

it('--sync of a directory that was renamed itself sends nothing', async () => {
  await cli.json(command('--sync'));
  renameSync(directory, `${directory} of May`);
  const again = command('--sync', '/F', `${directory} of May`);
  expect(await outcomesOf(again)).toEqual({ 'a.bin': 'skipped', 'b.bin': 'skipped' });
  expect(service.completeAssets).toHaveLength(2);
});
