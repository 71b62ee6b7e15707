import { describe, expect, it } from 'vitest';
import { editCells, readRows, setUpChanges } from '../support/change-setup.ts';
import { writeCsv } from '../support/csv.ts';
import { rawHttp } from '../support/raw-http.ts';
import { isStrict } from '../support/sandbox.ts';

/* Rows and cells of a table that are not what they seem: twins, sorted columns, spaces, folders that were renamed. */

const { setup, run, colleague, createAssets, get, namesOf, exportTag, apply, pathOf } = setUpChanges();

let counter = 0;
let word = '';
const create = async (names: readonly string[]) => {
  word = `rows-${++counter}`;
  const uids = await createAssets(word, names);
  const path = await exportTag(word);
  return { uids, path, rowOf: (uid: string) => readRows(path).findIndex(([each]) => each === uid) };
};

describe('rows of one asset', () => {
  it('with different values are both invalid, and neither is written', async () => {
    const { uids, path } = await create(['one', 'two']);
    const [header = [], first = [], second = []] = readRows(path);
    const twin = first.with(1, 'another name');
    writeCsv(path, [header, first.with(1, 'a name'), second.with(1, 'two edited'), twin]);
    const { code, changes, outcomes } = await apply(path);
    expect([code, outcomes]).toEqual([
      11,
      [
        [2, null, 'invalid'],
        [3, 'name', 'updated'],
        [4, null, 'invalid'],
      ],
    ]);
    expect(changes.map(({ reason }) => reason)).toEqual([
      'line 4 is for the same asset',
      null,
      'line 2 is for the same asset',
    ]);
    expect((await namesOf(uids)).sort()).toEqual([first[1], 'two edited'].sort());
  });

  it('are named once each if the table was also sorted without the column uid', async () => {
    const { uids, path } = await create(['bravo', 'alpha', 'delta']);
    const [header = [], one = [], two = [], three = []] = readRows(path);
    const sorted = [two, three, one].map((row, at) => row.with(0, [one, two, three][at]?.[0] as string));
    writeCsv(path, [header, ...sorted, sorted[0] as string[]]);
    const { code, outcomes } = await apply(path);
    expect([code, outcomes]).toEqual([11, [2, 3, 4, 5].map((line) => [line, null, 'invalid'])]);
    expect(await namesOf(uids)).toEqual(['bravo', 'alpha', 'delta']);
  });
});

describe('a table that was sorted without some of its columns', () => {
  const names = ['delta', 'alpha', 'bravo', 'charlie'];

  it.each([
    ['all columns but uid', (row: string[], from: string[]) => [row[0] as string, ...from.slice(1)]],
    ['the column uid', (row: string[], from: string[]) => from.with(0, row[0] as string)],
    ['the column was', (row: string[], from: string[]) => row.with(-1, from.at(-1) as string)],
  ])('by %s changes nothing, also with --mine and --theirs', async (_, move) => {
    const { uids, path } = await create(names);
    const [header = [], ...rows] = readRows(path);
    const sorted = rows.toSorted(([, one = ''], [, other = '']) => one.localeCompare(other));
    writeCsv(path, [header, ...rows.map((row, at) => move(row, sorted[at] as string[]))]);
    for (const options of [[], ['--mine'], ['--theirs'], ['--restore']]) {
      const { code, changes } = await apply(path, ...options);
      expect([code, changes.map(({ outcome }) => outcome)]).toEqual([11, ['invalid', 'invalid', 'invalid', 'invalid']]);
      expect(changes[0]?.reason).toContain('the table was sorted without the column uid');
    }
    expect(await namesOf(uids)).toEqual(names);
  });
});

