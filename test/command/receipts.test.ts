import { copyFileSync, readFileSync, renameSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import type { UploadRecord } from '../../src/cli/uploading/upload-record.ts';
import { Cli, type CliOptions } from '../support/cli.ts';
import { acceleratedClock, clockWithStopTime } from '../support/clock.ts';
import { dropConnection, FakeService, handleThen, respondWithError } from '../support/fake-service.ts';
import { createLatch } from '../support/latch.ts';
import { writeManyFiles } from '../support/many-files.ts';

/* Files with a receipt on this machine are neither sent nor looked up again. */

const fileCount = 6;
let service: FakeService;
let cli: Cli;
let folder: string;
beforeEach(async () => {
  service = await FakeService.start();
  cli = new Cli(service.environment);
  folder = join(cli.home, 'shots');
  writeManyFiles(folder, { count: fileCount });
});

async function uploadFolder(...args: string[]): Promise<UploadRecord[]> {
  service.requestCount = 0;
  return cli.json(['upload', '--flatten', folder, ...args], { clock: acceleratedClock({ speed: 20 }) });
}

const outcomes = (items: UploadRecord[]) => items.map(({ outcome }) => outcome).sort();
const ofEachFile = (outcome: string | null) => Array(fileCount).fill(outcome);
const firstFile = () => join(folder, 'shot 00000.bin');

describe('repeated upload of the same files', () => {
  it('upload of unchanged files sends no request and prints the same assets, even with another API key', async () => {
    const firstRun = await uploadFolder();
    expect(outcomes(firstRun)).toEqual(ofEachFile('uploaded'));
    const environment = { MEDIACTL_API_KEY: 'another-key-of-the-organisation' };
    service.requestCount = 0;
    const secondRun: UploadRecord[] = await cli.json(['upload', '--flatten', folder], { environment });
    expect([outcomes(secondRun), service.requestCount]).toEqual([ofEachFile('skipped'), 0]);
    const uids = (items: UploadRecord[]) => items.map(({ asset_uid }) => asset_uid).sort();
    expect(uids(secondRun)).toEqual(uids(firstRun));
  });

  it('upload does not send a file again after it is touched, moved or copied, but sends it after it is edited', async () => {
    await uploadFolder();
    utimesSync(firstFile(), 1, 1);
    expect([outcomes(await uploadFolder()), service.requestCount]).toEqual([ofEachFile('skipped'), 0]);
    renameSync(folder, `${folder} of May`);
    folder = `${folder} of May`;
    expect(outcomes(await uploadFolder())).toEqual(ofEachFile('skipped'));
    expect(service.counts['POST /upload/']).toBe(fileCount);
    copyFileSync(firstFile(), join(cli.home, 'copy.bin'));
    const copyRun = await cli.run(['upload', join(cli.home, 'copy.bin')]);
    expect(copyRun.stderr).toContain('--existing file uploads it anyway');
    writeFileSync(firstFile(), 'edited');
    expect(outcomes(await uploadFolder('--existing', 'content'))).toEqual([
      ...Array(fileCount - 1).fill('skipped'),
      'uploaded',
    ]);
    expect(service.assets.size).toBe(fileCount + 1);
  });

  it('upload --existing file uploads a copy under another name, and --existing upload uploads every file again', async () => {
    await uploadFolder();
    copyFileSync(firstFile(), join(cli.home, 'copy.bin'));
    const copyRecords = await cli.json(['upload', join(cli.home, 'copy.bin'), '--existing', 'file']);
    expect(outcomes(copyRecords)).toEqual(['uploaded']);
    expect(outcomes(await uploadFolder('--existing', 'upload'))).toEqual(ofEachFile('uploaded'));
    expect(service.assets.size).toBe(2 * fileCount + 1);
  });

  it('upload sends every file of a directory even if some have equal contents, also when it continues a failed run', async () => {
    for (let n = 0; n < 3; n++) writeFileSync(join(folder, `same ${n}.bin`), 'one content');
    service.fault = ({ method, path }) =>
      method === 'POST' && path === '/upload/' && service.completeAssets.length === fileCount + 1
        ? respondWithError(401)
        : undefined;
    const { code } = await cli.run(['upload', '--flatten', folder, '--transfers', '1']);
    expect([code, service.completeAssets.length]).toEqual([4, fileCount + 1]);
    service.fault = () => undefined;
    expect(outcomes(await uploadFolder('--transfers', '1'))).toEqual([
      ...Array(fileCount + 1).fill('skipped'),
      ...Array(2).fill('uploaded'),
    ]);
    // So is a copy that appears after the upload.
    writeFileSync(join(folder, 'same 9.bin'), 'one content');
    expect(outcomes(await uploadFolder())).toEqual([...Array(fileCount + 3).fill('skipped'), 'uploaded']);
  });

  it('upload sends a file again after assets rm moved its asset to the trash', async () => {
    const [{ asset_uid }] = (await uploadFolder()) as [UploadRecord];
    await cli.run(['assets', 'rm', asset_uid as string, '--yes']);
    expect(outcomes(await uploadFolder())).toEqual([...Array(fileCount - 1).fill('skipped'), 'uploaded']);
  });
});

it('wait waits for the assets of an earlier upload, and sends no request for an asset that is already ready', async () => {
  await uploadFolder();
  const records = await cli.json(['wait'], { clock: acceleratedClock({ speed: 20 }) });
  expect(records.map(({ asset_status }: { asset_status: string }) => asset_status)).toEqual(ofEachFile('ready'));
  service.requestCount = 0;
  expect(await cli.json(['wait'])).toEqual([]);
  expect((await uploadFolder('--wait')).map(({ asset_status }) => asset_status)).toEqual(ofEachFile('ready'));
  expect(service.requestCount).toBe(0);
});

describe('upload receipts', () => {
  it('the receipt database has mode 0600 and does not contain the API key', async () => {
    await uploadFolder();
    const path = join(cli.home, 'state/receipts.db');
    expect(statSync(path).mode & 0o777).toBe(0o600);
    expect(readFileSync(path, 'latin1')).not.toContain(service.environment.MEDIACTL_API_KEY);
  });

  it('uploads ls --finished lists the receipts, without the API key', async () => {
    await uploadFolder();
    const { stdout } = await cli.run(['uploads', 'ls', '--finished', '--jsonl']);
    expect(stdout.split('\n').filter(Boolean)).toHaveLength(fileCount);
    expect(JSON.parse(stdout.split('\n')[0] as string)).toMatchObject({ verified: true });
    expect(stdout).not.toContain(service.environment.MEDIACTL_API_KEY);
  });
});

describe('orphans of lost responses', () => {
  const loseOneResponse = () => {
    service.fault = ({ method, path }) =>
      method === 'POST' && path === '/upload/' && service.assets.size === 2 ? handleThen(dropConnection) : undefined;
  };

  it('upload finds the empty asset of a lost response with one list request and names it at the end', async () => {
    loseOneResponse();
    const { code, stderr } = await cli.run(['upload', '--flatten', folder], { clock: acceleratedClock({ speed: 20 }) });
    expect([code, service.completeAssets.length]).toEqual([0, fileCount]);
    const [orphan] = [...service.assets.values()].filter(({ completedAt }) => completedAt === undefined);
    expect(stderr).toContain(`asset ${orphan?.uid} may be empty`);
    expect(service.counts['GET /assets/']).toBe(1 + 1); // one to compare the files with the top level
  });

  it('uploads cleanup --trash lists the empty asset of a lost response, and moves it to the trash only after its session has expired', async () => {
    loseOneResponse();
    await cli.run(['upload', '--flatten', folder], { clock: acceleratedClock({ speed: 20 }) });
    const [orphan] = [...service.assets.values()].filter(({ completedAt }) => completedAt === undefined);
    const cleanupRecords = await cli.json(['uploads', 'cleanup', '--trash', '--yes']);
    // The orphan was found by name only: until upload sessions expire, another uploader may be using it.
    expect(cleanupRecords).toMatchObject([
      { asset_uid: orphan?.uid, deleted: false, protected_until: expect.any(String) },
    ]);
    if (orphan) orphan.createdAt = new Date(Date.now() - 25 * 3600_000).toISOString();
    expect((await cli.run(['uploads', 'cleanup', '--trash'])).code).toBe(2);
    expect(orphan?.isTrashed).toBe(false);
    expect(await cli.json(['uploads', 'cleanup', '--trash', '--yes'])).toMatchObject([{ deleted: true }]);
    expect(orphan?.isTrashed).toBe(true);
    expect(await cli.json(['uploads', 'cleanup'])).toEqual([]);
  });

  it('uploads cleanup --trash goes by the clock of the service, so that a clock that is days ahead ends no protection', async () => {
    loseOneResponse();
    await cli.run(['upload', '--flatten', folder], { clock: acceleratedClock({ speed: 20 }) });
    const clock = acceleratedClock();
    clock.advance(40 * 24 * 3600_000);
    const { stdout } = await cli.run(['uploads', 'cleanup', '--trash', '--yes', '--json'], { clock });
    expect(JSON.parse(stdout)).toMatchObject([{ deleted: false, protected_until: expect.any(String) }]);
    expect([...service.assets.values()].filter(({ isTrashed }) => isTrashed)).toEqual([]);
  });

  it('uploads cleanup --trash keeps an asset whose file was sent since it was listed', async () => {
    loseOneResponse();
    await cli.run(['upload', '--flatten', folder], { clock: acceleratedClock({ speed: 20 }) });
    const [orphan] = [...service.assets.values()].filter(({ completedAt }) => completedAt === undefined);
    if (orphan) orphan.createdAt = new Date(Date.now() - 25 * 3600_000).toISOString();
    service.fault = ({ method, path }) =>
      method === 'GET' && path === `/assets/${orphan?.uid}/`
        ? handleThen((reply) => {
            if (orphan) orphan.completedAt ??= Date.now();
            return reply;
          })
        : undefined;
    const { code, stderr } = await cli.run(['uploads', 'cleanup', '--trash', '--yes']);
    expect([code, stderr]).toEqual([11, expect.stringContaining('it is no longer incomplete')]);
    expect(orphan?.isTrashed).toBe(false);
  });

  it('uploads cleanup does not list the asset of a lost response if the asset is complete', async () => {
    loseOneResponse();
    await cli.run(['upload', '--flatten', folder], { clock: acceleratedClock({ speed: 20 }) });
    for (const asset of service.assets.values()) asset.completedAt ??= Date.now();
    expect(await cli.json(['uploads', 'cleanup', '--trash', '--yes'])).toEqual([]);
    expect([...service.assets.values()].filter(({ isTrashed }) => isTrashed)).toEqual([]);
  });
});

/** Stops `upload --stop-at 1h` at its 20th PATCH. @returns the options of the run */
const stopAtThe20thPatch = (): CliOptions => {
  const stopTime = createLatch();
  let patches = 0;
  service.fault = ({ method }) => {
    if (method === 'PATCH' && ++patches === 20) stopTime.open();
    return undefined;
  };
  return { clock: clockWithStopTime(acceleratedClock({ speed: 20 }), stopTime.opened) };
};

it('upload --stop-at exits with 0 at the given time, counts the remaining files, and the next upload sends them', async () => {
  writeManyFiles(folder, { count: 40 });
  const args = ['upload', '--flatten', folder, '--limit-rate', '1k', '--json', '--stop-at', '1h'];
  const { code, stdout, stderr } = await cli.run(args, stopAtThe20thPatch());
  expect(code).toBe(0);
  const records: UploadRecord[] = JSON.parse(stdout);
  expect(records.filter(({ error }) => error !== null)).toEqual([]);
  const { stopped } = JSON.parse(stderr.trimEnd().split('\n').at(-1) as string);
  expect(stopped).toEqual({
    message: 'stopped after 1h',
    files_remaining_count: 40 - records.filter(({ outcome }) => outcome === 'uploaded').length,
    hint: 'run the same command again to continue',
  });
  expect(stopped.files_remaining_count).toBeGreaterThan(5);
  service.fault = () => undefined;
  await uploadFolder();
  expect(service.completeAssets).toHaveLength(40);
});

it('upload --stop-at exits with 11 if a file had failed before the time was up', async () => {
  writeManyFiles(folder, { count: 40 });
  const options = stopAtThe20thPatch();
  const countPatch = service.fault;
  let creations = 0;
  service.fault = (request) =>
    request.method === 'POST' && ++creations === 5 ? respondWithError(422) : countPatch(request);
  const args = ['upload', '--flatten', folder, '--limit-rate', '1k', '--json', '--stop-at', '1h'];
  const { code, stderr } = await cli.run(args, options);
  const [stopped, failed] = stderr.trimEnd().split('\n').slice(-2);
  expect([code, JSON.parse(failed as string).error.code]).toEqual([11, 'partial_failure']);
  expect(JSON.parse(stopped as string).stopped.files_remaining_count).toBeGreaterThan(5);
});

it('upload --stop-at says that not all files were found if the time is up while they are compared', async () => {
  const stopTime = createLatch();
  service = await FakeService.start({ shows: ['parent', 'size', 'checksum_blake3'] });
  service.fault = ({ method }) => {
    if (method === 'GET') stopTime.open();
    return undefined;
  };
  const clock = clockWithStopTime(acceleratedClock({ speed: 20 }), stopTime.opened);
  const args = ['upload', '--flatten', folder, '--json', '--stop-at', '1h'];
  const { code, stdout, stderr } = await cli.run(args, { clock, environment: service.environment });
  expect([code, JSON.parse(stdout)]).toEqual([0, []]);
  expect(JSON.parse(stderr.trimEnd().split('\n').at(-1) as string).stopped.files_remaining_count).toBeNull();
  expect(service.assets.size).toBe(0);
});

it('upload --results writes every record to a file, including skipped files', async () => {
  const resultsFile = join(cli.home, 'sent.jsonl');
  await uploadFolder('--results', resultsFile);
  await uploadFolder('--results', resultsFile);
  const records = readFileSync(resultsFile, 'utf8')
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line));
  expect(outcomes(records)).toEqual(ofEachFile('skipped'));
});
