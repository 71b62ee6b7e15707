import { mkdirSync, readdirSync, renameSync, rmSync, statSync, symlinkSync, unlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { isInShard } from '../../src/client/upload/sources/upload-file.ts';
import { Cli, type CliOptions } from '../support/cli.ts';
import { acceleratedClock, clockWithStopTime } from '../support/clock.ts';
import type { LibraryOptions } from '../support/fake-library.ts';
import { FakeService, respondWithError } from '../support/fake-service.ts';
import { FaultProxy, respondWith } from '../support/fault-proxy.ts';
import { createLatch } from '../support/latch.ts';
import { mediactl } from '../support/spawn.ts';

/* Assets that `sync --prune` moves to the trash, and the limits of --yes. */

let service: FakeService;
let cli: Cli;
let directory: string;
beforeEach(async () => {
  service = await FakeService.start({ shows: ['parent'] });
  cli = new Cli(service.environment);
  directory = join(cli.home, 'rushes');
});

function writeFileAt(path: string, text = path): void {
  const place = join(directory, path);
  mkdirSync(join(place, '..'), { recursive: true });
  writeFileSync(place, text);
}

const writeFiles = (folder: string, { count }: { count: number }) => {
  for (let n = 0; n < count; n++) writeFileAt(`${folder}/${n}.bin`);
};

const prune = (args: readonly string[] = ['--yes'], options: CliOptions = {}) =>
  cli.run(['sync', directory, '--folder', '/F', '--prune', ...args], options);

const assetNames = () => service.completeAssets.map(({ name }) => name).sort();

describe('sync --prune after a move on the service', () => {
  let keepFolder: { uid: string; name: string; parent: string | undefined };
  const syncThenMoveOneAssetAndDeleteTwoFiles = async () => {
    for (const name of ['moved.bin', 'gone.bin', 'stays.bin']) writeFileAt(name);
    await prune();
    await cli.run(['folders', 'create', '/Keep']);
    keepFolder = service.folders.find(({ name }) => name === 'Keep') as typeof keepFolder;
    for (const asset of service.assets.values()) if (asset.name === 'moved.bin') asset.folder = keepFolder.uid;
    unlinkSync(join(directory, 'moved.bin'));
    unlinkSync(join(directory, 'gone.bin'));
  };

  it('--prune keeps an asset that was moved out of the folder, and does not count it in the prompt', async () => {
    await syncThenMoveOneAssetAndDeleteTwoFiles();
    const dryRun = await prune(['-n']);
    expect(dryRun.stderr).toContain('move 1 asset to the trash');
    expect(dryRun.stdout).not.toContain('moved.bin');
    const declined = await prune([], { tty: true, columns: 300, stdin: 'n\n' });
    expect(declined.stderr).toContain('moved.bin; its asset is kept, because it was moved to /Keep');
    expect(declined.stderr).toContain('Move 1 asset of /F to the trash? The API cannot restore it.');
    expect(assetNames()).toEqual(['gone.bin', 'moved.bin', 'stays.bin']);
    expect((await prune()).stderr).toContain('moved 1 asset to the trash');
    expect(assetNames()).toEqual(['moved.bin', 'stays.bin']);
    service.requestCount = 0;
    const secondRun = await prune();
    expect([secondRun.code, secondRun.stderr]).toEqual([0, expect.not.stringContaining('moved')]);
    // The moved asset is not requested again: the only requests are two for the folder tree.
    expect(service.requestCount).toBe(2);
  });

  it('sync uploads a restored file again if its asset was moved out of the folder', async () => {
    await syncThenMoveOneAssetAndDeleteTwoFiles();
    await prune();
    writeFileAt('moved.bin');
    await prune();
    expect(assetNames()).toEqual(['moved.bin', 'moved.bin', 'stays.bin']);
  });

  it('--prune trashes the asset of a deleted file if it was moved to a subfolder', async () => {
    await syncThenMoveOneAssetAndDeleteTwoFiles();
    keepFolder.parent = service.folders.find(({ name }) => name === 'F')?.uid;
    await prune();
    expect(assetNames()).toEqual(['stays.bin']);
  });

  it('--prune keeps an asset that was moved to the top level', async () => {
    await syncThenMoveOneAssetAndDeleteTwoFiles();
    for (const asset of service.assets.values()) if (asset.name === 'moved.bin') asset.folder = undefined;
    expect((await prune()).stderr).toContain('its asset is kept, because it was moved to /');
    expect(assetNames()).toEqual(['moved.bin', 'stays.bin']);
  });
});

describe('sync --prune of an unmounted disk', () => {
  /** Expects that --yes alone is refused, and that `--max-changes` with the first number of the reason is accepted. */
  async function expectPruneIsRefused(reason: string) {
    const count = Number.parseInt(reason, 10);
    const before = assetNames();
    for (let run = 0; run < 2; run++) {
      const { code, stderr } = await prune();
      expect([code, stderr]).toEqual([2, expect.stringContaining(reason)]);
      expect(stderr).toContain('a disk may not be mounted');
      expect(stderr).toContain(`--max-changes ${count}`);
      expect(assetNames()).toEqual(expect.arrayContaining(before));
    }
    const json = await prune(['--yes', '--json']);
    expect([json.code, Array.isArray(JSON.parse(json.stdout))]).toEqual([2, true]);
    const dryRun = await prune(['-n']);
    expect([dryRun.code, dryRun.stderr]).toEqual([0, expect.stringContaining(reason)]);
    const assetCount = service.completeAssets.length;
    expect((await prune(['--yes', '--max-changes', String(count)])).code).toBe(0);
    expect(service.completeAssets).toHaveLength(assetCount - count);
  }

  it('--prune --yes exits with 2 and trashes nothing if the directory contains only a new file', async () => {
    writeFiles('.', { count: 6 });
    await prune();
    rmSync(directory, { recursive: true });
    writeFileAt('NOT_MOUNTED');
    await expectPruneIsRefused(`6 of 6 files that were uploaded from ${directory} are missing`);
    expect(assetNames()).toEqual(['NOT_MOUNTED']);
  });

  it('--prune --yes exits with 2 if a subdirectory is empty', async () => {
    writeFiles('day1', { count: 3 });
    writeFiles('day2', { count: 3 });
    await prune();
    for (const name of readdirSync(join(directory, 'day1'))) unlinkSync(join(directory, 'day1', name));
    await expectPruneIsRefused(`3 of 3 files that were uploaded from ${directory}/day1 are missing`);
  });

  it('--prune --yes exits with 2 if a link to an empty directory replaces a subdirectory', async () => {
    writeFiles('day1', { count: 3 });
    writeFiles('day2', { count: 3 });
    await prune();
    rmSync(join(directory, 'day1'), { recursive: true });
    mkdirSync(join(cli.home, 'empty'));
    symlinkSync(join(cli.home, 'empty'), join(directory, 'day1'));
    await expectPruneIsRefused(`3 of 3 files that were uploaded from ${directory}/day1 are missing`);
  });

  it('--prune --yes exits with 2 if more than half of the files of a subdirectory are missing', async () => {
    writeFiles('day1', { count: 20 });
    writeFiles('day2', { count: 20 });
    await prune();
    for (let n = 0; n < 11; n++) unlinkSync(join(directory, `day1/${n}.bin`));
    await expectPruneIsRefused(`11 of 20 files that were uploaded from ${directory}/day1 are missing`);
  });

  it('--prune --yes sends and trashes nothing after the disk is mounted again', async () => {
    writeFiles('.', { count: 6 });
    await prune();
    renameSync(directory, `${directory} elsewhere`);
    writeFileAt('NOT_MOUNTED');
    expect((await prune()).code).toBe(2);
    rmSync(directory, { recursive: true });
    renameSync(`${directory} elsewhere`, directory);
    expect((await prune()).code).toBe(0);
    expect(assetNames()).toHaveLength(6);
  });

  it('--prune asks for the number of assets on a terminal if a disk may not be mounted', async () => {
    writeFiles('day1', { count: 3 });
    writeFiles('day2', { count: 3 });
    await prune();
    for (let n = 0; n < 3; n++) unlinkSync(join(directory, `day1/${n}.bin`));
    const confirmedByY = await prune([], { tty: true, stdin: 'y\n' });
    expect([confirmedByY.code, service.completeAssets.length]).toEqual([2, 6]);
    const { code, stderr } = await prune([], { tty: true, columns: 300, stdin: '3\n' });
    expect([code, service.completeAssets.length]).toEqual([0, 3]);
    expect(stderr).toContain('Type 3 to continue');
    expect(stderr).toContain('are missing: a disk may not be mounted');
  });
});

it('--prune --yes needs no --max-changes for a few deleted files or a small deleted directory', async () => {
  writeFiles('day1', { count: 30 });
  writeFiles('day2', { count: 3 });
  await prune();
  for (let n = 0; n < 10; n++) unlinkSync(join(directory, `day1/${n}.bin`));
  rmSync(join(directory, 'day2'), { recursive: true });
  expect((await prune()).code).toBe(0);
  expect(service.completeAssets).toHaveLength(20);
});

it('--prune with -n announces no deletion that the run would refuse', async () => {
  writeFiles('.', { count: 12 });
  await prune();
  rmSync(directory, { recursive: true });
  writeFileAt('NOT_MOUNTED');
  const { code, stderr } = await prune(['--yes', '-n']);
  expect([code, stderr]).toEqual([0, expect.stringContaining('--max-changes 12')]);
  expect(stderr).not.toContain('to the trash');
});

it('--prune trashes nothing while another process uploads a file of the directory', async () => {
  const { opened: chunkReleased, open: releaseChunk } = createLatch();
  let isHeld = false;
  const proxy = await FaultProxy.start(service.url, ({ method }) =>
    isHeld && method === 'PATCH' ? { beforeResponse: () => chunkReleased } : undefined,
  );
  cli = new Cli({ ...service.environment, MEDIACTL_BASE_URL: proxy.url });
  directory = join(cli.home, 'rushes');
  for (const name of ['a.bin', 'b.bin', 'c.bin']) writeFileAt(name);
  await prune();
  unlinkSync(join(directory, 'b.bin'));
  writeFileAt('new.bin');
  isHeld = true;
  const otherUpload = cli.run(['upload', join(directory, 'new.bin'), '--folder', '/F']);
  await expect.poll(() => service.assets.size).toBe(4);
  const { stderr } = await prune();
  expect(stderr).toContain('nothing was moved to the trash');
  expect(assetNames()).toContain('b.bin');
  releaseChunk();
  expect((await otherUpload).code).toBe(0);
  expect((await prune()).stderr).toContain('moved 1 asset to the trash');
});

it('--prune trashes the old assets of renamed files, if the service refuses to move them, only when the new ones are ready', async () => {
  const options: LibraryOptions = { shows: ['parent'], readyAfterMs: 0 };
  service = await FakeService.start(options);
  service.fault = ({ method, path }) =>
    method === 'PATCH' && !path.startsWith('/upload/') ? respondWithError(403) : undefined;
  cli = new Cli(service.environment);
  directory = join(cli.home, 'rushes');
  for (const name of ['day1/a.bin', 'day1/b.bin', 'c.bin']) writeFileAt(name);
  await prune();
  options.readyAfterMs = 3_600_000;
  renameSync(join(directory, 'day1'), join(directory, 'day2'));
  expect((await prune()).stderr).not.toContain('to the trash');
  expect(service.completeAssets).toHaveLength(5);
  options.readyAfterMs = 0;
  expect((await prune()).stderr).toContain('moved 2 assets to the trash');
  expect(service.completeAssets).toHaveLength(3);
});

it('--prune needs no --max-changes if all missing files of a directory wait for their new assets', async () => {
  const options: LibraryOptions = { shows: ['parent'], readyAfterMs: 0 };
  service = await FakeService.start(options);
  cli = new Cli(service.environment);
  directory = join(cli.home, 'rushes');
  for (const name of ['day1/a.bin', 'day1/b.bin']) writeFileAt(name);
  await prune();
  options.readyAfterMs = 3_600_000;
  renameSync(join(directory, 'day1'), join(directory, 'day2'));
  mkdirSync(join(directory, 'day1')); // as the mount point of a disk
  const folder = service.folders.find(({ name }) => name === 'day1');
  if (folder) folder.name = 'first day';
  const { code, stderr } = await prune();
  expect([code, stderr]).toEqual([0, expect.stringContaining('2 old assets kept until the new ones are ready')]);
  options.readyAfterMs = 0;
  const refused = await prune();
  expect([refused.code, refused.stderr]).toEqual([2, expect.stringContaining('--yes --max-changes 2')]);
  expect((await prune(['--yes', '--max-changes', '2'])).code).toBe(0);
  expect(service.completeAssets).toHaveLength(2);
});

describe('a prune that was stopped', () => {
  let deletionsLeft: number;
  let environment: Record<string, string | undefined>;
  beforeEach(async () => {
    deletionsLeft = Number.POSITIVE_INFINITY;
    const proxy = await FaultProxy.start(service.url, ({ method }) =>
      method === 'DELETE' && --deletionsLeft < 0 ? respondWith(401, { error: {} }) : undefined,
    );
    environment = { ...service.environment, MEDIACTL_BASE_URL: proxy.url };
    cli = new Cli(environment);
    directory = join(cli.home, 'rushes');
  });
  const states = async () =>
    (await cli.json(['history'])).map(({ state, done_count }: { state: string; done_count: number }) => [
      state,
      done_count,
    ]);

  it('stays a change of its own when another directory with the same relative name is pruned', async () => {
    const names = ['1.bin', '2.bin', '3.bin', '4.bin', '5.bin'];
    for (const each of ['one', 'other']) for (const name of names) writeFileAt(`${each}/${each} ${name}`);
    const folders = { MEDIACTL_CONFIG_DIR: join(cli.home, 'config'), MEDIACTL_STATE_DIR: join(cli.home, 'state') };
    const prune = (each: string) =>
      mediactl(['sync', '.', '/F', '--prune', '--yes'], { ...environment, ...folders }, join(directory, each)).finished;
    for (const each of ['one', 'other']) expect((await prune(each)).code).toBe(0);
    for (const path of ['one/one 1.bin', 'one/one 2.bin', 'other/other 1.bin']) unlinkSync(join(directory, path));
    deletionsLeft = 1;
    expect((await prune('one')).code).not.toBe(0);
    deletionsLeft = Number.POSITIVE_INFINITY;
    expect((await prune('other')).code).toBe(0);
    expect(await states()).toEqual([
      ['finished', 1],
      ['interrupted', 1],
    ]);
    expect((await prune('one')).code).toBe(0);
    expect(await states()).toEqual([
      ['finished', 2],
      ['finished', 1],
    ]);
  });

  it('is finished in the history once its command is run again, and nothing is left to move to the trash', async () => {
    for (const name of ['a.bin', 'b.bin', 'c.bin', 'd.bin']) writeFileAt(name);
    await prune();
    for (const name of ['a.bin', 'b.bin']) unlinkSync(join(directory, name));
    deletionsLeft = 0;
    expect((await prune()).code).not.toBe(0);
    expect(await states()).toEqual([['interrupted', 0]]);
    for (const name of ['a.bin', 'b.bin']) writeFileAt(name);
    expect((await prune()).code).toBe(0);
    expect(await states()).toEqual([['finished', 0]]);
    expect(assetNames()).toEqual(['a.bin', 'b.bin', 'c.bin', 'd.bin']);
  });
});

describe('--prune with filters', () => {
  const check = async (...args: string[]) => {
    const { stdout } = await cli.run(['check', directory, '/F', ...args, '--json']);
    return (JSON.parse(stdout) as { outcome: string; path: string }[]).map(({ outcome, path }) => `${outcome} ${path}`);
  };
  /** Expects that dry run, run and `check` with the same filters leave the assets of missing files alone. */
  async function expectLeftOut(count: number, filters: readonly string[]) {
    const before = assetNames();
    const report = `--prune keeps ${count} asset${count === 1 ? '' : 's'} whose missing or replaced files the filters`;
    for (const option of ['-n', '--yes']) {
      const { code, stderr } = await prune([option, ...filters]);
      expect([code, stderr]).toEqual([0, expect.stringContaining(report)]);
      expect(stderr).not.toContain('to the trash');
    }
    expect(assetNames()).toEqual(before);
  }

  it('--prune keeps the assets of excluded files that were deleted, and check does not list them', async () => {
    writeFiles('archive', { count: 30 });
    writeFiles('live', { count: 3 });
    await prune();
    rmSync(join(directory, 'archive'), { recursive: true });
    await expectLeftOut(30, ['--exclude', 'archive/**']);
    expect(await check('--exclude', 'archive/**')).toEqual([]);
    unlinkSync(join(directory, 'live/0.bin'));
    const { stderr } = await prune(['--yes', '--exclude', 'archive/**']);
    expect(stderr).toContain('moved 1 asset to the trash');
    expect(service.completeAssets).toHaveLength(32);
    expect(await check()).toHaveLength(30);
    await prune(['--yes', '--max-changes', '30']);
    expect(assetNames()).toEqual(['1.bin', '2.bin']);
  });

  it('--prune keeps the assets of deleted files that --include does not match', async () => {
    for (const name of ['a.mov', 'b.txt', 'c.mov']) writeFileAt(name);
    await prune();
    unlinkSync(join(directory, 'b.txt'));
    await expectLeftOut(1, ['--include', '*.mov']);
    expect(await check('--include', '*.mov')).toEqual([]);
  });

  it('--prune keeps the assets of deleted files of other shards', async () => {
    writeFiles('.', { count: 12 });
    await prune();
    const isIn = (number: number) => (name: string) => isInShard({ number, total: 2 }, { path: name, relativeDir: '' });
    const deleted = ['0.bin', '1.bin', '2.bin', '3.bin', '4.bin'];
    for (const name of deleted) unlinkSync(join(directory, name));
    const [first, second] = [deleted.filter(isIn(1)), deleted.filter(isIn(2))];
    expect(first.length * second.length).toBeGreaterThan(0);
    expect((await prune(['--yes', '--shard', '1/2'])).stderr).toContain(`keeps ${second.length} asset`);
    expect(assetNames()).toEqual(expect.arrayContaining(second));
    expect(service.completeAssets).toHaveLength(12 - first.length);
  });

  it('--prune keeps the old asset of an edited file that was excluded later', async () => {
    for (const name of ['a.mov', 'b.mov']) writeFileAt(name);
    await prune();
    writeFileAt('a.mov', 'edited');
    await cli.run(['sync', directory, '--folder', '/F']);
    await expectLeftOut(1, ['--exclude', 'a.*']);
    expect((await prune()).stderr).toContain('moved 1 asset to the trash');
    expect(assetNames()).toEqual(['a.mov', 'b.mov']);
  });

  it('--prune keeps the old asset of a renamed file that --min-age skips', async () => {
    for (const name of ['old.mov', 'b.mov']) writeFileAt(name);
    await prune();
    renameSync(join(directory, 'old.mov'), join(directory, 'new.mov'));
    const { ctimeMs } = statSync(join(directory, 'new.mov')); // the clock of the file system
    const at = (now: number) => ({ clock: { ...acceleratedClock(), now: () => now } });
    const skipped = await prune(['--yes', '--min-age', '1h'], at(ctimeMs + 1_800_000));
    expect([skipped.code, skipped.stderr]).toEqual([0, expect.stringContaining('1 old asset kept')]);
    expect(assetNames()).toEqual(['b.mov', 'old.mov']);
    await prune(['--yes', '--min-age', '1h'], at(ctimeMs + 7_200_000));
    expect(assetNames()).toEqual(['b.mov', 'new.mov']);
  });

  it('counts existing files that are excluded as proof that the disk is mounted', async () => {
    writeFiles('day', { count: 5 });
    writeFileAt('day/a.mov');
    await prune();
    unlinkSync(join(directory, 'day/a.mov'));
    writeFileAt('b.mov');
    const pruned = await prune(['--yes', '--include', '*.mov']);
    expect([pruned.code, pruned.stderr]).toEqual([0, expect.stringContaining('moved 1 asset to the trash')]);
  });

  it('sync moves the asset of a file that was moved out of an excluded directory', async () => {
    for (const path of ['keep/a.mov', 'keep/c.mov', 'live/b.mov']) writeFileAt(path);
    await prune();
    renameSync(join(directory, 'keep/a.mov'), join(directory, 'live/a.mov'));
    await prune(['--yes', '--exclude', 'keep/**']);
    expect(service.paths).toEqual(['/F/keep/c.mov', '/F/live/a.mov', '/F/live/b.mov']);
  });
});

it('--prune moves nothing to the trash if --stop-at ends the run while files remain, which exits with 0', async () => {
  writeFileAt('gone.bin');
  writeFileAt('stays.bin');
  await prune();
  unlinkSync(join(directory, 'gone.bin'));
  writeFiles('new', { count: 8 });
  const stopTime = createLatch();
  service.fault = ({ method }) => {
    if (method === 'PATCH') stopTime.open();
    return undefined;
  };
  const clock = clockWithStopTime(acceleratedClock(), stopTime.opened);
  const stoppedRun = await prune(['--yes', '--stop-at', '1h', '--limit-rate', '1', '--transfers', '1'], { clock });
  expect(stoppedRun).toMatchObject({ code: 0, stderr: expect.stringContaining('nothing was moved to the trash') });
  expect(stoppedRun.stderr).toMatch(/stopped after 1h, \d files remaining; run the same command again to continue/);
  expect(assetNames()).toContain('gone.bin');
  service.fault = () => undefined;
  await prune();
  expect(assetNames()).not.toContain('gone.bin');
});