describe('a column with the values of other rows', () => {
  const names = ['delta', 'alpha', 'bravo', 'charlie', 'echo'];

  /** Exports assets in one folder, with a description each, and changes the rows. */
  async function changeRows(change: (rows: string[][], column: (name: string) => number) => string[][]) {
    const { uids } = await create(names);
    const { send } = rawHttp(() => setup.sandbox);
    for (const [at, uid] of uids.entries())
      await send('PATCH', `/assets/${uid}/`, { description: `text ${names[at]}` });
    const path = await exportTag(word, 'again.csv');
    const [header = [], ...rows] = readRows(path);
    writeCsv(path, [header, ...change(rows, (name) => header.indexOf(name))]);
    const texts = () => Promise.all(uids.map(async (uid) => (await get(uid)).description));
    return { path, uids, texts };
  }
  const sort = (rows: string[][]) => rows.toSorted(([, one = ''], [, other = '']) => one.localeCompare(other));
  const before = names.map((name) => `text ${name}`);

  it.each<[string, (rows: string[][], column: (name: string) => number) => string[][], string[]]>([
    [
      'all columns but uid and was',
      (rows) => rows.map((row, at) => [row[0], ...(sort(rows)[at] ?? []).slice(1, -1), row.at(-1)] as string[]),
      ['name', 'description'],
    ],
    ['the name alone', (rows) => rows.map((row, at) => row.with(1, sort(rows)[at]?.[1] as string)), ['name']],
    [
      'the name alone, of which one was edited, too',
      (rows) =>
        rows.map((row, at) => row.with(1, at === 4 ? 'edited' : ([3, 0, 1, 2].map((n) => rows[n]?.[1])[at] as string))),
      ['name'],
    ],
  ])('is refused if %s was sorted, and --shuffled writes it', async (_, change, columns) => {
    const { path, uids, texts } = await changeRows(change);
    const { code, changes } = await apply(path);
    expect([code, new Set(changes.map(({ outcome }) => outcome))]).toEqual([11, new Set(['refused'])]);
    expect([...new Set(changes.map(({ column }) => column))]).toEqual(columns);
    expect(changes[0]?.reason).toContain('its column has the values of other rows');
    for (const option of ['--mine', '--restore']) expect((await apply(path, option)).code).toBe(11);
    expect([await namesOf(uids), await texts()]).toEqual([names, before]);
    expect((await apply(path, '--shuffled')).code).toBe(0);
    expect(await namesOf(uids)).not.toEqual(names);
    expect((await apply(path)).code).toBe(0);
  });

  it('is written if its values were filled down, or added to step by step', async () => {
    const { path, texts } = await changeRows((rows, column) =>
      rows.map((row, at) =>
        row
          .with(column('description'), rows[0]?.[column('description')] as string)
          .with(column('tags'), `${row[column('tags')]};step-${at}`),
      ),
    );
    expect((await apply(path)).code).toBe(0);
    expect(new Set(await texts()).size).toBe(1);
  });
});

it('a column of a table whose rows all move on by one of three stages is written, in whichever order they are', async () => {
  const stages = ['draft', 'review', 'final', 'done'];
  const stageOf = (at: number) => Math.floor(at / 10);
  const { uids } = await create(Array.from({ length: 30 }, (_, at) => `asset ${at}`));
  const { send } = rawHttp(() => setup.sandbox);
  await Promise.all(uids.map((uid, at) => send('PATCH', `/assets/${uid}/`, { description: stages[stageOf(at)] })));
  const path = await exportTag(word, 'stages.csv');
  const [header = [], ...rows] = readRows(path);
  const column = header.indexOf('description');
  const inOrder = uids.map((uid) => rows.find((row) => row[0] === uid) as string[]);
  writeCsv(path, [header, ...inOrder.map((row, at) => row.with(column, stages[stageOf(at) + 1] as string))]);
  expect(await apply(path)).toMatchObject({ code: 0 });
  const texts = await Promise.all(uids.map(async (uid) => (await get(uid)).description));
  expect(texts).toEqual(uids.map((_, at) => stages[stageOf(at) + 1]));
});

