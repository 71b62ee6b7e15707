import { mkdirSync, renameSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
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
  writeFileAt('day1/a.bin', 'the content of a');
  writeFileAt('day1/b.bin', 'the content of b');
});

function writeFileAt(path: string, text: string): string {
  const file = join(directory, path);
  mkdirSync(join(file, '..'), { recursive: true });
  writeFileSync(file, text);
  return file;
}

function pathOf(uid: string | undefined): string {
  const folder = service.folders.find((each) => each.uid === uid);
  return folder ? `${pathOf(folder.parent)}/${folder.name}` : '';
}

const libraryPaths = () => service.completeAssets.map(({ name, folder }) => `${pathOf(folder)}/${name}`).sort();

const renameFolder = (from: string, to: string) => {
  const folder = service.folders.find(({ name }) => name === from);
  if (folder) folder.name = to;
};

type Mode = 'upload' | 'sync' | '--existing file';
const modes: readonly Mode[] = ['upload', 'sync', '--existing file'];

/** Builds the command that uploads a directory to a folder and mirrors its subdirectories. */
const uploadCommand = (mode: Mode, { to = '/F', from = directory } = {}) => [
  ...(mode === 'sync' ? ['sync'] : ['upload', '--create-folders']),
  ...(mode === '--existing file' ? ['--existing', 'file'] : []),
  ...[from, '--folder', to],
];

/** Runs a command and expects the same from `-n` before, file by file and in its totals. @returns outcomes by file name */
async function outcomesOf(args: readonly string[]): Promise<Record<string, string>> {
  const dryRun: UploadRecord[] = await cli.json([...args, '-n']);
  const { stderr: totals } = await cli.run([...args, '-n']);
  const items: UploadRecord[] = await cli.json(args);
  const outcomes = outcomesByName(items);
  const isSent = (outcome: string) => ['new', 'changed'].includes(outcome);
  const planned = dryRun.map((item) => ({ ...item, outcome: isSent(item.outcome) ? 'uploaded' : item.outcome }));
  expect(outcomesByName(planned)).toEqual(outcomes);
  const count = (kind: string) => items.filter(({ outcome }) => outcome === kind).length;
  const counted = (words: string) => Number(new RegExp(`(\\d+) ${words}`).exec(totals)?.[1] ?? 0);
  expect([
    counted('already uploaded'),
    counted('skipped: duplicate content'),
    counted('new') + counted('changed'),
  ]).toEqual(['skipped', 'duplicate', 'uploaded'].map(count));
  return outcomes;
}

const outcomesByName = (items: readonly UploadRecord[]) =>
  Object.fromEntries(items.map(({ path, outcome }) => [path.split('/').at(-1), outcome]));

