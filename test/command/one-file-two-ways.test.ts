import { cpSync, linkSync, mkdirSync, renameSync, rmSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs';
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

/** Makes a copy of the directory whose files are hard links, as `cp -al` does. */
function linkCopy(): string {
  const second = join(cli.home, 'second');
  mkdirSync(join(second, 'day1'), { recursive: true });
  for (const name of ['a.bin', 'b.bin']) linkSync(join(directory, 'day1', name), join(second, 'day1', name));
  return second;
}

const prune = (path: string) => sync(path, '--prune', '--wait');
const isThere = (uid: string) => service.completeAssets.some((asset) => asset.uid === uid);
const uidOf = (name: string) => service.completeAssets.find((asset) => asset.name === name)?.uid ?? '';

describe('a copy of a directory that consists of hard links', () => {
  it('sync uploads nothing again, from the copy or the directory', async () => {
    await sync();
    const second = linkCopy();
    expect((await sync(second)).outcomes).toEqual(['skipped', 'skipped']);
    expect((await sync()).outcomes).toEqual(['skipped', 'skipped']);
    expect(service.completeAssets).toHaveLength(2);
  });

  it('sync --prune keeps the asset of a file that is deleted in one of the two, until it is deleted in both', async () => {
    await sync();
    const second = linkCopy();
    await sync(second);
    const uid = uidOf('a.bin');
    rmSync(join(second, 'day1/a.bin'));
    await prune(second);
    expect(isThere(uid)).toBe(true);
    rmSync(join(directory, 'day1/a.bin'));
    await prune(directory);
    expect(isThere(uid)).toBe(false);
    expect(service.completeAssets).toHaveLength(1);
  });

  it('sync --prune keeps the asset of a file that was replaced in one of the two', async () => {
    await sync();
    await sync(linkCopy());
    const uid = uidOf('a.bin');
    rmSync(join(directory, 'day1/a.bin'));
    writeFileSync(join(directory, 'day1/a.bin'), 'new content');
    expect((await prune(directory)).outcomes).toEqual(['uploaded', 'skipped']);
    expect(isThere(uid)).toBe(true);
  });
});

describe('a directory that was renamed, whose name another one has', () => {
  /** Renames the directory, and writes other files of the same names in its place. */
  function takeName(): string {
    const renamed = join(cli.home, 'card-1');
    renameSync(directory, renamed);
    mkdirSync(join(directory, 'day1'), { recursive: true });
    writeFileSync(join(directory, 'day1/a.bin'), 'THE CONTENT OF A.BIN');
    writeFileSync(join(directory, 'day1/b.bin'), 'longer than the first b.bin');
    return renamed;
  }

  it('sync uploads the files of the renamed directory not again, and those of the other one as new assets', async () => {
    await sync();
    const uids = service.completeAssets.map(({ uid }) => uid);
    const renamed = takeName();
    expect((await sync(renamed)).outcomes).toEqual(['skipped', 'skipped']);
    expect((await sync()).outcomes).toEqual(['uploaded', 'uploaded']);
    expect((await sync(renamed)).outcomes).toEqual(['skipped', 'skipped']);
    await prune(directory);
    expect(service.completeAssets).toHaveLength(4);
    expect(uids.every(isThere)).toBe(true);
  });

  it('sync finds the assets of the renamed directory although the other one is uploaded first', async () => {
    await sync();
    const renamed = takeName();
    expect((await sync()).outcomes).toEqual(['uploaded', 'uploaded']);
    expect((await sync(renamed)).outcomes).toEqual(['skipped', 'skipped']);
    expect(service.completeAssets).toHaveLength(4);
  });

  it('sync takes a file that was only touched, and the files of a copy of the directory, for the uploaded ones', async () => {
    await sync();
    const copy = join(cli.home, 'copy');
    cpSync(directory, copy, { recursive: true });
    utimesSync(join(directory, 'day1/a.bin'), 2_000, 2_000);
    expect((await sync(copy)).outcomes).toEqual(['skipped', 'skipped']);
    expect((await sync()).outcomes).toEqual(['skipped', 'skipped']);
    expect(service.completeAssets).toHaveLength(2);
  });
});

it('a file that replaces another of its name and size is not taken for it', async () => {
  await sync();
  const second = join(cli.home, 'second');
  mkdirSync(join(second, 'day1'), { recursive: true });
  writeFileSync(join(second, 'day1/a.bin'), 'THE CONTENT OF A.BIN'.slice(0, 'the content of a.bin'.length));
  expect((await sync(second)).outcomes).toEqual(['uploaded']);
});
