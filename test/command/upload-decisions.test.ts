import {
  appendFileSync,
  copyFileSync,
  mkdirSync,
  renameSync,
  rmSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { basename, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { CodedError } from '../../src/client/errors.ts';
import { Cli } from '../support/cli.ts';
import { FakeService, handleThen } from '../support/fake-service.ts';
import { respondWith } from '../support/fault-proxy.ts';
import { chunkBytes, setUpUploader } from '../support/upload-setup.ts';

/* What `upload -n` says of unfinished uploads is what the run does, and it changes nothing. */

const setup = setUpUploader();
const sizeBytes = 4 * chunkBytes + 1000;

async function preview(args: string[] = []) {
  const { code, stderr, record } = await setup.upload(['-n', ...args]);
  expect(code).toBe(0);
  return { totals: /^dry run: .*$/m.exec(stderr)?.[0], record };
}

const sentBytes = () => setup.patchRequests().reduce((sum, { headers }) => sum + Number(headers['content-length']), 0);

describe('a preview of an unfinished upload', () => {
  it('upload -n shows an interrupted file as resumed with the bytes that remain, and the run sends them', async () => {
    await setup.interruptAfterTwoChunks();
    const { session } = setup.storedEntry();
    const { totals, record } = await preview();
    const remaining = sizeBytes - 2 * chunkBytes;
    expect(record).toMatchObject({
      outcome: 'resumed',
      asset_uid: session.assetUid,
      size_bytes: sizeBytes,
      remaining_bytes: remaining,
      request: { method: 'PATCH', url: session.url },
      error: null,
    });
    expect(totals).toMatch(/^dry run: 1 file: 1 to resume; 129\.0 KiB, 4 requests/);
    expect((await setup.run(['upload', setup.path, '-n'], { tty: true, columns: 200 })).stdout).toMatch(
      /REMAINING.*\n.*resumed +257\.0 KiB +129\.0 KiB/,
    );
    expect(setup.patchRequests()).toEqual([]);
    const run = await setup.upload();
    expect(run.record).toMatchObject({ asset_uid: session.assetUid, resumed_from_bytes: 2 * chunkBytes });
    expect(sentBytes()).toBe(remaining);
    await setup.expectUploaded(run.record);
  });

  it('upload -n shows the unfinished upload of a moved file as resumed, without moving its entry', async () => {
    await setup.interruptAfterTwoChunks();
    const before = setup.storedEntry();
    const newPath = join(setup.cli.home, 'elsewhere', basename(setup.path));
    mkdirSync(join(newPath, '..'));
    renameSync(setup.path, newPath);
    setup.path = newPath;
    const { record } = await preview();
    expect(record).toMatchObject({ outcome: 'resumed', asset_uid: before.session.assetUid });
    expect(setup.storedEntry()).toEqual(before);
    expect((await setup.upload()).record).toMatchObject({ asset_uid: before.session.assetUid, outcome: 'uploaded' });
  });

  it.each([
    ['shorter', (path: string) => truncateSync(path, 1000)],
    ['longer', (path: string) => appendFileSync(path, 'more')],
  ])(
    'upload -n shows a file that became %s since its upload began as changed, and the run sends it as a new asset',
    async (_, edit) => {
      await setup.interruptAfterTwoChunks();
      const before = setup.storedEntry();
      edit(setup.path);
      const { totals, record } = await preview();
      expect(record).toMatchObject({ outcome: 'changed', request: { method: 'POST' }, error: null });
      expect(totals).toMatch(/1 changed; /);
      const run = await setup.upload();
      expect([run.code, run.record.error, run.stderr]).toEqual([
        0,
        null,
        expect.stringContaining(`asset ${before.session.assetUid} stays incomplete`),
      ]);
      expect(run.record.asset_uid).not.toBe(before.session.assetUid);
    },
  );

  it('upload -n --existing upload, and -n of an upload whose creation was not answered, show the file as new', async () => {
    await setup.interruptAfterTwoChunks();
    expect((await preview(['--existing', 'upload'])).record).toMatchObject({
      outcome: 'new',
      remaining_bytes: sizeBytes,
    });
    const other = join(setup.cli.home, `other-${basename(setup.path)}`);
    copyFileSync(setup.path, other);
    setup.path = other;
    setup.fault = ({ method }) => (method === 'POST' ? respondWith(500, {}) : undefined);
    await setup.upload();
    setup.fault = () => undefined;
    expect((await preview()).record).toMatchObject({ outcome: 'new', asset_uid: null, remaining_bytes: sizeBytes });
  });

  it('a run counts the files that it resumes in its plan, and the bytes that are left of them', {
    tags: 'undocumented-fields',
  }, async () => {
    await setup.interruptAfterTwoChunks();
    const directory = join(setup.cli.home, 'many');
    mkdirSync(directory);
    for (let at = 0; at < 20; at++) writeFileSync(join(directory, `${at} ${basename(setup.path)}`), `content of ${at}`);
    const { stderr } = await setup.run(['upload', setup.path, directory, '--flatten', '--chunk-size', '64KiB']);
    expect(stderr).toMatch(/21 files: 20 new, 1 to resume; 129\.2 KiB, 45 requests/);
  });
});

describe('a decision', () => {
  it('upload -n changes none of the records that a run updates', async () => {
    const { record } = await setup.upload();
    const finished = async () => (await setup.run(['uploads', 'ls', '--finished', '--json'])).stdout;
    const before = await finished();
    utimesSync(setup.path, 1, 1);
    expect((await preview()).record).toMatchObject({ outcome: 'skipped', asset_uid: record.asset_uid });
    expect(await finished()).toBe(before);
    expect((await setup.upload()).record.outcome).toBe('skipped');
    expect(await finished()).not.toBe(before);
  });

  it('upload forgets the receipt of an asset that is gone, and sends its copy; -n says so, and forgets nothing', async () => {
    const { record } = await setup.upload();
    const copy = join(setup.cli.home, `copy-${basename(setup.path)}`);
    copyFileSync(setup.path, copy);
    const url = `${setup.sandbox.url}/api/external/v1/assets/${record.asset_uid}/`;
    await fetch(url, { method: 'DELETE', headers: { authorization: `Bearer ${setup.sandbox.key}` } });
    const finishedUids = async (): Promise<string[]> =>
      JSON.parse((await setup.run(['uploads', 'ls', '--finished', '--json'])).stdout).map(
        ({ asset_uid }: { asset_uid: string }) => asset_uid,
      );
    rmSync(setup.path);
    setup.path = copy;
    expect((await preview(['--existing', 'anywhere'])).record).toMatchObject({ outcome: 'new' });
    expect(await finishedUids()).toEqual([record.asset_uid]);
    const run = await setup.upload(['--existing', 'anywhere']);
    expect([run.record.outcome, await finishedUids()]).toEqual(['uploaded', [run.record.asset_uid]]);
  });

  it('upload -n finds a duplicate in any folder for a folder that does not exist yet, as the run does', async () => {
    const { record } = await setup.upload();
    const copy = join(setup.cli.home, `copy-${basename(setup.path)}`);
    copyFileSync(setup.path, copy);
    setup.path = copy;
    const args = ['/Not yet', '--create-folders', '--existing', 'anywhere'];
    expect((await preview(args)).record).toMatchObject({ outcome: 'duplicate', asset_uid: record.asset_uid });
    expect((await setup.upload(args)).record).toMatchObject({ outcome: 'duplicate', asset_uid: record.asset_uid });
  });
});

it('an upload whose creation was lost is given up if another machine has uploaded the file, and its empty asset is named', async () => {
  const interruption = new AbortController();
  const service = await FakeService.start({ shows: ['size'] });
  const interrupt = handleThen(() => {
    interruption.abort(new CodedError('interrupted', { code: 'interrupted' }));
    return undefined;
  });
  service.fault = ({ method }) => (method === 'POST' ? interrupt : undefined);
  const args = ['upload', setup.path, '--json'];
  const user = new Cli(service.environment);
  expect(await user.run(args, { signal: interruption.signal })).toMatchObject({ code: 130 });
  service.fault = () => undefined;
  const [empty] = [...service.assets.keys()];
  const other = await new Cli(service.environment).json(['upload', setup.path]);
  const run = await user.run(args);
  expect(JSON.parse(run.stdout)).toMatchObject([
    { outcome: 'same_name_and_size', asset_uid: other[0].asset_uid, error: null },
  ]);
  expect(run.stderr).toContain(`asset ${empty} may be empty, because the response to its creation was lost`);
  expect(await user.json(['uploads', 'ls'])).toEqual([]);
  expect(await user.json(['uploads', 'cleanup', '-n'])).toMatchObject([{ asset_uid: empty }]);
});
