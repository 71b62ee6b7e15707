import { copyFileSync, readFileSync, renameSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import type { UploadRecord } from '../../src/cli/uploading/upload-record.ts';
import { Cli } from '../support/cli.ts';
import { fastClock } from '../support/clock.ts';
import { after, cut, FakeService, refuse } from '../support/fake-service.ts';
import { writeManyFiles } from '../support/many-files.ts';

/* Files with a receipt on this machine are neither sent nor looked up again. */

const count = 6;
let service: FakeService;
let cli: Cli;
let folder: string;
beforeEach(async () => {
  service = await FakeService.start();
  cli = new Cli(service.environment);
  folder = join(cli.home, 'shots');
  writeManyFiles(folder, count);
});

async function upload(...args: string[]): Promise<UploadRecord[]> {
  service.requests = 0;
  return cli.json(['upload', '--flatten', folder, ...args], { clock: fastClock(20) });
}

const outcomes = (items: UploadRecord[]) => items.map(({ outcome }) => outcome).sort();
const forEveryFile = (outcome: string | null) => Array(count).fill(outcome);
const firstFile = () => join(folder, 'shot 00000.bin');

describe('repeated upload of the same files', () => {
  it('upload of unchanged files sends no request and prints the same assets, even with another API key', async () => {
    const first = await upload();
    expect(outcomes(first)).toEqual(forEveryFile('uploaded'));
    const environment = { MEDIACTL_API_KEY: 'another-key-of-the-organisation' };
    service.requests = 0;
    const again: UploadRecord[] = await cli.json(['upload', '--flatten', folder], { environment });
    expect([outcomes(again), service.requests]).toEqual([forEveryFile('skipped'), 0]);
    const uids = (items: UploadRecord[]) => items.map(({ asset_uid }) => asset_uid).sort();
    expect(uids(again)).toEqual(uids(first));
  });

  it('upload does not send a file again after it is touched, moved or copied, but sends it after it is edited', async () => {
    await upload();
    utimesSync(firstFile(), 1, 1);
    expect([outcomes(await upload()), service.requests]).toEqual([forEveryFile('skipped'), 0]);
    renameSync(folder, `${folder} of May`);
    folder = `${folder} of May`;
    expect(outcomes(await upload())).toEqual(forEveryFile('duplicate'));
    expect(service.counts['POST /upload/']).toBe(count);
    copyFileSync(firstFile(), join(cli.home, 'copy.bin'));
    const copied = await cli.run(['upload', join(cli.home, 'copy.bin')]);
    expect(copied.stderr).toContain('--duplicates upload uploads it anyway');
    writeFileSync(firstFile(), 'edited');
    expect(outcomes(await upload('--duplicates', 'skip'))).toEqual([...Array(count - 1).fill('duplicate'), 'uploaded']);
    expect(service.assets.size).toBe(count + 1);
  });

  it('upload --duplicates upload uploads a copy under another name, and --force uploads every file again', async () => {
    await upload();
    copyFileSync(firstFile(), join(cli.home, 'copy.bin'));
    const sent = await cli.json(['upload', join(cli.home, 'copy.bin'), '--duplicates', 'upload']);
    expect(outcomes(sent)).toEqual(['uploaded']);
    expect(outcomes(await upload('--force'))).toEqual(forEveryFile('uploaded'));
    expect(service.assets.size).toBe(2 * count + 1);
  });

  it('upload sends every file of a directory even if some have equal contents, also when it continues a failed run', async () => {
    for (let n = 0; n < 3; n++) writeFileSync(join(folder, `same ${n}.bin`), 'one content');
    service.fault = ({ method, path }) =>
      method === 'POST' && path === '/upload/' && service.completeAssets.length === count + 1 ? refuse(401) : undefined;
    const { code } = await cli.run(['upload', '--flatten', folder, '--transfers', '1']);
    expect([code, service.completeAssets.length]).toEqual([4, count + 1]);
    service.fault = () => undefined;
    expect(outcomes(await upload('--transfers', '1'))).toEqual([
      ...Array(count + 1).fill('skipped'),
      ...Array(2).fill('uploaded'),
    ]);
    // A copy that appears after the upload is reported as `same`.
    writeFileSync(join(folder, 'same 9.bin'), 'one content');
    expect(outcomes(await upload())).toContain('duplicate');
  });

  it('upload sends a file again after assets rm moved its asset to the trash', async () => {
    const [{ asset_uid }] = (await upload()) as [UploadRecord];
    await cli.run(['assets', 'rm', asset_uid as string, '--yes']);
    expect(outcomes(await upload())).toEqual([...Array(count - 1).fill('skipped'), 'uploaded']);
  });
});

it('wait waits for the assets of an earlier upload, and sends no request for an asset that is already ready', async () => {
  await upload();
  const waited = await cli.json(['wait'], { clock: fastClock(20) });
  expect(waited.map(({ asset_status }: { asset_status: string }) => asset_status)).toEqual(forEveryFile('ready'));
  service.requests = 0;
  expect(await cli.json(['wait'])).toEqual([]);
  expect((await upload('--wait')).map(({ asset_status }) => asset_status)).toEqual(forEveryFile('ready'));
  expect(service.requests).toBe(0);
});

describe('upload receipts', () => {
  it('the receipt database has mode 0600 and does not contain the API key', async () => {
    await upload();
    const path = join(cli.home, 'state/receipts.db');
    expect(statSync(path).mode & 0o777).toBe(0o600);
    expect(readFileSync(path, 'latin1')).not.toContain(service.environment.MEDIACTL_API_KEY);
  });

  it('uploads export and uploads import copy receipts to another machine, on which upload then skips the files', async () => {
    await upload();
    const lines = (await cli.run(['uploads', 'export'])).stdout;
    expect(lines).toBe((await cli.run(['uploads', 'ls', '--finished', '--jsonl'])).stdout);
    expect(lines).not.toContain(service.environment.MEDIACTL_API_KEY);
    const other = { MEDIACTL_STATE_DIR: join(cli.home, 'another-machine') };
    const imported = await cli.json(['uploads', 'import', '-'], {
      stdin: lines,
      environment: other,
    });
    expect(imported).toEqual({ read: count, imported: count });
    const importedAgain = await cli.json(['uploads', 'import', '-'], { stdin: lines, environment: other });
    expect(importedAgain).toEqual({ read: count, imported: 0 });
    service.requests = 0;
    const records = await cli.json(['upload', '--flatten', folder], { environment: other });
    expect([outcomes(records), service.requests]).toEqual([forEveryFile('skipped'), 0]);
  });

  it('an imported receipt has verified null, because this machine did not check the upload', async () => {
    await upload();
    const lines = (await cli.run(['uploads', 'ls', '--finished', '--jsonl'])).stdout;
    expect(JSON.parse(lines.split('\n')[0] as string)).toMatchObject({ verified: true });
    const environment = { MEDIACTL_STATE_DIR: join(cli.home, 'another-machine') };
    await cli.json(['uploads', 'import', '-'], { stdin: lines, environment });
    copyFileSync(firstFile(), join(folder, 'copy.bin'));
    const items: (UploadRecord & { verified: boolean | null })[] = await cli.json(['upload', '--flatten', folder], {
      environment,
    });
    expect(outcomes(items)).toEqual(['duplicate', ...forEveryFile('skipped')]);
    expect(items.map(({ verified }) => verified)).toEqual(Array(count + 1).fill(null));
    const done = await cli.json(['uploads', 'ls', '--finished'], { environment });
    expect(done.map(({ verified }: { verified: null }) => verified)).toEqual(forEveryFile(null));
  });

  it.each(['\0', '\x1b]0;title\x07', '\n'])(
    'uploads import exits with 2 and imports nothing if a path contains %j',
    async (character) => {
      await upload();
      const { stdout } = await cli.run(['uploads', 'ls', '--finished', '--jsonl']);
      const line = JSON.stringify({
        ...JSON.parse(stdout.split('\n')[0] as string),
        path: `/a${character}b`,
      });
      const environment = { MEDIACTL_STATE_DIR: join(cli.home, 'another-machine') };
      const ran = await cli.run(['uploads', 'import', '-'], {
        stdin: `${stdout}${line}\n`,
        environment,
      });
      expect([ran.code, ran.stderr]).toEqual([2, expect.stringContaining(`line ${count + 1}`)]);
      expect(ran.stderr).not.toContain('\x1b');
      expect(await cli.json(['uploads', 'ls', '--finished'], { environment })).toEqual([]);
    },
  );

  it.each([
    ['not JSON', 'words'],
    ['not an object', '[]'],
    ['not a receipt', '{"path":"/a"}'],
  ])('uploads import exits with 2 and imports nothing if a line is %s', async (_what, line) => {
    await upload();
    const lines = (await cli.run(['uploads', 'ls', '--finished', '--jsonl'])).stdout;
    const other = { MEDIACTL_STATE_DIR: join(cli.home, 'another-machine') };
    const ran = await cli.run(['uploads', 'import', '-'], {
      stdin: `${lines}${line}\n`,
      environment: other,
    });
    expect([ran.code, ran.stderr]).toEqual([2, expect.stringContaining(`line ${count + 1}`)]);
    expect(await cli.json(['uploads', 'ls', '--finished'], { environment: other })).toEqual([]);
  });
});

describe('orphans of lost responses', () => {
  const loseOneResponse = () => {
    service.fault = ({ method, path }) =>
      method === 'POST' && path === '/upload/' && service.assets.size === 2 ? after(cut) : undefined;
  };

  it('upload finds the empty asset of a lost response with one list request and names it at the end', async () => {
    loseOneResponse();
    const { code, stderr } = await cli.run(['upload', '--flatten', folder], { clock: fastClock(20) });
    expect([code, service.completeAssets.length]).toEqual([0, count]);
    const [orphan] = [...service.assets.values()].filter(({ completedAt }) => completedAt === undefined);
    expect(stderr).toContain(`asset ${orphan?.uid} may be empty`);
    expect(service.counts['GET /assets/']).toBe(1 + 1); // one to compare the files with the top level
  });

  it('uploads cleanup --trash lists the empty asset of a lost response, and moves it to the trash only after its session has expired', async () => {
    loseOneResponse();
    await cli.run(['upload', '--flatten', folder], { clock: fastClock(20) });
    const [orphan] = [...service.assets.values()].filter(({ completedAt }) => completedAt === undefined);
    const listed = await cli.json(['uploads', 'cleanup', '--trash', '--yes']);
    // The orphan was found by name only: until upload sessions expire, another uploader may be using it.
    expect(listed).toMatchObject([{ asset_uid: orphan?.uid, deleted: false, protected_until: expect.any(String) }]);
    if (orphan) orphan.createdAt = new Date(Date.now() - 25 * 3600_000).toISOString();
    expect((await cli.run(['uploads', 'cleanup', '--trash'])).code).toBe(2);
    expect(orphan?.isTrashed).toBe(false);
    expect(await cli.json(['uploads', 'cleanup', '--trash', '--yes'])).toMatchObject([{ deleted: true }]);
    expect(orphan?.isTrashed).toBe(true);
    expect(await cli.json(['uploads', 'cleanup'])).toEqual([]);
  });

  it('uploads cleanup does not list the asset of a lost response if the asset is complete', async () => {
    loseOneResponse();
    await cli.run(['upload', '--flatten', folder], { clock: fastClock(20) });
    for (const asset of service.assets.values()) asset.completedAt ??= Date.now();
    expect(await cli.json(['uploads', 'cleanup', '--trash', '--yes'])).toEqual([]);
    expect([...service.assets.values()].filter(({ isTrashed }) => isTrashed)).toEqual([]);
  });
});

it('upload --stop-at exits with 9 at the given time, and the next upload sends the remaining files', async () => {
  writeManyFiles(folder, 40);
  const args = ['upload', '--flatten', folder, '--limit-rate', '1k', '--json'];
  const { code, stderr } = await cli.run([...args, '--stop-at', '20s'], { clock: fastClock(20) });
  expect(code).toBe(9);
  const { error } = JSON.parse(stderr.trimEnd().split('\n').at(-1) as string);
  expect(error).toMatchObject({ code: 'stopped_at_limit', details: { failures: [] } });
  // Files in flight may be complete on the service although the response was lost.
  const incompleteCount = 40 - service.completeAssets.length;
  expect(error.details.files_remaining_count).toBeGreaterThanOrEqual(incompleteCount);
  expect(error.details.files_remaining_count).toBeLessThanOrEqual(incompleteCount + 8);
  expect(error.hint).toContain('run the same command again to continue');
  await upload();
  expect(service.completeAssets).toHaveLength(40);
});

it('upload --results writes every record to a file of mode 0600, including skipped files', async () => {
  const out = join(cli.home, 'sent.jsonl');
  await upload('--results', out);
  await upload('--results', out);
  const records = readFileSync(out, 'utf8')
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line));
  expect(outcomes(records)).toEqual(forEveryFile('skipped'));
  expect(statSync(out).mode & 0o777).toBe(0o600);
});
