import { cpSync, linkSync, mkdirSync, rmSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import type { UploadRecord } from '../../src/cli/uploading/upload-record.ts';
import { Cli } from '../support/cli.ts';
import { FakeService } from '../support/fake-service.ts';

/* A file that two paths lead to is one file: its asset is found by either. */

let service: FakeService;
let cli: Cli;
let directory: string;
beforeEach(async () => {
  service = await FakeService.start();
  cli = new Cli(service.environment);
  directory = join(cli.home, 'rushes');
  mkdirSync(join(directory, 'day1'), { recursive: true });
  for (const name of ['a.bin', 'b.bin']) {
    writeFileSync(join(directory, 'day1', name), `the content of ${name}`);
    utimesSync(join(directory, 'day1', name), 1_000, 1_000);
  }
});

const sync = async (path = directory, ...args: string[]) => {
  const { code, stdout } = await cli.run(['sync', path, '/F', '--create-folders', '--yes', '--json', ...args]);
  return { code, outcomes: JSON.parse(stdout).map(({ outcome }: UploadRecord) => outcome) };
};

/** Moves the directory to another disk, where it gets other inodes, and leaves a link in its place. */
function moveToOtherDisk(): string {
  const target = join(cli.home, 'other-disk');
  cpSync(directory, target, { recursive: true, preserveTimestamps: true });
  rmSync(directory, { recursive: true });
  symlinkSync(target, directory);
  return target;
}

describe('a directory that was moved, with a link in its place', () => {
  it('sync uploads nothing again, through the link or not, and prunes nothing', async () => {
    await sync();
    const uids = service.completeAssets.map(({ uid }) => uid);
    const target = moveToOtherDisk();
    const skipped = { code: 0, outcomes: ['skipped', 'skipped'] };
    expect((await sync(directory, '-n')).outcomes).toEqual(['skipped', 'skipped']);
    expect(await sync()).toEqual(skipped);
    expect(await sync(target, '--prune')).toEqual(skipped);
    expect(await sync(directory, '--prune')).toEqual(skipped);
    expect(service.completeAssets.map(({ uid }) => uid)).toEqual(uids);
  });

  it('check finds no difference after the move', async () => {
    await sync();
    moveToOtherDisk();
    expect((await cli.run(['check', directory, '/F'])).code).toBe(0);
  });
});

it('sync of a second path to the same files, such as a bind mount, uploads nothing and reads no byte', async () => {
  await sync();
  const second = join(cli.home, 'second');
  mkdirSync(join(second, 'day1'), { recursive: true });
  // Hard links stand in for a mount, which only root can make: the same device and inode at another path.
  for (const name of ['a.bin', 'b.bin']) linkSync(join(directory, 'day1', name), join(second, 'day1', name));
  expect((await sync(second)).outcomes).toEqual(['skipped', 'skipped']);
  expect((await sync()).outcomes).toEqual(['skipped', 'skipped']);
  expect(service.completeAssets).toHaveLength(2);
});

it('a file that replaces another of its name and size is not taken for it', async () => {
  await sync();
  const second = join(cli.home, 'second');
  mkdirSync(join(second, 'day1'), { recursive: true });
  writeFileSync(join(second, 'day1/a.bin'), 'THE CONTENT OF A.BIN'.slice(0, 'the content of a.bin'.length));
  expect((await sync(second)).outcomes).toEqual(['uploaded']);
});
