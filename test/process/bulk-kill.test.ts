import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { setUpBulk } from '../support/bulk-setup.ts';
import { parseStrictCsv, writeCsv } from '../support/csv.ts';

const assetCount = 300;
const { setup, run, changeAsset, readStore, countWrites } = setUpBulk(assetCount);

it('undo reverts a tag command that was killed and resumed, except on assets that others changed meanwhile', async () => {
  const before = readStore();
  setup.killAfter = 20;
  expect((await run('tag', '/**', '--add', 'wrong', '--yes', '--max-changes', '1000')).signal).toBe('SIGKILL');
  setup.killAfter = Number.POSITIVE_INFINITY;
  const [{ change_id: id, state, item_count, done_count }] = JSON.parse((await run('history', '--json')).stdout);
  expect([state, item_count, done_count < 20]).toEqual(['interrupted', assetCount, true]);
  expect((await run('history', id, '--resume')).code).toBe(0);
  expect([...readStore().values()].every(({ tags }) => tags.includes('wrong'))).toBe(true);
  const others = [...before.keys()].slice(0, 3);
  for (const uid of others) await changeAsset(uid, { name: 'theirs', tags: ['theirs'] });
  const { code, stderr } = await run('undo', '--yes');
  expect(code).toBe(11);
  for (const uid of others) expect(stderr).toContain(uid);
  const after = readStore();
  for (const [uid, row] of before)
    expect(after.get(uid)).toEqual(others.includes(uid) ? { ...row, name: 'theirs', tags: '["theirs"]' } : row);
});

it('apply that is killed and run again writes each change once, and a third run writes none', async () => {
  const [before, wanted] = [readStore(), readStore()];
  const table = join(setup.home, 'table.csv');
  expect((await run('export', '-o', table)).code).toBe(0);
  const [header = [], first = [], ...rows] = parseStrictCsv(readFileSync(table, 'utf8'));
  for (const row of rows) {
    const [uid = ''] = row;
    row[1] = `edited ${uid}`;
    Object.assign(wanted.get(uid) ?? {}, { name: row[1] });
  }
  writeCsv(table, [header, first, ...rows]);
  setup.killAfter = 60;
  expect((await run('apply', table, '--yes')).signal).toBe('SIGKILL');
  setup.killAfter = Number.POSITIVE_INFINITY;
  expect(countWrites()).toBeLessThan(70);
  const report = join(setup.home, 'report.csv');
  expect(await run('apply', table, '--yes', '--report', report)).toMatchObject({ code: 0, signal: null });
  expect(readStore()).toEqual(wanted);
  // Nothing is written twice: what was in flight when the process was killed is compared first.
  expect(countWrites()).toBe(rows.length);
  expect(parseStrictCsv(readFileSync(report, 'utf8')).length).toBe(1 + rows.length);
  expect(await run('apply', table, '--yes')).toMatchObject({ code: 0, stdout: '' });
  expect(countWrites()).toBe(rows.length);
  // Both runs are one change, which one undo takes back.
  const [change, ...others] = JSON.parse((await run('history', '--json')).stdout);
  expect([change.state, change.done_count, others]).toEqual(['finished', rows.length, []]);
  expect(await run('undo', '--yes')).toMatchObject({ code: 0 });
  expect(readStore()).toEqual(before);
});

it('undo restores the first value of a cell that was edited again after an interrupted apply', async () => {
  const before = readStore();
  const table = join(setup.home, 'table.csv');
  await run('export', '-o', table);
  const [header = [], ...rows] = parseStrictCsv(readFileSync(table, 'utf8'));
  const writeNames = (word: string) =>
    writeCsv(table, [header, ...rows.slice(0, 40).map((row) => row.with(1, `${word} ${row[0]}`))]);
  writeNames('first');
  setup.killAfter = 20;
  expect((await run('apply', table, '--yes')).signal).toBe('SIGKILL');
  setup.killAfter = Number.POSITIVE_INFINITY;
  writeNames('second');
  expect(await run('apply', table, '--yes')).toMatchObject({ code: 0 });
  expect([...readStore().values()].filter(({ name }) => name.startsWith('second')).length).toBe(40);
  expect(await run('undo', '--yes')).toMatchObject({ code: 0 });
  expect(readStore()).toEqual(before);
});

it('apply of two processes at once ends with the values of the table', async () => {
  const table = join(setup.home, 'table.csv');
  await run('export', '-o', table);
  const [header = [], ...rows] = parseStrictCsv(readFileSync(table, 'utf8'));
  writeCsv(table, [header, ...rows.slice(0, 50).map((row) => row.with(1, `both ${row[0]}`))]);
  const both = await Promise.all([run('apply', table, '--yes'), run('apply', table, '--yes')]);
  expect(both.map(({ code }) => code)).toEqual([0, 0]);
  const found = [...readStore().values()].filter(({ uid, name }) => name === `both ${uid}`);
  expect(found.length).toBe(50);
});
