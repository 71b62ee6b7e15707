import { copyFileSync, mkdirSync, renameSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { UploadRecord } from '../../src/cli/uploading/upload-record.ts';
import { StateDatabase } from '../../src/client/state/state-database.ts';
import { Receipts } from '../../src/client/upload/store/receipts.ts';
import { Cli } from '../support/cli.ts';
import { FakeService, respondWithError } from '../support/fake-service.ts';
import { isStrict } from '../support/sandbox.ts';
import { setUpUploader } from '../support/upload-setup.ts';

/** Starts a service whose records show the size of each asset, and a machine with a directory of five files. */
async function startWithFiveFiles(options: Parameters<typeof FakeService.start>[0] = {}) {
  const service = await FakeService.start({ shows: ['size', 'parent'], ...options });
  const cli = new Cli(service.environment);
  const directory = join(cli.home, 'rushes');
  mkdirSync(directory);
  for (let n = 1; n <= 5; n++) writeFileSync(join(directory, `shot ${n}.bin`), 'x'.repeat(n));
  /** Runs a command on a machine with a state folder of its own. */
  const onMachine = (machine: string) => ({ environment: { MEDIACTL_STATE_DIR: join(cli.home, machine) } });
  const uploadFromMachine = async (machine: string, ...args: string[]): Promise<UploadRecord[]> =>
    cli.json(['upload', directory, ...args], onMachine(machine));
  return { service, cli, directory, onMachine, uploadFromMachine };
}

type Shows = NonNullable<Parameters<typeof FakeService.start>[0]>['shows'] & unknown[];

const outcomes = (items: UploadRecord[]) => items.map(({ outcome }) => outcome).sort();
const fiveTimes = (outcome: string) => Array(5).fill(outcome);

describe('files that another machine uploaded', () => {
  it('upload does not send files again if the folder has their names and sizes, and counts them separately', async () => {
    const { service, cli, directory, onMachine, uploadFromMachine } = await startWithFiveFiles();
    await uploadFromMachine('a');
    const { code, stderr } = await cli.run(['upload', directory], onMachine('b'));
    expect([code, service.assets.size]).toEqual([0, 5]);
    expect(stderr).toContain(
      '5 same name and size, not compared (mediactl check DIRECTORY /FOLDER --download, to compare them); 0 B sent',
    );
    const secondRun = await uploadFromMachine('b');
    expect(outcomes(secondRun)).toEqual(fiveTimes('same_name_and_size'));
    expect(secondRun.map(({ blake3, verified }) => [blake3, verified])).toEqual(Array(5).fill([null, null]));
  });

  it('upload with an older copy of the state folder does not send files again', async () => {
    const { service, cli, directory, uploadFromMachine } = await startWithFiveFiles();
    await uploadFromMachine('saved');
    writeFileSync(join(directory, 'later.bin'), 'later');
    renameSync(join(cli.home, 'saved'), join(cli.home, 'cache'));
    await uploadFromMachine('other'); // uploads one more file
    expect(outcomes(await uploadFromMachine('cache'))).toEqual(['same_name_and_size', ...fiveTimes('skipped')]);
    expect(service.assets.size).toBe(6);
  });

  it('upload skips files as verified if the service shows their checksums', async () => {
    const { service, uploadFromMachine } = await startWithFiveFiles({ shows: ['size', 'parent', 'checksum_blake3'] });
    await uploadFromMachine('a');
    const items = await uploadFromMachine('b');
    expect([outcomes(items), service.assets.size]).toEqual([fiveTimes('skipped'), 5]);
    expect(items.map(({ verified }) => verified)).toEqual(Array(5).fill(true));
  });

  it('upload --checksum compares files again that were not compared, and sends those that differ', async () => {
    const shows: Shows = ['size', 'parent'];
    const { service, directory, uploadFromMachine } = await startWithFiveFiles({ shows });
    await uploadFromMachine('a');
    writeFileSync(join(directory, 'shot 5.bin'), 'yyyyy');
    expect(outcomes(await uploadFromMachine('b'))).toEqual(fiveTimes('same_name_and_size'));
    expect(outcomes(await uploadFromMachine('b', '--checksum'))).toEqual(fiveTimes('same_name_and_size'));
    shows.push('checksum_blake3');
    expect(outcomes(await uploadFromMachine('b', '--checksum', '-n'))).toEqual([
      'new',
      ...fiveTimes('skipped').slice(1),
    ]);
    expect(outcomes(await uploadFromMachine('b'))).toEqual(fiveTimes('same_name_and_size'));
    // The run stops after the comparison, which has found the difference.
    service.fault = ({ method }) => (method === 'POST' ? respondWithError(402) : undefined);
    await uploadFromMachine('b', '--checksum').catch(() => {});
    service.fault = () => undefined;
    expect(outcomes(await uploadFromMachine('b'))).toEqual([...fiveTimes('skipped').slice(1), 'uploaded']);
    expect(service.assets.size).toBe(6);
  });

  it('sync skips files if a compared file of another path had their checksum', async () => {
    const { service, cli, directory, onMachine, uploadFromMachine } = await startWithFiveFiles();
    const openState = (machine: string) => StateDatabase.open(join(cli.home, machine));
    await uploadFromMachine('a');
    const [first, second] = [await openState('a'), await openState('b')];
    // `check --download` adopts receipts in this way.
    for await (const receipt of new Receipts(first).all()) await new Receipts(second).adopt([receipt]);
    await Promise.all([first.close(), second.close()]);
    renameSync(directory, join(cli.home, 'copy'));
    const items: UploadRecord[] = await cli.json(['sync', join(cli.home, 'copy'), '/'], onMachine('b'));
    expect([outcomes(items), service.assets.size]).toEqual([fiveTimes('skipped'), 5]);
    expect(items.every(({ blake3, verified }) => blake3 !== null && verified)).toBe(true);
  });

  it('upload warns before it sends files whose names exist with other sizes; --existing name skips them', async () => {
    const { service, cli, directory, onMachine, uploadFromMachine } = await startWithFiveFiles();
    await uploadFromMachine('a');
    for (let n = 1; n <= 5; n++) writeFileSync(join(directory, `shot ${n}.bin`), 'y'.repeat(10 + n));
    expect(outcomes(await uploadFromMachine('b', '--existing', 'name'))).toEqual(fiveTimes('exists'));
    expect(service.assets.size).toBe(5);
    const { stderr } = await cli.run(['upload', directory], onMachine('b'));
    expect(stderr).toContain('5 files have the name of another asset in the folder, and will be uploaded beside it');
    expect(stderr).toContain('--existing name skips such files');
    expect(service.assets.size).toBe(10);
  });

  it('upload --existing name sends a copy under another name, and skips a changed file of another machine', async () => {
    const { cli, directory, onMachine, uploadFromMachine } = await startWithFiveFiles();
    await uploadFromMachine('a');
    copyFileSync(join(directory, 'shot 1.bin'), join(directory, 'copy of 1.bin'));
    expect((await cli.json(['upload', join(directory, 'copy of 1.bin'), '-n'], onMachine('a')))[0].outcome).toBe(
      'duplicate',
    );
    const items: UploadRecord[] = await uploadFromMachine('a', '--existing', 'name');
    expect(outcomes(items)).toEqual([...fiveTimes('skipped'), 'uploaded']);
    writeFileSync(join(directory, 'shot 1.bin'), 'another content');
    expect(outcomes(await uploadFromMachine('b', '--existing', 'name'))).toContain('exists');
  });

  it('upload sends files again if their assets are incomplete, and with --existing upload', async () => {
    const { service, uploadFromMachine } = await startWithFiveFiles();
    await uploadFromMachine('a');
    for (const asset of service.assets.values()) asset.completedAt = undefined;
    expect(outcomes(await uploadFromMachine('b'))).toEqual(fiveTimes('uploaded'));
    expect(outcomes(await uploadFromMachine('c', '--existing', 'upload'))).toEqual(fiveTimes('uploaded'));
  });

  it('upload --require-checksum exits with 11 for files that match only by name and size', async () => {
    const { cli, directory, onMachine, uploadFromMachine } = await startWithFiveFiles();
    await uploadFromMachine('a');
    const { code, stdout } = await cli.run(['upload', directory, '--require-checksum', '--json'], onMachine('b'));
    expect(code).toBe(11);
    const errorCodes = JSON.parse(stdout).map(({ error }: { error: { code: string } }) => error.code);
    expect(errorCodes).toEqual(fiveTimes('unverified'));
  });

  it('upload --dry-run lists the files that match by name and size, and counts them and the requests', async () => {
    const { cli, directory, onMachine, uploadFromMachine } = await startWithFiveFiles();
    await uploadFromMachine('a');
    expect(outcomes(await uploadFromMachine('b', '--dry-run'))).toEqual(fiveTimes('same_name_and_size'));
    const { stderr } = await cli.run(['upload', directory, '--dry-run'], onMachine('b'));
    expect(stderr).toContain('dry run: 5 files: 5 same name and size, not compared; 0 B, 1 request\n');
    expect(await cli.json(['uploads', 'ls', '--finished'], onMachine('b'))).toEqual([]);
  });

  it('upload sends a file if its asset was deleted after an earlier upload listed it', async () => {
    const { service, directory, uploadFromMachine } = await startWithFiveFiles();
    await uploadFromMachine('a');
    rmSync(join(directory, 'shot 1.bin'));
    expect(outcomes(await uploadFromMachine('b'))).toEqual(fiveTimes('same_name_and_size').slice(1));
    writeFileSync(join(directory, 'shot 1.bin'), 'x');
    for (const asset of service.assets.values()) if (asset.name === 'shot 1.bin') asset.isTrashed = true;
    expect(outcomes(await uploadFromMachine('b'))).toEqual([...fiveTimes('same_name_and_size').slice(1), 'uploaded']);
  });
});

describe('requests of a comparison', () => {
  const countListRequests = (service: FakeService) => service.counts['GET /assets/'] ?? 0;

  it('upload lists the folder with one request per 100 assets, then only the assets created since', async () => {
    const { service, directory, uploadFromMachine } = await startWithFiveFiles();
    for (let n = 1; n <= 250; n++) writeFileSync(join(directory, `many ${n}.bin`), `${n}`);
    await uploadFromMachine('a');
    const before = countListRequests(service);
    await uploadFromMachine('b');
    expect(countListRequests(service) - before).toBe(3);
    for (const asset of service.assets.values()) asset.createdAt = '2020-01-01T00:00:00Z';
    const unused = await startWithFiveFiles();
    expect(unused.service.assets.size).toBe(0);
    await uploadFromMachine('c');
    const beforeRerun = countListRequests(service);
    writeFileSync(join(directory, 'new.bin'), 'new');
    expect(outcomes(await uploadFromMachine('c'))).toContain('uploaded');
    expect(countListRequests(service) - beforeRerun).toBeLessThanOrEqual(3);
  });

  it('upload looks up few files one by one, and lists no folder that it creates itself', async () => {
    const { service, cli, directory, onMachine, uploadFromMachine } = await startWithFiveFiles();
    for (let n = 1; n <= 450; n++) writeFileSync(join(directory, `many ${n}.bin`), `${n}`);
    await uploadFromMachine('a');
    const before = countListRequests(service);
    const files = ['shot 1.bin', 'shot 2.bin'].map((name) => join(directory, name));
    expect(outcomes(await cli.json(['upload', ...files], onMachine('b')))).toEqual(Array(2).fill('same_name_and_size'));
    expect(countListRequests(service) - before).toBe(3); // the first page shows how many there are
    await cli.json(['upload', files[0] as string], onMachine('c'));
    expect(countListRequests(service) - before).toBe(4);
    await cli.json(['upload', directory, '/New', '--create-folders'], onMachine('d'));
    expect(countListRequests(service) - before).toBe(4);
  });
});

describe('folders that cannot be listed', () => {
  it.each([403, 404, 422])(
    'upload warns once and sends the files if the service refuses to list the folder with %i',
    async (status) => {
      const { service, cli, directory, onMachine, uploadFromMachine } = await startWithFiveFiles();
      await uploadFromMachine('a');
      service.fault = ({ method, path }) =>
        method === 'GET' && path.startsWith('/assets/?') ? respondWithError(status) : undefined;
      const { code, stderr } = await cli.run(['upload', directory], onMachine('b'));
      expect([code, service.assets.size]).toEqual([0, 10]);
      expect(stderr.match(/not compared with the folder/g)).toHaveLength(1);
    },
  );

  it('upload compares files with what is directly in the folder if its list also has assets of its subfolders', async () => {
    const { service, cli, directory, onMachine, uploadFromMachine } = await startWithFiveFiles({
      shows: ['size'],
      ignoresFilters: ({ parent }) => parent === 'root',
    });
    await uploadFromMachine('a', '/Day 1', '--create-folders');
    const { code, stderr } = await cli.run(['upload', directory, '/'], onMachine('b'));
    expect([code, service.assets.size, stderr]).toEqual([0, 10, expect.not.stringContaining('not compared')]);
  });

  it('upload exits with 4 and sends nothing if the list request fails with 401', async () => {
    const { service, cli, directory, onMachine, uploadFromMachine } = await startWithFiveFiles();
    await uploadFromMachine('a');
    service.fault = ({ method, path }) =>
      method === 'GET' && path.startsWith('/assets/?') ? respondWithError(401) : undefined;
    expect((await cli.run(['upload', directory], onMachine('b'))).code).toBe(4);
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
    'check --download compares files that match by name and size, and upload then skips the equal and sends the different',
    async () => {
      const directory = join(uploader.cli.home, 'checked');
      mkdirSync(directory);
      writeFileSync(join(directory, `same ${uploader.cli.home.slice(-6)}.md`), '# the same');
      writeFileSync(join(directory, `other ${uploader.cli.home.slice(-6)}.md`), '# mine here');
      await uploader.run(['upload', directory, '/Checked', '--create-folders', '--wait']);
      const otherMachine = { environment: { MEDIACTL_STATE_DIR: join(uploader.cli.home, 'other') } };
      writeFileSync(join(directory, `other ${uploader.cli.home.slice(-6)}.md`), '# not mine!');
      const checkOutcomes = async (...args: string[]) =>
        JSON.parse((await uploader.run(['check', directory, '/Checked', '--json', ...args], otherMachine)).stdout).map(
          ({ outcome }: { outcome: string }) => outcome,
        );
      await uploader.run(['upload', directory, '/Checked'], otherMachine);
      expect(await checkOutcomes()).toEqual(['unverified', 'unverified']);
      expect(await checkOutcomes('--download')).toEqual(['different']);
      const upload = async (...args: string[]) => {
        const { stdout } = await uploader.run(['sync', directory, '/Checked', '--json', ...args], otherMachine);
        const items: UploadRecord[] = JSON.parse(stdout);
        return items.map(({ outcome, verified }) => `${outcome} ${verified}`).sort();
      };
      expect(await upload('-n')).toEqual(['new undefined', 'skipped undefined']);
      expect(await upload()).toEqual(['skipped true', 'uploaded true']);
      expect(await upload()).toEqual(['skipped true', 'skipped true']);
    },
  );
});

describe('files with unchanged size and modification time', () => {
  const uploader = setUpUploader();
  const writeWithFixedTime = (text: string) => {
    writeFileSync(uploader.path, text);
    utimesSync(uploader.path, 1_700_000_000, 1_700_000_000);
    expect(statSync(uploader.path).mtimeMs).toBe(1_700_000_000_000);
  };

  it('upload hashes a file whose change time differs, and sends it if the content differs', async () => {
    writeWithFixedTime('# one');
    await uploader.run(['upload', uploader.path]);
    writeWithFixedTime('# one');
    const { record: same } = await uploader.upload();
    expect([same.outcome, same.bytes_sent]).toEqual(['skipped', 0]);
    writeWithFixedTime('# two');
    const { record: changed } = await uploader.upload();
    expect([changed.outcome, changed.verified]).toEqual(['uploaded', true]);
  });

  it('upload --checksum hashes an unchanged file and skips it if the content is the same', async () => {
    writeWithFixedTime('# a text');
    await uploader.run(['upload', uploader.path]);
    const { record, stderr } = await uploader.upload(['--checksum', '--progress', 'json']);
    expect([record.outcome, record.bytes_sent]).toEqual(['skipped', 0]);
    expect(stderr).toContain('"event":"started"'); // it was opened and read
  });
});

it('sync --prune keeps the asset of a deleted file while a file whose content was not compared has the same size', async () => {
  const { service, cli, directory, onMachine, uploadFromMachine } = await startWithFiveFiles();
  await uploadFromMachine('a', '/Rushes', '--create-folders');
  const sync = async (...args: string[]) =>
    (await cli.run(['sync', directory, '/Rushes', ...args], onMachine('b'))).code;
  const write = (name: string, text: string) => writeFileSync(join(directory, name), text);
  write('own.bin', 'own'); // of the size of `shot 3.bin`, which might be the same file, renamed
  write('own too.bin', 'own too');
  write('kept.bin', 'kept by b');
  write('kept too.bin', 'kept by b, too');
  expect(await sync()).toBe(0);
  for (const name of ['own.bin', 'own too.bin']) rmSync(join(directory, name));
  expect(await sync('--prune', '--yes')).toBe(0);
  const names = service.completeAssets.map(({ name }) => name);
  expect([names.includes('own.bin'), names.includes('own too.bin')]).toEqual([true, false]);
});

describe('assets that do not match', () => {
  it('upload matches an asset by name and size with only one of two files', async () => {
    const { service, cli, directory, onMachine } = await startWithFiveFiles();
    const [firstFile, secondFile] = ['a', 'b'].map((name) => join(directory, name, 'x.mov')) as [string, string];
    for (const path of [firstFile, secondFile]) {
      mkdirSync(join(path, '..'));
      writeFileSync(path, path.slice(-7));
    }
    await cli.json(['upload', firstFile, '/'], onMachine('a'));
    const outcomeOf = async (path: string) => (await cli.json(['upload', path, '/'], onMachine('b')))[0].outcome;
    expect([await outcomeOf(firstFile), await outcomeOf(secondFile)]).toEqual(['same_name_and_size', 'uploaded']);
    expect(service.assets.size).toBe(2);
  });

  it('upload sends files again if the status of the assets does not show that they are complete', async () => {
    const { service, uploadFromMachine } = await startWithFiveFiles();
    await uploadFromMachine('a');
    for (const asset of service.assets.values()) asset.fields.status = 'queued';
    expect(outcomes(await uploadFromMachine('b'))).toEqual(fiveTimes('uploaded'));
    expect(service.assets.size).toBe(10);
  });

  it('upload sends a file again after check --download found a different checksum', async () => {
    const { service, cli, directory, uploadFromMachine } = await startWithFiveFiles();
    await uploadFromMachine('a');
    await uploadFromMachine('b');
    const [asset] = service.assets.values();
    const folderKey = { service: service.url, workspace: service.environment.MEDIACTL_WORKSPACE, folder: '' };
    const database = await StateDatabase.open(join(cli.home, 'b'));
    const name = asset?.name as string;
    const listedAsset = { uid: asset?.uid as string, name, sizeBytes: asset?.size as number };
    await new Receipts(database).saveDigest(folderKey, listedAsset, '0'.repeat(64)); // not its checksum
    await database.close();
    utimesSync(join(directory, name), 1, 1); // as in each checkout of CI
    expect(outcomes(await uploadFromMachine('b'))).toEqual([...fiveTimes('same_name_and_size').slice(1), 'uploaded']);
  });

  it('upload records no file as finished if it refuses its arguments', async () => {
    const { cli, directory, onMachine, uploadFromMachine } = await startWithFiveFiles();
    await uploadFromMachine('a');
    expect((await cli.run(['upload', directory, '--name', 'shot 1.bin'], onMachine('b'))).code).toBe(2);
    expect(await cli.json(['uploads', 'ls', '--finished'], onMachine('b'))).toEqual([]);
  });
});

it('upload --existing name exits with 5 if it cannot list the folder, and with 2 beside --prune', async () => {
  const { service, cli, directory, onMachine } = await startWithFiveFiles();
  service.fault = ({ path }) => (path.startsWith('/assets/?') ? respondWithError(403) : undefined);
  expect((await cli.run(['upload', directory, '--existing', 'name'], onMachine('b'))).code).toBe(5);
  expect(service.assets.size).toBe(0);
  const args = ['sync', directory, '/', '--prune', '--yes', '--existing', 'name'];
  const { code, stderr } = await cli.run(args, onMachine('b'));
  expect([code, stderr]).toEqual([2, expect.stringContaining('cannot be used together')]);
});
