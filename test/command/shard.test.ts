import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { isInShard } from '../../src/client/upload/sources/upload-file.ts';
import { Cli } from '../support/cli.ts';
import { startSandbox, type TestSandbox } from '../support/sandbox.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

/* Several machines that upload one directory without any coordination. */

let sandbox: TestSandbox;
beforeAll(async () => {
  sandbox = await startSandbox();
});
afterAll(() => sandbox.end());

/** Creates the same directory at another path, as another machine mounts it. */
function createDirectoryOfFiles(count: number): string {
  const root = temporaryFolder();
  for (let n = 0; n < count; n++) {
    const day = join(root, `day ${n % 3}`);
    mkdirSync(day, { recursive: true });
    writeFileSync(join(day, `clip ${n}.bin`), `bytes of ${n}`);
  }
  return root;
}

const createMachine = () =>
  new Cli({
    MEDIACTL_API_KEY: sandbox.key,
    MEDIACTL_BASE_URL: sandbox.url,
    MEDIACTL_WORKSPACE: sandbox.workspace,
  });

describe('upload --shard', () => {
  it('three machines with upload --shard 1/3 to 3/3 upload every file exactly once', async () => {
    const namesPerMachine = await Promise.all(
      [1, 2, 3].map(async (number) => {
        const args = ['upload', '--flatten', createDirectoryOfFiles(24), '--shard', `${number}/3`];
        const records = await createMachine().json(args);
        return records.map(({ asset_name }: { asset_name: string }) => asset_name) as string[];
      }),
    );
    expect(namesPerMachine.flat().sort()).toEqual(Array.from({ length: 24 }, (_, n) => `clip ${n}.bin`).sort());
    for (const names of namesPerMachine) expect(names.length).toBeGreaterThan(0);
  });

  it('upload --shard exits with 0 and reports the skipped files if its shard is empty', async () => {
    const directory = createDirectoryOfFiles(1);
    const runs = await Promise.all(
      [1, 2].map((number) => createMachine().run(['upload', '--flatten', directory, '--shard', `${number}/2`])),
    );
    expect(runs.map(({ code }) => code)).toEqual([0, 0]);
    const withSkippedFile = runs.filter(({ stderr }) => stderr.includes('1 file skipped: not in this shard'));
    expect(withSkippedFile).toHaveLength(1);
    expect(withSkippedFile[0]?.stdout).toBe('');
  });

  it.each(['0/3', '4/3', '3', '1/0', 'a/b', '-1/3', '1/3/5', '1.5/3'])(
    'upload --shard=%s exits with 2',
    async (shard) => {
      const { code, stderr } = await createMachine().run(['upload', createDirectoryOfFiles(1), `--shard=${shard}`]);
      expect([code, stderr]).toEqual([2, expect.stringContaining('JOB_COMPLETION_INDEX')]);
    },
  );

  it('upload --shard of stdin exits with 2', async () => {
    const { code } = await createMachine().run(['upload', '-', '--shard', '1/2'], { stdin: 'x' });
    expect(code).toBe(2);
  });
});

it('shards have about the same size, and do not depend on the Unicode form of accents in file names', () => {
  const counts = Array.from({ length: 10 }, (_, n) =>
    Array.from({ length: 10_000 }, (_, file) => ({
      relativeDir: 'a',
      path: `/x/${file}.mov`,
    })).filter((file) => isInShard({ number: n + 1, total: 10 }, file)),
  ).map(({ length }) => length);
  expect(counts.reduce((sum, count) => sum + count)).toBe(10_000);
  for (const count of counts) expect(Math.abs(count - 1000)).toBeLessThan(150);
  const [composedShard, decomposedShard] = ['Caf\u00e9.mov', 'Cafe\u0301.mov'].map((name) =>
    [1, 2, 3, 4, 5].find((number) => isInShard({ number, total: 5 }, { relativeDir: '', path: name })),
  );
  expect(composedShard).toBe(decomposedShard);
});
