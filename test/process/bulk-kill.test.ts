import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { markedTogether } from '../../src/client/changes/carry-out.ts';
import { setUpBulk } from '../support/bulk-setup.ts';
import { parseStrictCsv, writeCsv } from '../support/csv.ts';
import { Random } from '../support/random.ts';
import { anyWorkspace } from '../support/sandbox.ts';
import { databaseFile, queryState } from '../support/state-database.ts';
import { SyncedState } from '../support/synced-state.ts';

const { setup, run, runKilled, readStore } = setUpBulk(60);

it('undo restores the first value of a cell that was edited again after an interrupted apply', async () => {
  const before = readStore();
  const table = join(setup.home, 'table.csv');
  await run('export', '-o', table);
  const [header = [], ...rows] = parseStrictCsv(readFileSync(table, 'utf8'));
  const writeNames = (word: string) =>
    writeCsv(table, [header, ...rows.slice(0, 40).map((row) => row.with(1, `${word} ${row[0]}`))]);
  writeNames('first');
  await runKilled({ write: 20 }, 'apply', table, ...anyWorkspace, '--yes');
  writeNames('second');
  expect(await run('apply', table, ...anyWorkspace, '--yes')).toMatchObject({ code: 0 });
  expect([...readStore().values()].filter(({ name }) => name.startsWith('second')).length).toBe(40);
  expect(await run('undo', '--yes')).toMatchObject({ code: 0 });
  expect(readStore()).toEqual(before);
});

it('apply of two processes at once ends with the values of the table', async () => {
  const table = join(setup.home, 'table.csv');
  await run('export', '-o', table);
  const [header = [], ...rows] = parseStrictCsv(readFileSync(table, 'utf8'));
  writeCsv(table, [header, ...rows.slice(0, 50).map((row) => row.with(1, `both ${row[0]}`))]);
  const both = await Promise.all([
    run('apply', table, ...anyWorkspace, '--yes'),
    run('apply', table, ...anyWorkspace, '--yes'),
  ]);
  expect(both.map(({ code }) => code)).toEqual([0, 0]);
  const found = [...readStore().values()].filter(({ uid, name }) => name === `both ${uid}`);
  expect(found.length).toBe(50);
});

// In the first and in the second block of items that are marked together.
it.each([4, markedTogether + 4])(
  'undo after a power loss at write %i takes back what was written until then',
  { tags: ['strace', 'undocumented-fields'] },
  async (write) => {
    const before = readStore();
    setup.traceFile = join(setup.home, 'trace');
    await runKilled({ write }, 'tag', '/**', '--add', 'wrong', '--yes');
    const disk = new SyncedState(setup.traceFile);
    setup.traceFile = undefined;
    const written = [...readStore().values()].filter(({ tags }) => tags.includes('wrong')).map(({ uid }) => uid);
    expect(written.length).toBeGreaterThanOrEqual(write - 3);
    const state = join(setup.home, 'state');
    for (const seed of [1, 2, 3, 4, 5]) {
      disk.restoreDatabase(databaseFile(state), new Random(seed));
      const recorded = queryState(state, "SELECT uid FROM change_items WHERE state <> 'pending'").map(({ uid }) => uid);
      expect([seed, recorded]).toEqual([seed, expect.arrayContaining(written)]);
    }
    expect(await run('undo', '--yes')).toMatchObject({ code: 0 });
    expect(readStore()).toEqual(before);
  },
);
