import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { dropConnection, FakeService, handleThen } from '../support/fake-service.ts';
import { writeManyFiles } from '../support/many-files.ts';
import { Random, seedsOf } from '../support/random.ts';
import { mediactl, mediactlCommand, startProcess } from '../support/spawn.ts';
import { databaseFile } from '../support/state-database.ts';
import { SyncedState, straceArguments } from '../support/synced-state.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

/*
 * Simulates a power loss at a random request: the process is killed, and the database keeps every synced write and a
 * random subset of the others.
 */

type FileRecord = { path: string; outcome: string; asset_uid: string | null; error: { code: string } | null };

const fileCount = 40;

const recordsOf = (stdout: string): FileRecord[] =>
  stdout
    .split('\n')
    .filter((line) => line.endsWith('}'))
    .map((line) => JSON.parse(line));

describe('power loss', { tags: 'strace' }, () => {
  it.each(seedsOf({ quick: 2, full: 40, first: 9001 }))(
    'with seed %i, a run after a power loss skips reported files and names each incomplete asset',
    async (seed) => {
      const random = new Random(seed);
      const service = await FakeService.start();
      const home = temporaryFolder();
      const state = join(home, 'state');
      const traceFile = join(home, 'trace');
      const digests = writeManyFiles(join(home, 'shots'), { count: fileCount });
      const environment = {
        ...service.environment,
        MEDIACTL_STATE_DIR: state,
        MEDIACTL_CONFIG_DIR: join(home, 'config'),
      };
      const args = ['upload', '--flatten', join(home, 'shots'), '--jsonl', '--progress', 'none'];
      const traced = [...straceArguments(traceFile), ...mediactlCommand, ...args];
      const { child, finished } = startProcess('strace', traced, environment);
      const killAtRequest = 1 + random.below(2 * fileCount);
      service.fault = ({ nth }) => {
        if (nth === killAtRequest) child.kill('SIGKILL');
        return nth >= killAtRequest ? (random.chance(0.5) ? handleThen(dropConnection) : dropConnection) : undefined;
      };
      const reportedRecords = recordsOf((await finished).stdout);
      service.fault = () => undefined;
      // The disk after the power loss has every synced write and a random part of the others.
      const disk = new SyncedState(traceFile);
      expect(disk.syncs).toBeGreaterThan(0);
      disk.restoreDatabase(databaseFile(state), random);

      const secondRun = await mediactl(args, environment).finished;
      const records = new Map(recordsOf(secondRun.stdout).map((record) => [record.path, record]));
      expect([secondRun.code, records.size], secondRun.stderr).toEqual([0, fileCount]);
      for (const { path, outcome, asset_uid } of reportedRecords) {
        expect(outcome).toBe('uploaded');
        expect(records.get(path)).toMatchObject({ outcome: 'skipped', asset_uid });
      }
      expect(service.completeAssets.map(({ name, blake3 }) => [name, blake3]).sort()).toEqual([...digests].sort());
      const output = secondRun.stderr + (await mediactl(['uploads', 'cleanup', '--json'], environment).finished).stdout;
      for (const { uid, completedAt } of service.assets.values()) if (!completedAt) expect(output).toContain(uid);
    },
  );
});
