import { readFileSync, writeFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { systemClock } from '../../src/shared/clock.ts';
import { editCells, readRows, setUpChanges } from '../support/change-setup.ts';
import { writeCsv } from '../support/csv.ts';
import { respondWith } from '../support/fault-proxy.ts';
import { respond } from '../support/http-server.ts';
import { createLatch } from '../support/latch.ts';
import { anyWorkspace, isStrict } from '../support/sandbox.ts';

/* Tables that are applied again: what the library has decides, not what an earlier run has planned or believed. */

const changes = setUpChanges();
const { setup, run, colleague, createAssets, get, namesOf, tagsOf, stopAfter, history, forgetOutcomes } = changes;
const { exportTag, apply } = changes;

let counter = 0;
/** Creates four assets, and a table with a new name for each. */
async function createEditedTable() {
  const tag = `again-${++counter}`;
  const uids = await createAssets(tag, ['one', 'two', 'three', 'four']);
  const path = await exportTag(tag);
  const rows = uids.map((uid) => readRows(path).findIndex(([each]) => each === uid));
  editCells(path, ...rows.map((row, at) => [row, 'name', `edited ${at}`] as const));
  return { uids, path, rows, edited: uids.map((_, at) => `edited ${at}`) };
}

type Interrupted = Awaited<ReturnType<typeof createEditedTable>> & {
  /** Uid of an asset that the interrupted apply has not written. */
  left: string;
};

/** Ways in which the second of three applies does not write a cell that the first one has left. */
const disturbances: Record<string, { disturb(table: Interrupted): Promise<unknown>; third: string[] }> = {
  'has found a conflict': {
    disturb: async ({ left, path }) => {
      await colleague('update', left, '--name', 'of a colleague');
      expect(await apply(path)).toMatchObject({
        code: 11,
        outcomes: expect.arrayContaining([[expect.any(Number), 'name', 'conflict']]),
      });
    },
    third: ['--mine'],
  },
  'was run with --theirs': {
    disturb: async ({ left, path }) => {
      await colleague('update', left, '--name', 'of a colleague');
      expect((await apply(path, '--theirs')).code).toBe(0);
    },
    third: ['--mine'],
  },
  'could not read its row': {
    disturb: async ({ left, path }) => {
      setup.fault = ({ method, path: url }) =>
        method === 'GET' && url.includes(left) ? respondWith(422, { error: {} }) : undefined;
      expect((await apply(path)).code).toBe(11);
      setup.fault = undefined;
    },
    third: [],
  },
  'had a table without its row': {
    disturb: async ({ left, path }) => {
      const whole = readFileSync(path);
      writeCsv(
        path,
        readRows(path).filter(([uid]) => uid !== left),
      );
      expect((await apply(path)).code).toBe(0);
      writeFileSync(path, whole);
    },
    third: [],
  },
};

describe.each(['not written', 'unknown'])('a cell whose outcome is %s after an interrupted apply', (state) => {
  it.each(Object.entries(disturbances))(
    'is written by the third apply if the second one %s',
    async (_, { disturb, third }) => {
      const table = await createEditedTable();
      const { uids, path, edited } = table;
      const stopped = await stopAfter(1, 'PATCH', ['apply', path, ...anyWorkspace, '--yes']);
      expect(stopped).toMatchObject({ code: 11, stderr: expect.stringContaining('stopped after 1 of 4') });
      if (state === 'unknown') forgetOutcomes();
      const names = await namesOf(uids);
      const left = uids[names.findIndex((name) => !edited.includes(name))] as string;
      await disturb({ ...table, left });
      expect(await namesOf(uids)).not.toEqual(edited);
      expect(await apply(path, ...third)).toMatchObject({
        code: 0,
        outcomes: [[expect.any(Number), 'name', 'updated']],
      });
      expect(await namesOf(uids)).toEqual(edited);
      expect(await run(['undo', '--yes'])).toMatchObject({ code: 0 });
    },
  );
});

describe('a table that is applied again after an interrupted apply, which has become one change with the second', () => {
  /** Applies a table, and stops it once one asset was written, or its write was refused with a status. */
  async function applyOnly(uid: string, path: string, status?: number): Promise<void> {
    const { opened, open } = createLatch();
    setup.fault = ({ method, path: url }) => {
      if (method !== 'PATCH') return undefined;
      if (url.includes(uid) && status === undefined) return { beforeResponse: open };
      const answer = async (response: Parameters<typeof respond>[0]) => {
        if (url.includes(uid)) response.on('finish', open);
        else await opened;
        respond(response, url.includes(uid) ? (status ?? 422) : 401, { error: {} });
      };
      return { respond: (response, request) => void request.resume().on('end', () => answer(response)) };
    };
    expect((await apply(path, '--create-folders')).code).toBe(11);
    setup.fault = undefined;
    expect((await history())[0]).toMatchObject({ state: 'interrupted', item_count: 4 });
  }

  it.skipIf(isStrict)(
    'does not create a folder again that the interrupted one has used, and others have renamed',
    async () => {
      const { uids, path, rows } = await createEditedTable();
      const [moved = ''] = uids;
      const folder = `again-${counter} new`;
      editCells(path, [rows[0] as number, 'name', 'one'], [rows[0] as number, 'folder', `/${folder}`]);
      await applyOnly(moved, path);
      expect((await apply(path, '--create-folders')).code).toBe(0);
      const { parent } = await get(moved);
      await colleague('folders', 'rename', `/${folder}`, 'better');
      editCells(path, [rows[1] as number, 'name', 'edited later']);
      expect(await apply(path, '--create-folders')).toMatchObject({
        code: 0,
        outcomes: [[(rows[1] as number) + 1, 'name', 'updated']],
      });
      expect([(await get(moved)).parent, (await run(['folders', 'ls', `/${folder}`])).code]).toEqual([parent, 3]);
    },
  );

  it('takes a cell that was exported after the interrupted one for neither outdated nor in conflict', async () => {
    const { uids, path, rows } = await createEditedTable();
    const [written = ''] = uids;
    const line = (rows[0] as number) + 1;
    await applyOnly(written, path);
    await colleague('update', written, '--name', 'of a colleague');
    const later = (seconds: number) => ({ clock: { ...systemClock, now: () => systemClock.now() + seconds * 1000 } });
    const args = ['--tag', `again-${counter}`, '-o', path, '--yes'];
    const exported = await run(['export', ...args], later(10));
    expect(exported.code, exported.stderr).toBe(0);
    editCells(path, [rows[1] as number, 'name', 'edited later']);
    expect((await run(['apply', path, ...anyWorkspace, '--yes'], later(20))).code).toBe(0);
    expect(await apply(path)).toMatchObject({ code: 0, outcomes: [] });
    await colleague('update', written, '--name', 'edited 0');
    expect(await apply(path)).toMatchObject({ code: 0, outcomes: [] });
    await colleague('update', written, '--name', 'of a colleague');
    editCells(path, [rows[0] as number, 'name', 'mine']);
    expect(await apply(path)).toMatchObject({ code: 0, outcomes: [[line, 'name', 'updated']] });
  });

  it.each(['was refused', 'may have been sent'])(
    'is not resumed with an edit of tags that %s, and that the table has not any more',
    async (which) => {
      const { uids, path, rows } = await createEditedTable();
      const [uid = ''] = uids;
      const [row = 0] = rows;
      const tag = `again-${counter}`;
      editCells(path, [row, 'tags', `${tag} wrong`]);
      if (which === 'was refused') await applyOnly(uid, path, 422);
      else {
        await stopAfter(0, 'PATCH', ['apply', path, ...anyWorkspace, '--yes']);
        forgetOutcomes();
        await colleague('update', uid, '--name', 'of a colleague');
      }
      editCells(path, [row, 'name', 'one'], [row, 'tags', `${tag} right`]);
      const { code, stderr } = await apply(path);
      expect(code, stderr).toBe(0);
      const [{ change_id: id }] = await history();
      await run(['history', id, '--resume', '--yes']);
      expect(await tagsOf(uid)).toEqual([tag, 'right']);
    },
  );

  it('is finished in the history if nothing of it is left to write', async () => {
    const { uids, path, rows } = await createEditedTable();
    await applyOnly(uids[0] as string, path);
    editCells(
      path,
      ...['edited 0', 'two', 'three', 'four'].map((name, at) => [rows[at] as number, 'name', name] as const),
    );
    expect((await apply(path)).code).toBe(0);
    expect(await history()).toMatchObject([{ state: 'finished', item_count: 1, done_count: 1 }]);
    expect((await run(['undo', '--yes'])).code).toBe(0);
    expect(await namesOf(uids)).toEqual(['one', 'two', 'three', 'four']);
  });
});

describe('apply says that a cell is as in the table only of what it has read', () => {
  const applyAll = async () => {
    const table = await createEditedTable();
    expect(await apply(table.path)).toMatchObject({ code: 0 });
    return table;
  };

  it('a value that a colleague has taken back is a conflict, which --mine overwrites', async () => {
    const { uids, path, rows, edited } = await applyAll();
    await colleague('update', uids[0] as string, '--name', 'one');
    const line = (rows[0] as number) + 1;
    expect(await apply(path)).toMatchObject({ code: 11, outcomes: [[line, 'name', 'conflict']] });
    expect(await apply(path, '--mine')).toMatchObject({ code: 0, outcomes: [[line, 'name', 'updated']] });
    expect(await namesOf(uids)).toEqual(edited);
  });

  it('apply writes all cells again after an undo of an undo of an undo', async () => {
    const { uids, path, edited } = await applyAll();
    expect((await run(['undo', '--yes'])).code).toBe(0);
    for (let n = 0; n < 2; n++) expect((await run(['undo', (await history())[0].change_id, '--yes'])).code).toBe(0);
    expect(await namesOf(uids)).toEqual(['one', 'two', 'three', 'four']);
    const { code, outcomes } = await apply(path);
    expect([code, outcomes.map(([, , outcome]) => outcome)]).toEqual([0, ['updated', 'updated', 'updated', 'updated']]);
    expect(await namesOf(uids)).toEqual(edited);
  });

  it('apply writes the cells that an undo has reverted, and leaves the one that it could not', async () => {
    const { uids, path, edited } = await applyAll();
    setup.fault = ({ method, path: url }) =>
      method === 'PATCH' && url.includes(uids[1] as string) ? respondWith(422, { error: {} }) : undefined;
    expect((await run(['undo', '--yes'])).code).toBe(11);
    setup.fault = undefined;
    expect(await namesOf(uids)).toEqual(['one', edited[1], 'three', 'four']);
    const { code, outcomes } = await apply(path);
    expect([code, outcomes.map(([, , outcome]) => outcome)]).toEqual([0, ['updated', 'updated', 'updated']]);
    expect(await namesOf(uids)).toEqual(edited);
  });

  it('a value that the service has confirmed and not saved is a conflict in the next apply', async () => {
    const { uids, path, edited } = await createEditedTable();
    const [lost = ''] = uids;
    const answer = { ...(await get(lost)), name: edited[0] };
    setup.fault = ({ method, path: url }) =>
      method === 'PATCH' && url.includes(lost)
        ? { respond: (response, request) => void request.resume().on('end', () => respond(response, 200, answer)) }
        : undefined;
    expect((await apply(path)).code).toBe(0);
    setup.fault = undefined;
    expect(await apply(path)).toMatchObject({ code: 11, outcomes: [[expect.any(Number), 'name', 'conflict']] });
    expect(await apply(path, '--mine')).toMatchObject({ code: 0 });
    expect(await namesOf(uids)).toEqual(edited);
  });
});

describe('two people edit copies of one export', () => {
  /** Ann applies hers; then Bob saves his copy at the same path. */
  async function applyBoth() {
    const { uids, path, rows } = await createEditedTable();
    const ofAnn = readRows(path);
    const exported = async () => {
      for (const [at, name] of ['one', 'two', 'three', 'four'].entries())
        editCells(path, [rows[at] as number, 'name', name]);
    };
    await exported();
    editCells(path, [rows[0] as number, 'name', 'of Ann'], [rows[1] as number, 'name', 'of Ann, too']);
    expect((await apply(path)).code).toBe(0);
    writeCsv(path, ofAnn);
    await exported();
    editCells(path, [rows[2] as number, 'name', 'of Bob'], [rows[3] as number, 'name', 'of Bob, too']);
    return { uids, path, lines: rows.map((row) => row + 1) };
  }

  it('cells that Bob has not edited keep the values of Ann, and are outdated', async () => {
    const { uids, path, lines } = await applyBoth();
    const { code, outcomes, stderr } = await apply(path);
    expect([code, outcomes]).toEqual([
      11,
      [
        [lines[0], 'name', 'outdated'],
        [lines[1], 'name', 'outdated'],
        [lines[2], 'name', 'updated'],
        [lines[3], 'name', 'updated'],
      ].sort(([one], [other]) => Number(one) - Number(other)),
    ]);
    expect(stderr).toContain('2 as exported, though an earlier apply changed them (--restore or --theirs decides)');
    expect(await namesOf(uids)).toEqual(['of Ann', 'of Ann, too', 'of Bob', 'of Bob, too']);
  });

  it('--theirs keeps the values of Ann with exit code 0, and --restore writes the exported ones', async () => {
    const { uids, path } = await applyBoth();
    expect((await apply(path, '--theirs')).code).toBe(0);
    expect(await namesOf(uids)).toEqual(['of Ann', 'of Ann, too', 'of Bob', 'of Bob, too']);
    expect((await apply(path, '--restore')).code).toBe(0);
    expect(await namesOf(uids)).toEqual(['one', 'two', 'of Bob', 'of Bob, too']);
  });

  it('--mine alone does not write exported values', async () => {
    const { uids, path } = await applyBoth();
    expect((await apply(path, '--mine')).code).toBe(11);
    expect(await namesOf(uids)).toEqual(['of Ann', 'of Ann, too', 'of Bob', 'of Bob, too']);
  });
});

describe('undo names every item that it leaves', () => {
  it('undo of a merged apply reverts what the interrupted one wrote, even if the second write was refused', async () => {
    const { uids, path, rows } = await createEditedTable();
    await stopAfter(1, 'PATCH', ['apply', path, ...anyWorkspace, '--yes']);
    const at = (await namesOf(uids)).findIndex((name) => name.startsWith('edited'));
    const written = uids[at] as string;
    editCells(path, [rows[at] as number, 'name', 'edited again']);
    setup.fault = ({ method, path: url }) =>
      method === 'PATCH' && url.includes(written) ? respondWith(422, { error: {} }) : undefined;
    expect((await apply(path)).code).toBe(11);
    setup.fault = undefined;
    expect((await run(['undo', '--yes'])).code).toBe(0);
    expect(await namesOf(uids)).toEqual(['one', 'two', 'three', 'four']);
  });

  it('undo names an asset whose write has no known outcome and that others have changed since, each time', async () => {
    const { uids, path } = await createEditedTable();
    const [lost = ''] = uids;
    setup.fault = ({ method, path: url }) =>
      method === 'PATCH' && url.includes(lost)
        ? { replaceResponse: { status: 500, body: '{"error":{}}', type: 'application/json' } }
        : undefined;
    expect((await apply(path)).code).toBe(11);
    setup.fault = undefined;
    await colleague('update', lost, '--name', 'of a colleague');
    for (const code of [11, 6])
      expect(await run(['undo', '--yes', '--json'])).toMatchObject({ code, stdout: expect.stringContaining(lost) });
    expect(await namesOf(uids)).toEqual(['of a colleague', 'two', 'three', 'four']);
  });
});

it('a value of a colleague that --mine overruled, and undo wrote back, is still a conflict', async () => {
  const { uids, path, edited } = await createEditedTable();
  const [uid = ''] = uids;
  await colleague('update', uid, '--name', 'of a colleague');
  expect(await apply(path, '--mine')).toMatchObject({ code: 0 });
  expect(await namesOf(uids)).toEqual(edited);
  expect((await run(['undo', '--yes'])).code).toBe(0);
  const { code, outcomes } = await apply(path);
  expect([code, outcomes.filter(([, , outcome]) => outcome === 'conflict').length]).toEqual([11, 1]);
  expect((await get(uid)).name).toBe('of a colleague');
  expect(await namesOf(uids.slice(1))).toEqual(edited.slice(1));
});