describe.each(modes)('duplicates with %s', (uploadVariant) => {
  const uploadBothFilesFirst = async () => {
    await cli.json(uploadCommand(uploadVariant));
    expect(libraryPaths()).toEqual(['/F/day1/a.bin', '/F/day1/b.bin']);
  };

  it('upload skips an unchanged or touched file at the same path in the same folder', async () => {
    await uploadBothFilesFirst();
    expect(await outcomesOf(uploadCommand(uploadVariant))).toEqual({ 'a.bin': 'skipped', 'b.bin': 'skipped' });
    utimesSync(join(directory, 'day1/a.bin'), 1, 1);
    expect(await outcomesOf(uploadCommand(uploadVariant))).toEqual({ 'a.bin': 'skipped', 'b.bin': 'skipped' });
    expect(service.completeAssets).toHaveLength(2);
  });

  it('upload sends a file again if its content has changed', async () => {
    await uploadBothFilesFirst();
    writeFileAt('day1/a.bin', 'other content here');
    expect(await outcomesOf(uploadCommand(uploadVariant))).toEqual({ 'a.bin': 'uploaded', 'b.bin': 'skipped' });
    expect(libraryPaths()).toEqual(['/F/day1/a.bin', '/F/day1/a.bin', '/F/day1/b.bin']);
  });

  it('a copy in the same folder is a file of its own, in the second run as in the first', async () => {
    await uploadBothFilesFirst();
    writeFileAt('day1/copy.bin', 'the content of a');
    expect(await outcomesOf(uploadCommand(uploadVariant))).toMatchObject({ 'copy.bin': 'uploaded' });
    expect(service.completeAssets).toHaveLength(3);
  });

  it('upload sends files again if --folder names another folder', async () => {
    await uploadBothFilesFirst();
    const uploadToOther = uploadCommand(uploadVariant, { to: '/Other' });
    expect(await outcomesOf(uploadToOther)).toEqual({ 'a.bin': 'uploaded', 'b.bin': 'uploaded' });
    expect(libraryPaths()).toContain('/Other/day1/a.bin');
  });

  it('upload sends a copy of a file whose content is only in another folder', async () => {
    await uploadBothFilesFirst();
    writeFileAt('day2/copy.bin', 'the content of a');
    expect(await outcomesOf(uploadCommand(uploadVariant))).toMatchObject({ 'copy.bin': 'uploaded' });
    expect(libraryPaths()).toContain('/F/day2/copy.bin');
  });

  it('upload sends the files of a renamed directory again, to the new folder, and a sync moves their assets', async () => {
    await uploadBothFilesFirst();
    renameSync(join(directory, 'day1'), join(directory, 'day one'));
    const expected = uploadVariant === 'sync' ? 'moved' : 'uploaded';
    expect(await outcomesOf(uploadCommand(uploadVariant))).toEqual({ 'a.bin': expected, 'b.bin': expected });
    expect(libraryPaths()).toContain('/F/day one/a.bin');
    expect(service.completeAssets).toHaveLength(uploadVariant === 'sync' ? 2 : 4);
  });

  it('upload keeps the assets of a renamed directory if its library folder is renamed too', async () => {
    await uploadBothFilesFirst();
    renameSync(join(directory, 'day1'), join(directory, 'day one'));
    renameFolder('day1', 'day one');
    expect(await outcomesOf(uploadCommand(uploadVariant))).toEqual({ 'a.bin': 'skipped', 'b.bin': 'skipped' });
    expect(service.completeAssets).toHaveLength(2);
  });
});

it.each([
  ['upload', 'skipped', 2],
  ['--existing file', 'skipped', 2],
] as const)('%s of a renamed directory to one flat folder reports the outcome “%s”', async (mode, outcome, count) => {
  const flatUpload = (from: string) =>
    uploadCommand(mode, { from }).map((arg) => (arg === '--create-folders' ? '--flatten' : arg));
  await cli.run(['folders', 'create', '/F']);
  await cli.json(flatUpload(directory));
  renameSync(directory, `${directory} of May`);
  expect(await outcomesOf(flatUpload(`${directory} of May`))).toEqual({ 'a.bin': outcome, 'b.bin': outcome });
  expect(service.completeAssets).toHaveLength(count);
});

it('of two copies of a file that is gone, one is that file under another name, and the other is a file of its own', async () => {
  const flat = ['upload', directory, '--folder', '/F', '--create-folders', '--flatten'];
  await cli.json(flat);
  for (const name of ['one.bin', 'two.bin']) writeFileAt(`day1/${name}`, 'the content of a');
  rmSync(join(directory, 'day1/a.bin'));
  for (const sent of [1, 0]) {
    const outcomes = Object.values(outcomesByName(await cli.json(flat)));
    expect([outcomes.filter((each) => each === 'uploaded').length, service.completeAssets.length]).toEqual([sent, 3]);
  }
});