describe('cells that differ in spaces or accents only', () => {
  const { send } = rawHttp(() => setup.sandbox);
  const inexact = { name: 'Cafe\u0301 by the sea', description: 'trailing  ' };
  const createInexact = async () => {
    const { uids, rowOf } = await create(['inexact', 'other']);
    const [uid = '', other = ''] = uids;
    await send('PATCH', `/assets/${uid}/`, inexact);
    expect(await get(uid)).toMatchObject(inexact);
    return { uid, other, rowOf };
  };

  it('apply counts them in its summary, leaves them as they are, and exits with 0', async () => {
    const { uid, other, rowOf } = await createInexact();
    const path = await exportTag(word, 'again.csv');
    expect(await apply(path)).toMatchObject({ code: 0, stderr: '2 rows: nothing to change\n' });
    editCells(
      path,
      [rowOf(uid), 'name', 'Caf\u00e9 by the sea'],
      [rowOf(uid), 'description', 'trailing'],
      [rowOf(other), 'name', 'edited'],
    );
    const { code, stderr, outcomes } = await apply(path);
    expect([code, outcomes.length]).toEqual([0, 1]);
    expect(stderr).toContain('2 that differ only in outer spaces or accents, left as they are');
    expect(await get(uid)).toMatchObject(inexact);
    expect(await get(other)).toMatchObject({ name: 'edited' });
  });

  it('apply neither reads nor counts a number or a formula that ends with a space, which its exported cell does not', async () => {
    const { uids } = await create(['number', 'formula']);
    const texts = ['007 ', '=1 '];
    for (const [at, description] of texts.entries()) await send('PATCH', `/assets/${uids[at]}/`, { description });
    const path = await exportTag(word, 'again.csv');
    const [header = [], ...rows] = readRows(path);
    expect(rows.map((row) => row[header.indexOf('description')])).toEqual(["'007", "'=1"]);
    setup.proxy.requests.length = 0;
    expect(await apply(path)).toMatchObject({ code: 0, stderr: '2 rows: nothing to change\n' });
    expect(setup.proxy.requests).toEqual([]);
  });

  it('apply counts them in a table without the column was, too', async () => {
    const { uid } = await createInexact();
    const path = pathOf('by hand.csv');
    writeCsv(path, [
      ['uid', 'name', 'description'],
      [uid, 'Caf\u00e9 by the sea', 'trailing'],
    ]);
    const { code, stderr } = await apply(path);
    expect([code, stderr]).toEqual([0, expect.stringContaining('2 that differ only in outer spaces or accents')]);
  });
});

describe('a cell whose column the export did not show', () => {
  it('is a conflict if the library has another value now, and is written if it has none', async () => {
    const { uids, path } = await create(['shown', 'empty']);
    const rows = readRows(path);
    const hide = (was: string) => was.split('.').with(3, '_').join('.');
    const [header = []] = rows;
    const at = header.indexOf('description');
    writeCsv(path, [header, ...rows.slice(1).map((row) => row.with(at, 'mine').with(-1, hide(row.at(-1) as string)))]);
    await colleague('update', uids[0] as string, '--description', 'of a colleague');
    await colleague('update', uids[1] as string, '--description', '');
    const { code, changes } = await apply(path);
    const outcomeOf = (uid?: string) => changes.find((each) => each.uid === uid)?.outcome;
    expect([code, outcomeOf(uids[0]), outcomeOf(uids[1])]).toEqual([11, 'conflict', 'updated']);
    expect((await get(uids[0] as string)).description).toBe('of a colleague');
  });
});

describe.skipIf(isStrict)('a folder that an apply has created and that somebody renames', () => {
  it('keeps its assets when the table is applied again with another edit', async () => {
    const { uids, path, rowOf } = await create(['one', 'two']);
    const [one = '', two = ''] = uids;
    editCells(path, ...uids.map((uid) => [rowOf(uid), 'folder', `/${word} new`] as const));
    expect(await apply(path, '--create-folders')).toMatchObject({ code: 0 });
    const { parent } = await get(one);
    await colleague('folders', 'rename', `/${word} new`, `${word} better`);
    editCells(path, [rowOf(one), 'name', 'one edited']);
    expect(await apply(path, '--create-folders')).toMatchObject({
      code: 0,
      outcomes: [[rowOf(one) + 1, 'name', 'updated']],
    });
    expect([(await get(one)).parent, (await get(two)).parent]).toEqual([parent, parent]);
    expect((await run(['folders', 'ls', `/${word} new`])).code).toBe(3); // it was not created again
  });

  it('is no conflict for an asset that was in it when the table was exported', async () => {
    const { uids, rowOf } = await create(['one']);
    const [one = ''] = uids;
    await colleague('folders', 'create', `/${word} at first`);
    await colleague('folders', 'create', `/${word} other`);
    await colleague('mv', one, `/${word} at first`);
    const path = await exportTag(word, 'again.csv');
    await colleague('folders', 'rename', `/${word} at first`, `${word} renamed`);
    editCells(path, [rowOf(one), 'folder', `/${word} other`]);
    expect(await apply(path)).toMatchObject({ code: 0, outcomes: [[2, 'folder', 'updated']] });
  });
});
