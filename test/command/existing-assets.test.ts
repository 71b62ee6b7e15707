import { mkdirSync, renameSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { UploadRecord } from '../../src/cli/uploading/upload-record.ts';
import { Receipts } from '../../src/client/upload/store/receipts.ts';
import { StateDatabase } from '../../src/client/upload/store/state-database.ts';
import { Cli } from '../support/cli.ts';
import { FakeService, refuse } from '../support/fake-service.ts';
import { isStrict } from '../support/sandbox.ts';
import { setUpUploader } from '../support/upload-setup.ts';

/** Starts a service whose records show the size of each asset, and a machine with a directory of five files. */
async function start(options: Parameters<typeof FakeService.start>[0] = {}) {
  const service = await FakeService.start({ shows: ['size', 'parent'], ...options });
  const cli = new Cli(service.environment);
  const folder = join(cli.home, 'rushes');
  mkdirSync(folder);
  for (let n = 1; n <= 5; n++) writeFileSync(join(folder, `shot ${n}.bin`), 'x'.repeat(n));
  /** Runs a command on a machine with a state folder of its own. */
  const on = (machine: string) => ({ environment: { MEDIACTL_STATE_DIR: join(cli.home, machine) } });
  const upload = async (machine: string, ...args: string[]): Promise<UploadRecord[]> =>
    cli.json(['upload', folder, ...args], on(machine));
  return { service, cli, folder, on, upload };
}

const outcomes = (items: UploadRecord[]) => items.map(({ outcome }) => outcome).sort();
const five = (outcome: string) => Array(5).fill(outcome);

describe('files that another machine uploaded', () => {
  it('upload does not send files again if the folder has their names and sizes, and counts them separately', async () => {
    const { service, cli, folder, on, upload } = await start();
    await upload('a');
    const { code, stderr } = await cli.run(['upload', folder], on('b'));
    expect([code, service.assets.size]).toEqual([0, 5]);
    expect(stderr).toContain(
      '5 same name and size, not compared (mediactl check DIRECTORY /FOLDER --download compares them); 0 B sent',
    );
    const again = await upload('b');
    expect(outcomes(again)).toEqual(five('same_name_and_size'));
    expect(again.map(({ blake3, verified }) => [blake3, verified])).toEqual(Array(5).fill([null, null]));
  });

  it('upload with an older copy of the state folder does not send files again', async () => {
    const { service, cli, folder, upload } = await start();
    await upload('saved');
    writeFileSync(join(folder, 'later.bin'), 'later');
    renameSync(join(cli.home, 'saved'), join(cli.home, 'cache'));
    await upload('other'); // uploads one more file
    expect(outcomes(await upload('cache'))).toEqual(['same_name_and_size', ...five('skipped')]);
    expect(service.assets.size).toBe(6);
  });

  it('upload skips files as verified if the service shows their checksums', async () => {
    const { service, upload } = await start({ shows: ['size', 'parent', 'checksum_blake3'] });
    await upload('a');
    const items = await upload('b');
    expect([outcomes(items), service.assets.size]).toEqual([five('skipped'), 5]);
    expect(items.map(({ verified }) => verified)).toEqual(five('').map(() => true));
  });

  it('sync skips files if an imported receipt of another path has their checksum', async () => {
    const { service, cli, folder, on, upload } = await start();
    await upload('a');
    const { stdout } = await cli.run(['uploads', 'export'], on('a'));
    await cli.json(['uploads', 'import', '-'], { ...on('b'), stdin: stdout });
    renameSync(folder, join(cli.home, 'copy'));
    const items: UploadRecord[] = await cli.json(['sync', join(cli.home, 'copy'), '/'], on('b'));
    expect([outcomes(items), service.assets.size]).toEqual([five('skipped'), 5]);
    expect(items.every(({ blake3, verified }) => blake3 !== null && verified === null)).toBe(true);
  });

  it('upload warns before it sends files whose names exist with other sizes; --ignore-existing skips them', async () => {
    const { service, cli, folder, on, upload } = await start();
    await upload('a');
    for (let n = 1; n <= 5; n++) writeFileSync(join(folder, `shot ${n}.bin`), 'y'.repeat(10 + n));
    expect(outcomes(await upload('b', '--ignore-existing'))).toEqual(five('exists'));
    expect(service.assets.size).toBe(5);
    const { stderr } = await cli.run(['upload', folder], on('b'));
    expect(stderr).toContain('5 files have the name of another asset in the folder, and will be uploaded beside it');
    expect(stderr).toContain('--ignore-existing skips such files');
    expect(service.assets.size).toBe(10);
  });

  it('upload sends files again if their assets are incomplete, and with --force', async () => {
    const { service, upload } = await start();
    await upload('a');
    for (const asset of service.assets.values()) asset.completedAt = undefined;
    expect(outcomes(await upload('b'))).toEqual(five('uploaded'));
    expect(outcomes(await upload('c', '--force'))).toEqual(five('uploaded'));
  });

  it('upload --require-checksum exits with 11 for files that match only by name and size', async () => {
    const { cli, folder, on, upload } = await start();
    await upload('a');
    const { code, stdout } = await cli.run(['upload', folder, '--require-checksum', '--json'], on('b'));
    expect(code).toBe(11);
    expect(JSON.parse(stdout).map(({ error }: { error: { code: string } }) => error.code)).toEqual(five('unverified'));
  });

  it('upload --dry-run lists the files that match by name and size, and --estimate counts them and the requests', async () => {
    const { cli, folder, on, upload } = await start();
    await upload('a');
    expect(outcomes(await upload('b', '--dry-run'))).toEqual(five('same_name_and_size'));
    const plan = await cli.json(['upload', folder, '--estimate'], on('b'));
    expect(plan).toMatchObject({ same_name_and_size: { file_count: 5, size_bytes: 15 }, new: { file_count: 0 } });
    expect(plan.request_count).toBe(1);
    expect(await cli.json(['uploads', 'ls', '--finished'], on('b'))).toEqual([]);
  });

  it('upload sends a file if its asset was deleted after an earlier upload listed it', async () => {
    const { service, folder, upload } = await start();
    await upload('a');
    rmSync(join(folder, 'shot 1.bin'));
    expect(outcomes(await upload('b'))).toEqual(five('same_name_and_size').slice(1));
    writeFileSync(join(folder, 'shot 1.bin'), 'x');
    for (const asset of service.assets.values()) if (asset.name === 'shot 1.bin') asset.isTrashed = true;
    expect(outcomes(await upload('b'))).toEqual([...five('same_name_and_size').slice(1), 'uploaded']);
  });
});

describe('requests of a comparison', () => {
  const countLists = (service: FakeService) => service.counts['GET /assets/'] ?? 0;

  it('upload lists the folder with one request per 100 assets, then only the assets created since', async () => {
    const { service, folder, upload } = await start();
    for (let n = 1; n <= 250; n++) writeFileSync(join(folder, `many ${n}.bin`), `${n}`);
    await upload('a');
    const before = countLists(service);
    await upload('b');
    expect(countLists(service) - before).toBe(3);
    for (const asset of service.assets.values()) asset.createdAt = '2020-01-01T00:00:00Z';
    const old = await start();
    expect(old.service.assets.size).toBe(0);
    await upload('c');
    const later = countLists(service);
    writeFileSync(join(folder, 'new.bin'), 'new');
    expect(outcomes(await upload('c'))).toContain('uploaded');
    expect(countLists(service) - later).toBeLessThanOrEqual(3);
  });

  it('upload looks up few files one by one, and lists no folder that it creates itself', async () => {
    const { service, cli, folder, on, upload } = await start();
    for (let n = 1; n <= 450; n++) writeFileSync(join(folder, `many ${n}.bin`), `${n}`);
    await upload('a');
    const before = countLists(service);
    const files = ['shot 1.bin', 'shot 2.bin'].map((name) => join(folder, name));
    expect(outcomes(await cli.json(['upload', ...files], on('b')))).toEqual([
      'same_name_and_size',
      'same_name_and_size',
    ]);
    expect(countLists(service) - before).toBe(3); // the first page shows how many there are
    await cli.json(['upload', files[0] as string], on('c'));
    expect(countLists(service) - before).toBe(4);
    await cli.json(['upload', folder, '/New', '--create-folders'], on('d'));
    expect(countLists(service) - before).toBe(4);
  });
});

describe('folders that cannot be listed', () => {
  it.each([403, 404, 422])(
    'upload warns once and sends the files if the service refuses to list the folder with %i',
    async (status) => {
      const { service, cli, folder, on, upload } = await start();
      await upload('a');
      service.fault = ({ method, path }) =>
        method === 'GET' && path.startsWith('/assets/?') ? refuse(status) : undefined;
      const { code, stderr } = await cli.run(['upload', folder], on('b'));
      expect([code, service.assets.size]).toEqual([0, 10]);
      expect(stderr.match(/not compared with the folder/g)).toHaveLength(1);
    },
  );

  it('upload warns once and sends the files if the list of a folder includes its subfolders', async () => {
    const { service, cli, folder, on, upload } = await start({
      shows: ['size'],
      ignoresFilters: ({ parent }) => parent === 'root',
    });
    await upload('a', '/Day 1', '--create-folders');
    const { code, stderr } = await cli.run(['upload', folder, '/'], on('b'));
    expect([code, service.assets.size]).toEqual([0, 10]);
    expect(stderr.match(/not compared with the folder: it lists .*, which is in a folder below/g)).toHaveLength(1);
  });

  it('upload exits with 4 and sends nothing if the list request fails with 401', async () => {
    const { service, cli, folder, on, upload } = await start();
    await upload('a');
    service.fault = ({ method, path }) =>
      method === 'GET' && path.startsWith('/assets/?') ? refuse(400 + 1) : undefined;
    expect((await cli.run(['upload', folder], on('b'))).code).toBe(4);
    expect(service.assets.size).toBe(5);
  });
});

describe('comparison in the sandbox', () => {
  const uploader = setUpUploader();

  it.skipIf(isStrict)(
    'upload to a workspace other than the primary one warns once that it compares no files',
    async () => {
      const archive = { environment: { MEDIACTL_WORKSPACE: 'Archive' } };
      const { code, stderr } = await uploader.run(['upload', uploader.path], archive);
      expect(code).toBe(0);
      expect(stderr.match(/not compared with the folder: the API filters by folder in the primary/g)).toHaveLength(1);
    },
  );

  it.skipIf(isStrict)(
    'check --download compares files that match by name and size, and upload then skips them as verified',
    async () => {
      const directory = join(uploader.cli.home, 'checked');
      mkdirSync(directory);
      writeFileSync(join(directory, `same ${uploader.cli.home.slice(-6)}.md`), '# the same');
      writeFileSync(join(directory, `other ${uploader.cli.home.slice(-6)}.md`), '# mine here');
      await uploader.run(['upload', directory, '/Checked', '--create-folders', '--wait']);
      const other = { environment: { MEDIACTL_STATE_DIR: join(uploader.cli.home, 'other') } };
      writeFileSync(join(directory, `other ${uploader.cli.home.slice(-6)}.md`), '# not mine!');
      const check = async (...args: string[]) =>
        JSON.parse((await uploader.run(['check', directory, '/Checked', '--json', ...args], other)).stdout).map(
          ({ outcome }: { outcome: string }) => outcome,
        );
      await uploader.run(['upload', directory, '/Checked'], other);
      expect(await check()).toEqual(['unverified', 'unverified']);
      expect(await check('--download')).toEqual(['different']);
      const { stdout } = await uploader.run(['upload', directory, '/Checked', '--json'], other);
      const items: UploadRecord[] = JSON.parse(stdout);
      expect(items.map(({ outcome, verified }) => [outcome, verified]).sort()).toEqual([
        ['same_name_and_size', null],
        ['skipped', true],
      ]);
    },
  );
});

describe('files with unchanged size and modification time', () => {
  const uploader = setUpUploader();
  const write = (text: string) => {
    writeFileSync(uploader.path, text);
    utimesSync(uploader.path, 1_700_000_000, 1_700_000_000);
    expect(statSync(uploader.path).mtimeMs).toBe(1_700_000_000_000);
  };

  it('upload hashes a file whose change time differs, and sends it if the content differs', async () => {
    write('# one');
    await uploader.run(['upload', uploader.path]);
    write('# one');
    const { record: same } = await uploader.upload();
    expect([same.outcome, same.bytes_sent]).toEqual(['skipped', 0]);
    write('# two');
    const { record: changed } = await uploader.upload();
    expect([changed.outcome, changed.verified]).toEqual(['uploaded', true]);
  });

  it('upload --checksum hashes an unchanged file and skips it if the content is the same', async () => {
    write('# a text');
    await uploader.run(['upload', uploader.path]);
    const { record, stderr } = await uploader.upload(['--checksum', '--progress', 'json']);
    expect([record.outcome, record.bytes_sent]).toEqual(['skipped', 0]);
    expect(stderr).toContain('"event":"started"'); // it was opened and read
  });
});

it('sync --prune keeps the asset of a deleted file while an uncompared file has the same size', async () => {
  const { service, cli, folder, on, upload } = await start();
  await upload('a', '/Rushes', '--create-folders');
  const sync = async (...args: string[]) => (await cli.run(['sync', folder, '/Rushes', ...args], on('b'))).code;
  const write = (name: string, text: string) => writeFileSync(join(folder, name), text);
  write('own.bin', 'own'); // of the size of `shot 3.bin`, which might be the same file, renamed
  write('own too.bin', 'own too');
  write('kept.bin', 'kept by b');
  write('kept too.bin', 'kept by b, too');
  expect(await sync()).toBe(0);
  for (const name of ['own.bin', 'own too.bin']) rmSync(join(folder, name));
  expect(await sync('--prune', '--yes')).toBe(0);
  const names = service.completeAssets.map(({ name }) => name);
  expect([names.includes('own.bin'), names.includes('own too.bin')]).toEqual([true, false]);
});

describe('assets that do not match', () => {
  it('upload matches an asset by name and size with only one of two files', async () => {
    const { service, cli, folder, on } = await start();
    const [one, other] = ['a', 'b'].map((name) => join(folder, name, 'x.mov')) as [string, string];
    for (const path of [one, other]) {
      mkdirSync(join(path, '..'));
      writeFileSync(path, path.slice(-7));
    }
    await cli.json(['upload', one, '/'], on('a'));
    const outcomeOf = async (path: string) => (await cli.json(['upload', path, '/'], on('b')))[0].outcome;
    expect([await outcomeOf(one), await outcomeOf(other)]).toEqual(['same_name_and_size', 'uploaded']);
    expect(service.assets.size).toBe(2);
  });

  it('upload sends files again if the status of the assets does not show that they are complete', async () => {
    const { service, upload } = await start();
    await upload('a');
    for (const asset of service.assets.values()) asset.fields.status = 'queued';
    expect(outcomes(await upload('b'))).toEqual(five('uploaded'));
    expect(service.assets.size).toBe(10);
  });

  it('upload sends a file again after check --download found a different checksum', async () => {
    const { service, cli, folder, upload } = await start();
    await upload('a');
    await upload('b');
    const [asset] = service.assets.values();
    const key = { service: service.url, workspace: service.environment.MEDIACTL_WORKSPACE, folder: '' };
    const database = await StateDatabase.open(join(cli.home, 'b'));
    const name = asset?.name as string;
    const listed = { uid: asset?.uid as string, name, sizeBytes: asset?.size as number };
    await new Receipts(database).saveDigest(key, listed, '0'.repeat(64));
    await database.close();
    utimesSync(join(folder, name), 1, 1); // as in each checkout of CI
    expect(outcomes(await upload('b'))).toEqual([...five('same_name_and_size').slice(1), 'uploaded']);
  });

  it('upload records no file as finished if it refuses its arguments', async () => {
    const { cli, folder, on, upload } = await start();
    await upload('a');
    expect((await cli.run(['upload', folder, '--name', 'shot 1.bin'], on('b'))).code).toBe(2);
    expect(await cli.json(['uploads', 'ls', '--finished'], on('b'))).toEqual([]);
  });
});

it('upload --ignore-existing exits with 5 if it cannot list the folder, and with 2 beside --prune', async () => {
  const { service, cli, folder, on } = await start();
  service.fault = ({ path }) => (path.startsWith('/assets/?') ? refuse(403) : undefined);
  expect((await cli.run(['upload', folder, '--ignore-existing'], on('b'))).code).toBe(5);
  expect(service.assets.size).toBe(0);
  const { code, stderr } = await cli.run(['sync', folder, '/', '--prune', '--yes', '--ignore-existing'], on('b'));
  expect([code, stderr]).toEqual([2, expect.stringContaining('cannot be used together')]);
});
