import { mkdirSync, readdirSync, renameSync, rmSync, symlinkSync, unlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { Cli, type CliOptions } from '../support/cli.ts';
import type { LibraryOptions } from '../support/fake-library.ts';
import { FakeService } from '../support/fake-service.ts';
import { Interposer } from '../support/interposer.ts';
import { createLatch } from '../support/latch.ts';

/* Assets that `--sync --prune` moves to the trash, and the limits of --yes. */

let service: FakeService;
let cli: Cli;
let directory: string;
beforeEach(async () => {
  service = await FakeService.start({ shows: ['parent'] });
  cli = new Cli(service.environment);
  directory = join(cli.home, 'rushes');
});

function write(path: string, text = path): void {
  const place = join(directory, path);
  mkdirSync(join(place, '..'), { recursive: true });
  writeFileSync(place, text);
}

const writeAll = (folder: string, count: number) => {
  for (let n = 0; n < count; n++) write(`${folder}/${n}.bin`);
};

const prune = (args: readonly string[] = ['--yes'], options: CliOptions = {}) =>
  cli.run(['upload', '--sync', directory, '--folder', '/F', '--prune', ...args], options);

const names = () => service.completeAssets.map(({ name }) => name).sort();

describe('upload --sync --prune after a move on the service', () => {
  let keep: { uid: string; name: string; parent: string | undefined };
  beforeEach(async () => {
    for (const name of ['moved.bin', 'gone.bin', 'stays.bin']) write(name);
    await prune();
    await cli.run(['folders', 'create', '/Keep']);
    keep = service.folders.find(({ name }) => name === 'Keep') as typeof keep;
    for (const asset of service.assets.values()) if (asset.name === 'moved.bin') asset.folder = keep.uid;
    unlinkSync(join(directory, 'moved.bin'));
    unlinkSync(join(directory, 'gone.bin'));
  });

  it('--prune keeps an asset that was moved out of the folder, and does not count it in the prompt', async () => {
    const dry = await prune(['-n']);
    expect(dry.stderr).toContain('move 1 asset to the trash');
    expect(dry.stdout).not.toContain('moved.bin');
    const asked = await prune([], { tty: true, columns: 300, stdin: 'n\n' });
    expect(asked.stderr).toContain('moved.bin; its asset is kept, because it was moved to /Keep');
    expect(asked.stderr).toContain('Move 1 asset of /F to the trash?');
    expect(names()).toEqual(['gone.bin', 'moved.bin', 'stays.bin']);
    expect((await prune()).stderr).toContain('moved 1 asset to the trash');
    expect(names()).toEqual(['moved.bin', 'stays.bin']);
    service.requests = 0;
    const last = await prune();
    expect([last.code, last.stderr]).toEqual([0, expect.not.stringContaining('moved')]);
    // The moved asset is not requested again: the only requests are two for the folder tree.
    expect(service.requests).toBe(2);
  });

  it('--sync uploads a restored file again if its asset was moved out of the folder', async () => {
    await prune();
    write('moved.bin');
    await prune();
    expect(names()).toEqual(['moved.bin', 'moved.bin', 'stays.bin']);
  });

  it('--prune trashes the asset of a deleted file if it was moved to a subfolder', async () => {
    keep.parent = service.folders.find(({ name }) => name === 'F')?.uid;
    await prune();
    expect(names()).toEqual(['stays.bin']);
  });

  it('--prune keeps an asset that was moved to the top level', async () => {
    for (const asset of service.assets.values()) if (asset.name === 'moved.bin') asset.folder = undefined;
    expect((await prune()).stderr).toContain('its asset is kept, because it was moved to /');
    expect(names()).toEqual(['moved.bin', 'stays.bin']);
  });
});

describe('upload --sync --prune of an unmounted disk', () => {
  /** Expects that --yes alone is refused on every run, and that `--max-delete count` trashes `count` assets. */
  async function isRefused(words: string, count: number) {
    const before = names();
    for (let night = 0; night < 2; night++) {
      const { code, stderr } = await prune();
      expect([code, stderr]).toEqual([2, expect.stringContaining(words)]);
      expect(stderr).toContain('a disk may not be mounted');
      expect(stderr).toContain(`--max-delete ${count}`);
      expect(names()).toEqual(expect.arrayContaining(before));
    }
    const json = await prune(['--yes', '--json']);
    expect([json.code, Array.isArray(JSON.parse(json.stdout))]).toEqual([2, true]);
    const dry = await prune(['-n']);
    expect([dry.code, dry.stderr]).toEqual([0, expect.stringContaining(words)]);
    const all = service.completeAssets.length;
    expect((await prune(['--yes', '--max-delete', String(count)])).code).toBe(0);
    expect(service.completeAssets).toHaveLength(all - count);
  }

  it('--prune --yes exits with 2 and trashes nothing if the directory contains only a new file', async () => {
    writeAll('.', 6);
    await prune();
    rmSync(directory, { recursive: true });
    write('NOT_MOUNTED');
    await isRefused(`6 of 6 files that were uploaded from ${directory} are missing`, 6);
    expect(names()).toEqual(['NOT_MOUNTED']);
  });

  it('--prune --yes exits with 2 if a subdirectory is empty', async () => {
    writeAll('day1', 3);
    writeAll('day2', 3);
    await prune();
    for (const name of readdirSync(join(directory, 'day1'))) unlinkSync(join(directory, 'day1', name));
    await isRefused(`3 of 3 files that were uploaded from ${directory}/day1 are missing`, 3);
  });

  it('--prune --yes exits with 2 if a link to an empty directory replaces a subdirectory', async () => {
    writeAll('day1', 3);
    writeAll('day2', 3);
    await prune();
    rmSync(join(directory, 'day1'), { recursive: true });
    mkdirSync(join(cli.home, 'empty'));
    symlinkSync(join(cli.home, 'empty'), join(directory, 'day1'));
    await isRefused(`3 of 3 files that were uploaded from ${directory}/day1 are missing`, 3);
  });

  it('--prune --yes exits with 2 if more than half of the files of a subdirectory are missing', async () => {
    writeAll('day1', 20);
    writeAll('day2', 20);
    await prune();
    for (let n = 0; n < 11; n++) unlinkSync(join(directory, `day1/${n}.bin`));
    await isRefused(`11 of 20 files that were uploaded from ${directory}/day1 are missing`, 11);
  });

  it('--prune --yes sends and trashes nothing after the disk is mounted again', async () => {
    writeAll('.', 6);
    await prune();
    renameSync(directory, `${directory} elsewhere`);
    write('NOT_MOUNTED');
    expect((await prune()).code).toBe(2);
    rmSync(directory, { recursive: true });
    renameSync(`${directory} elsewhere`, directory);
    expect((await prune()).code).toBe(0);
    expect(names()).toHaveLength(6);
  });

  it('--prune asks for the number of assets on a terminal if a disk may not be mounted', async () => {
    writeAll('day1', 3);
    writeAll('day2', 3);
    await prune();
    for (let n = 0; n < 3; n++) unlinkSync(join(directory, `day1/${n}.bin`));
    const yes = await prune([], { tty: true, stdin: 'y\n' });
    expect([yes.code, service.completeAssets.length]).toEqual([2, 6]);
    const { code, stderr } = await prune([], { tty: true, columns: 300, stdin: '3\n' });
    expect([code, service.completeAssets.length]).toEqual([0, 3]);
    expect(stderr).toContain('Type 3 to continue');
    expect(stderr).toContain('are missing: a disk may not be mounted');
  });
});

it('--prune --yes needs no --max-delete for a few deleted files or a small deleted directory', async () => {
  writeAll('day1', 30);
  writeAll('day2', 3);
  await prune();
  for (let n = 0; n < 10; n++) unlinkSync(join(directory, `day1/${n}.bin`));
  rmSync(join(directory, 'day2'), { recursive: true });
  expect((await prune()).code).toBe(0);
  expect(service.completeAssets).toHaveLength(20);
});

it('--prune with -n or --estimate announces no deletion that the run would refuse', async () => {
  writeAll('.', 12);
  await prune();
  rmSync(directory, { recursive: true });
  write('NOT_MOUNTED');
  for (const how of ['-n', '--estimate']) {
    const { code, stderr } = await prune(['--yes', how]);
    expect([code, stderr]).toEqual([0, expect.stringContaining('--max-delete 12')]);
    expect(stderr).not.toContain('to the trash');
  }
});

it('--prune trashes nothing while another process uploads a file of the directory', async () => {
  const { opened, open } = createLatch();
  let isHeld = false;
  const line = await Interposer.start(service.url, ({ method }) =>
    isHeld && method === 'PATCH' ? { beforeResponse: () => opened } : undefined,
  );
  cli = new Cli({ ...service.environment, MEDIACTL_BASE_URL: line.url });
  directory = join(cli.home, 'rushes');
  for (const name of ['a.bin', 'b.bin', 'c.bin']) write(name);
  await prune();
  unlinkSync(join(directory, 'b.bin'));
  write('new.bin');
  isHeld = true;
  const other = cli.run(['upload', join(directory, 'new.bin'), '--folder', '/F']);
  await expect.poll(() => service.assets.size).toBe(4);
  const { stderr } = await prune();
  expect(stderr).toContain('nothing was moved to the trash');
  expect(names()).toContain('b.bin');
  open();
  expect((await other).code).toBe(0);
  expect((await prune()).stderr).toContain('moved 1 asset to the trash');
});

it('--prune trashes the old assets of a renamed directory only when the new ones are ready', async () => {
  const options: LibraryOptions = { shows: ['parent'], readyAfterMs: 0 };
  service = await FakeService.start(options);
  cli = new Cli(service.environment);
  directory = join(cli.home, 'rushes');
  for (const name of ['day1/a.bin', 'day1/b.bin', 'c.bin']) write(name);
  await prune();
  options.readyAfterMs = 3_600_000;
  renameSync(join(directory, 'day1'), join(directory, 'day2'));
  expect((await prune()).stderr).not.toContain('moved');
  expect(service.completeAssets).toHaveLength(5);
  options.readyAfterMs = 0;
  expect((await prune()).stderr).toContain('moved 2 assets to the trash');
  expect(service.completeAssets).toHaveLength(3);
});
