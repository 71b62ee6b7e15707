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

describe.each(columns)('duplicates with %s', (column) => {
  const skipped = column === 'upload' ? 'duplicate' : 'uploaded';
  beforeEach(async () => {
    await cli.json(command(column));
    expect(library()).toEqual(['/F/day1/a.bin', '/F/day1/b.bin']);
  });

  it('upload skips an unchanged or touched file at the same path in the same folder', async () => {
    expect(await outcomesOf(command(column))).toEqual({ 'a.bin': 'skipped', 'b.bin': 'skipped' });
    utimesSync(join(directory, 'day1/a.bin'), 1, 1);
    expect(await outcomesOf(command(column))).toEqual({ 'a.bin': 'skipped', 'b.bin': 'skipped' });
    expect(service.completeAssets).toHaveLength(2);
  });

  it('upload sends a file again if its content has changed', async () => {
    write('day1/a.bin', 'other content here');
    expect(await outcomesOf(command(column))).toEqual({ 'a.bin': 'uploaded', 'b.bin': 'skipped' });
    expect(library()).toEqual(['/F/day1/a.bin', '/F/day1/a.bin', '/F/day1/b.bin']);
  });

  it('upload skips a copy in the same folder, but not with --sync or --duplicates upload', async () => {
    write('day1/copy.bin', 'the content of a');
    expect(await outcomesOf(command(column))).toMatchObject({ 'copy.bin': skipped });
    expect(service.completeAssets).toHaveLength(skipped === 'duplicate' ? 2 : 3);
  });

  it('upload sends files again if --folder names another folder', async () => {
    expect(await outcomesOf(command(column, '/Other'))).toEqual({
      'a.bin': 'uploaded',
      'b.bin': 'uploaded',
    });
    expect(library()).toContain('/Other/day1/a.bin');
  });

  it('upload sends a copy of a file whose content is only in another folder', async () => {
    write('day2/copy.bin', 'the content of a');
    expect(await outcomesOf(command(column))).toMatchObject({ 'copy.bin': 'uploaded' });
    expect(library()).toContain('/F/day2/copy.bin');
  });

  it('upload sends the files of a renamed directory again, to the new folder', async () => {
    renameSync(join(directory, 'day1'), join(directory, 'day one'));
    expect(await outcomesOf(command(column))).toEqual({ 'a.bin': 'uploaded', 'b.bin': 'uploaded' });
    expect(library()).toContain('/F/day one/a.bin');
  });

  it('upload skips a renamed directory if its library folder is renamed too, but not with --duplicates upload', async () => {
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
] as const)('%s of a renamed directory to one flat folder reports the outcome “%s”', async (column, outcome, count) => {
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

describe('skipped files', () => {
  it('upload names the asset that a skipped file duplicates in every output format', async () => {
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

  it('upload --duplicates skip-anywhere skips content of any folder of the library and names that folder', async () => {
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

  it('upload -q prints the uid of the asset in the requested folder', async () => {
    const path = join(directory, 'day1/a.bin');
    await cli.json(['upload', path]);
    const { stdout } = await cli.run([...['upload', path, '--folder', '/Other', '--create-folders', '-q']]);
    expect(pathOf(service.assets.get(stdout.trim())?.folder)).toBe('/Other');
  });
});

describe('upload --sync of a renamed directory', () => {
  const sync = (...more: string[]) => [...command('--sync'), ...more];
  beforeEach(async () => {
    await cli.json(sync());
    renameSync(join(directory, 'day1'), join(directory, 'day one'));
  });

  it('upload --sync warns about a renamed directory before it sends files, and suggests folders rename', async () => {
    const warning =
      /2 files of \S+\/rushes\/day1 are now in \S+\/rushes\/day one: they will be uploaded again, to \/F\/day one; the old assets in \/F\/day1 stay\. To avoid that, stop, run mediactl folders rename \/F\/day1 'day one', then/;
    expect((await cli.run(sync('-n'))).stderr).toMatch(warning);
    let isWarnedBefore = false;
    const ran = await cli.run(sync(), {
      onStderr: (text) => {
        isWarnedBefore ||= warning.test(text) && service.completeAssets.length === 2;
      },
    });
    expect([ran.code, isWarnedBefore]).toEqual([0, true]);
    expect(ran.stderr).toContain('reading 2 files, 32 B');
    expect(service.completeAssets).toHaveLength(4);
    expect((await cli.run(sync())).stderr).not.toContain('are now in');
  });

  it('upload --sync --prune of a renamed directory trashes the old assets', async () => {
    const { stderr } = await cli.run(sync('--prune', '--yes'));
    expect(stderr).toContain('the old assets in /F/day1 move to the trash');
    expect(library()).toEqual(['/F/day one/a.bin', '/F/day one/b.bin']);
  });

  it('upload --sync --prune sends and trashes nothing if the library folder is renamed like the directory', async () => {
    renameFolder('day1', 'day one');
    const { code, stderr } = await cli.run(sync('--prune', '--yes', '-n'));
    expect([code, stderr]).toEqual([0, expect.not.stringMatching(/trash|of 2 files/)]);
    expect((await cli.run(sync('--prune', '--yes'))).code).toBe(0);
    service.requests = 0;
    expect(await cli.json(sync('--prune', '--yes'))).toMatchObject([{ outcome: 'skipped' }, { outcome: 'skipped' }]);
    expect(library()).toEqual(['/F/day one/a.bin', '/F/day one/b.bin']);
  });

  it('upload --sync sends a renamed directory without a warning if only names and sizes are the same', async () => {
    write('day one/a.bin', 'the CONTENT of a');
    write('day one/b.bin', 'the CONTENT of b');
    renameFolder('day1', 'day one');
    const { stderr } = await cli.run(sync());
    expect(stderr).not.toContain('are now in');
    expect(service.completeAssets).toHaveLength(4);
  });
});

it('upload --sync sends nothing if the synced directory itself is renamed', async () => {
  await cli.json(command('--sync'));
  renameSync(directory, `${directory} of May`);
  const again = command('--sync', '/F', `${directory} of May`);
  expect(await outcomesOf(again)).toEqual({ 'a.bin': 'skipped', 'b.bin': 'skipped' });
  expect(service.completeAssets).toHaveLength(2);
});
