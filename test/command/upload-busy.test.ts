import { mkdirSync, unlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, expect, it, onTestFinished } from 'vitest';
import { createClient } from '../../src/sdk/index.ts';
import { Cli, type CliResult } from '../support/cli.ts';
import { testKey, workspaceUid } from '../support/fake-library.ts';
import { FakeService, type ServiceFault } from '../support/fake-service.ts';
import { createLatch } from '../support/latch.ts';

/* Files that another run is uploading: a run that has not seen them finish does not succeed. */

let service: FakeService;
let cli: Cli;
let directory: string;
beforeEach(async () => {
  service = await FakeService.start({ shows: ['parent'] });
  cli = new Cli(service.environment);
  directory = join(cli.home, 'rushes');
  mkdirSync(directory);
});

const write = (...names: string[]) => {
  for (const name of names) writeFileSync(join(directory, name), `content of ${name}`);
};
const sync = (...args: string[]) => cli.run(['sync', directory, '/F', '--yes', ...args]);
const outcomesOf = ({ stdout }: CliResult) =>
  Object.fromEntries(
    (JSON.parse(stdout) as { path: string; outcome: string }[]).map(({ path, outcome }) => [
      path.split('/').at(-1),
      outcome,
    ]),
  );
const assetNames = () => service.completeAssets.map(({ name }) => name).sort();

/** Sets faults for the bytes of files, by name. */
function onBytesOf(faults: Record<string, ServiceFault>): void {
  service.fault = ({ method, asset }) => (method === 'PATCH' ? faults[asset?.name ?? ''] : undefined);
}

/** Starts a run that uploads files by their names, and resolves once the service has their bytes and waits. */
async function startOtherRun(...names: string[]) {
  const { opened: mayFinish, open: release } = createLatch();
  onTestFinished(release);
  const arrivals = names.map(() => createLatch());
  const hold =
    (at: number): ServiceFault =>
    async (request) => {
      arrivals[at]?.open();
      await mayFinish;
      return request.act();
    };
  onBytesOf(Object.fromEntries(names.map((name, at) => [name, hold(at)])));
  const paths = names.map((name) => join(directory, name));
  const finished = cli.run(['upload', ...paths, '/F', '--create-folders']);
  await Promise.all(arrivals.map(({ opened }) => opened));
  return { release, finished };
}

/** Holds the bytes of a file until the other run has finished. */
const afterOtherRun =
  ({ release, finished }: { release: () => void; finished: Promise<CliResult> }): ServiceFault =>
  async (request) => {
    release();
    expect((await finished).code).toBe(0);
    return request.act();
  };

it('sync exits with 11 and says to run it again if another run uploads its files to the end of the run', async () => {
  write('a.bin', 'b.bin');
  const other = await startOtherRun('a.bin', 'b.bin');
  const { code, stderr, stdout } = await sync('--json');
  expect(code).toBe(11);
  expect(outcomesOf({ stdout } as CliResult)).toEqual({ 'a.bin': 'busy', 'b.bin': 'busy' });
  expect(stderr).toContain('2 of 2 files were left to another run');
  expect(stderr).toContain('run the same command again');
  const pruned = await sync('--prune', '--require-checksum');
  expect([pruned.code, pruned.stderr]).toEqual([11, expect.stringContaining('nothing was moved to the trash')]);
  expect((await sync('--wait')).code).toBe(11);
  other.release();
  expect((await other.finished).code).toBe(0);
  const again = await sync('--json');
  expect([again.code, outcomesOf(again)]).toEqual([0, { 'a.bin': 'skipped', 'b.bin': 'skipped' }]);
  expect(assetNames()).toEqual(['a.bin', 'b.bin']);
});

it('sync skips a file that another run finishes meanwhile, and --prune then moves assets to the trash', async () => {
  write('a.bin', 'gone.bin');
  await sync();
  unlinkSync(join(directory, 'gone.bin'));
  write('b.bin', 'c.bin');
  const other = await startOtherRun('b.bin');
  onBytesOf({ 'c.bin': afterOtherRun(other) });
  const run = await sync('--prune', '--json');
  expect([run.code, outcomesOf(run)]).toEqual([0, { 'a.bin': 'skipped', 'b.bin': 'skipped', 'c.bin': 'uploaded' }]);
  expect(assetNames()).toEqual(['a.bin', 'b.bin', 'c.bin']);
});

it('sync --wait waits for the asset of a file that another run finishes meanwhile', async () => {
  write('b.bin', 'c.bin');
  const other = await startOtherRun('b.bin');
  onBytesOf({ 'c.bin': afterOtherRun(other) });
  const { code, stdout } = await sync('--wait', '--json');
  expect(code).toBe(0);
  expect(JSON.parse(stdout).map(({ asset_status }: { asset_status: string }) => asset_status)).toEqual([
    'ready',
    'ready',
  ]);
});

it('upload --existing upload leaves a file busy that another run has finished, since it has no asset of its own', async () => {
  write('b.bin', 'c.bin');
  const other = await startOtherRun('b.bin');
  onBytesOf({ 'c.bin': afterOtherRun(other) });
  const run = await cli.run(['upload', directory, '/F', '--existing', 'upload', '--json']);
  expect([run.code, outcomesOf(run)]).toEqual([11, { 'b.bin': 'busy', 'c.bin': 'uploaded' }]);
});

it('uploadDirectory of the library yields an error for a busy file, but not if the other run has finished it', async () => {
  write('b.bin', 'c.bin');
  const client = createClient({
    baseUrl: service.url,
    apiKey: testKey,
    workspace: workspaceUid,
    stateDir: join(cli.home, 'state'),
  });
  onTestFinished(() => client.close());
  const upload = async () => {
    const outcomes: Record<string, string> = {};
    for await (const { path, upload, error } of client.uploadDirectory(directory, { folder: '/F' }))
      outcomes[path.split('/').at(-1) ?? ''] = upload?.outcome ?? error?.code ?? '';
    return outcomes;
  };
  const other = await startOtherRun('b.bin', 'c.bin');
  expect(await upload()).toEqual({ 'b.bin': 'upload_in_progress', 'c.bin': 'upload_in_progress' });
  write('d.bin');
  onBytesOf({ 'd.bin': afterOtherRun(other) });
  expect(await upload()).toEqual({ 'b.bin': 'skipped', 'c.bin': 'skipped', 'd.bin': 'uploaded' });
  expect(assetNames()).toEqual(['b.bin', 'c.bin', 'd.bin']);
});