describe('skipped files', () => {
  it('upload names the asset that a skipped file duplicates in every output format', async () => {
    const [original]: UploadRecord[] = await cli.json(['upload', join(directory, 'day1/a.bin')]);
    const copy = writeFileAt('copy.bin', 'the content of a');
    const secondCopy = writeFileAt('other.bin', 'the content of a');
    const singleRun = await cli.run(['upload', copy]);
    expect(singleRun.stderr).toContain('skipped: duplicate of /a.bin');
    const verboseRun = await cli.run(['upload', copy, secondCopy, '-v', '--existing', 'content']);
    expect(verboseRun.stdout.match(/skipped: duplicate of \/a\.bin/g)).toHaveLength(2);
    expect(await cli.json(['upload', copy])).toMatchObject([
      { outcome: 'duplicate', asset_name: 'a.bin', duplicate_of: '/a.bin', asset_uid: original?.asset_uid },
    ]);
    expect((await cli.run(['upload', copy, '-q'])).stdout).toBe(`${original?.asset_uid}\n`);
    const dryRun = await cli.run(['upload', copy, '-n']);
    expect([dryRun.code, dryRun.stdout]).toEqual([0, expect.stringContaining('duplicate')]);
    expect(dryRun.stderr).toContain('1 skipped: duplicate content');
    expect(await cli.json(['upload', copy, '-n'])).toMatchObject([{ outcome: 'duplicate', duplicate_of: '/a.bin' }]);
  });

  it('upload --existing anywhere skips content of any folder of the library and names that folder', async () => {
    const path = join(directory, 'day1/a.bin');
    await cli.json(['upload', path, '/Archive/2026', '--create-folders']);
    const copy = writeFileAt('copy.bin', 'the content of a');
    const skipAnywhere = ['--existing', 'anywhere'];
    const duplicate = { outcome: 'duplicate', duplicate_of: '/Archive/2026/a.bin' };
    expect(await cli.json(['upload', copy, '-n', ...skipAnywhere])).toMatchObject([duplicate]);
    expect(await cli.json(['upload', copy, ...skipAnywhere])).toMatchObject([duplicate]);
    const verboseRun = await cli.run(['upload', copy, '-v', ...skipAnywhere]);
    expect(verboseRun.stdout).toContain('skipped: duplicate of /Archive/2026/a.bin');
    // The same file to another folder is a duplicate too.
    expect(await cli.json(['upload', path, '/Other', '--create-folders', ...skipAnywhere])).toMatchObject([duplicate]);
    // It is uploaded once the other asset no longer exists.
    const [{ asset_uid: uid }] = await cli.json(['upload', copy, ...skipAnywhere]);
    service.assets.delete(uid);
    expect(await cli.json(['upload', copy, '-n', ...skipAnywhere])).toMatchObject([{ outcome: 'new' }]);
    expect(await cli.json(['upload', copy, ...skipAnywhere])).toMatchObject([
      { outcome: 'uploaded', duplicate_of: null },
    ]);
  });

  it('upload -q prints the uid of the asset in the requested folder', async () => {
    const path = join(directory, 'day1/a.bin');
    await cli.json(['upload', path]);
    const { stdout } = await cli.run([...['upload', path, '--folder', '/Other', '--create-folders', '-q']]);
    expect(pathOf(service.assets.get(stdout.trim())?.folder)).toBe('/Other');
  });
});

describe('sync of a renamed directory', () => {
  const sync = (...more: string[]) => [...uploadCommand('sync'), ...more];
  const uploadAndRenameDay1 = async () => {
    await cli.json(sync());
    renameSync(join(directory, 'day1'), join(directory, 'day one'));
  };

  it('sync --prune sends and trashes nothing if the library folder is renamed like the directory', async () => {
    await uploadAndRenameDay1();
    renameFolder('day1', 'day one');
    const { code, stderr } = await cli.run(sync('--prune', '--yes', '-n'));
    expect([code, stderr]).toEqual([0, expect.not.stringMatching(/trash|of 2 files/)]);
    expect((await cli.run(sync('--prune', '--yes'))).code).toBe(0);
    service.requestCount = 0;
    expect(await cli.json(sync('--prune', '--yes'))).toMatchObject([{ outcome: 'skipped' }, { outcome: 'skipped' }]);
    expect(libraryPaths()).toEqual(['/F/day one/a.bin', '/F/day one/b.bin']);
  });

  it('sync sends a renamed directory if only names and sizes are the same', async () => {
    await uploadAndRenameDay1();
    writeFileAt('day one/a.bin', 'the CONTENT of a');
    writeFileAt('day one/b.bin', 'the CONTENT of b');
    renameFolder('day1', 'day one');
    await cli.run(sync());
    expect(service.completeAssets).toHaveLength(4);
  });
});

it('sync sends nothing if the synced directory itself is renamed', async () => {
  await cli.json(uploadCommand('sync'));
  renameSync(directory, `${directory} of May`);
  const syncOfRenamed = uploadCommand('sync', { from: `${directory} of May` });
  expect(await outcomesOf(syncOfRenamed)).toEqual({ 'a.bin': 'skipped', 'b.bin': 'skipped' });
  expect(service.completeAssets).toHaveLength(2);
});
