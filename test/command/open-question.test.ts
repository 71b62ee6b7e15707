import { describe, expect, it } from 'vitest';
import { editCells, setUpChanges } from '../support/change-setup.ts';
import { anyWorkspace, isStrict } from '../support/sandbox.ts';

/* What others change while the question of a command is open. */

const { setup, run, colleague, createAssets, get, tagsOf, answerAfter, exportTag, apply } = setUpChanges();

let counter = 0;
let word = '';
const create = async (count: number) => {
  word = `open-${++counter}`;
  return (await createAssets(
    word,
    Array.from({ length: count }, (_, n) => `${word} ${n}`),
  )) as [string, ...string[]];
};
const parentsOf = async (uids: readonly string[]) => Promise.all(uids.map(async (uid) => (await get(uid)).parent));
const createTable = async (column: string, text: string, count = 2) => {
  const uids = await create(count);
  const path = await exportTag(word);
  editCells(path, ...uids.map((_, at) => [at + 1, column, text] as const));
  return { uids, path };
};

/** Clocks by which a minute passes. The clock of the day can be set back, and the other one stand still in standby. */
const clocks = {
  'both clocks go on': { now: 60_000, steady: 60_000 },
  'the clock of the day is set back': { now: -3_600_000, steady: 60_000 },
  'the machine is in standby': { now: 60_000, steady: 0 },
};

it.each(Object.entries(clocks))(
  'a change of others is not overwritten if %s while a question is open',
  async (_, passed) => {
    const { uids, path } = await createTable('description', 'of the table');
    const meanwhile = () => colleague('update', uids[0], '--description', 'of a colleague');
    const applied = await answerAfter(meanwhile, ['apply', path, ...anyWorkspace], passed);
    expect([applied.code, applied.stderr]).toEqual([11, expect.stringContaining('changed meanwhile')]);
    expect(await Promise.all(uids.map(async (uid) => (await get(uid)).description))).toEqual([
      'of a colleague',
      'of the table',
    ]);
  },
);

describe('tags that a colleague sets while a question is open', () => {
  it.each([
    ['tag --add', ['--add', 'sea'], ['colleague', 'sea', 'word']],
    ['tag --remove', ['--remove', 'draft'], ['colleague', 'word']],
    ['tag --set', ['--set', 'night'], ['colleague', 'night']],
  ])('survive %s, and its undo', async (_, edit, expected) => {
    const [uid] = await create(1);
    if (edit.includes('draft')) await colleague('tag', uid, '--add', 'draft');
    const before = await tagsOf(uid);
    const args = ['tag', '--tag', word, ...anyWorkspace, ...edit];
    expect(await answerAfter(() => colleague('tag', uid, '--add', 'colleague'), args)).toMatchObject({ code: 0 });
    expect(await tagsOf(uid)).toEqual(expected.map((tag) => (tag === 'word' ? word : tag)).sort());
    expect((await run(['undo', '--yes'])).code).toBe(0);
    expect(await tagsOf(uid)).toEqual([...before, 'colleague'].sort());
  });

  it('survive apply, and its undo', async () => {
    const { uids, path } = await createTable('tags', 'mine', 1);
    expect(
      await answerAfter(() => colleague('tag', uids[0], '--add', 'colleague'), ['apply', path, ...anyWorkspace]),
    ).toMatchObject({
      code: 0,
    });
    expect(await tagsOf(uids[0])).toEqual(['colleague', 'mine']);
    expect((await run(['undo', '--yes'])).code).toBe(0);
    expect(await tagsOf(uids[0])).toEqual(['colleague', word].sort());
  });

  it('are a conflict if the same table is applied again', async () => {
    const { uids, path } = await createTable('tags', 'mine', 1);
    await answerAfter(() => colleague('tag', uids[0], '--add', 'colleague'), ['apply', path, ...anyWorkspace]);
    expect(await apply(path)).toMatchObject({ code: 11, outcomes: [[2, 'tags', 'conflict']] });
    expect(await tagsOf(uids[0])).toEqual(['colleague', 'mine']);
    expect((await apply(path, '--mine')).code).toBe(0);
    expect(await tagsOf(uids[0])).toEqual(['mine']);
    expect(await apply(path)).toMatchObject({ code: 0, outcomes: [] });
  });

  it('are a conflict if the table is edited and applied again after an undo that kept them', async () => {
    const { uids, path } = await createTable('tags', 'mine', 1);
    await run(['apply', path, ...anyWorkspace, '--yes']);
    await colleague('tag', uids[0], '--add', 'colleague');
    expect((await run(['undo', '--yes'])).code).toBe(0);
    editCells(path, [1, 'tags', 'other']);
    expect(await apply(path)).toMatchObject({ code: 11, outcomes: [[2, 'tags', 'conflict']] });
    expect(await tagsOf(uids[0])).toEqual(['colleague', word].sort());
  });

  it('survive the undo of an earlier change whose question is open', async () => {
    const [uid] = await create(1);
    await run(['tag', uid, '--add', 'alpha']);
    expect(await answerAfter(() => colleague('tag', uid, '--add', 'colleague'), ['undo'])).toMatchObject({ code: 0 });
    expect(await tagsOf(uid)).toEqual(['colleague', word].sort());
  });
});

it('two commands that tag the same assets at once both keep the tags of the other', async () => {
  const uids = await create(12);
  const tagAll = (tag: string) => ['tag', '--tag', word, ...anyWorkspace, '--add', tag, '--yes'];
  let readCount = 0;
  // All assets were read, and none was written, when the other command tags them.
  setup.fault = ({ method, path }) =>
    method === 'GET' && /\/assets\/[^?]/.test(path) && ++readCount === uids.length
      ? { beforeResponse: () => colleague(...tagAll('second')) }
      : undefined;
  expect((await run(tagAll('first'))).code).toBe(0);
  for (const uid of uids) expect(await tagsOf(uid)).toEqual(['first', word, 'second'].sort());
  expect((await run(['undo', '--yes'])).code).toBe(0);
  for (const uid of uids) expect(await tagsOf(uid)).toEqual([word, 'second'].sort());
});

describe.skipIf(isStrict)('a folder that is renamed while a question is open, with another one at its path', () => {
  const replaceFolder = async () => {
    await colleague('folders', 'rename', `/${word} target`, `${word} old`);
    await colleague('folders', 'create', `/${word} target`);
  };

  it.each([
    [
      'apply',
      async () => {
        const { uids, path } = await createTable('folder', `/${`open-${counter + 1}`} target`);
        return { uids, args: ['apply', path, ...anyWorkspace] };
      },
    ],
    ['mv', async () => ({ uids: await create(2), args: ['mv', '--tag', word, `/${word} target`] })],
  ])('gets no asset of %s', async (_, prepare) => {
    const { uids, args } = await prepare();
    await colleague('folders', 'create', `/${word} target`);
    const { code, stderr } = await answerAfter(replaceFolder, args);
    expect([code, stderr]).toEqual([11, expect.stringContaining(`folder /${word} target is now /${word} old`)]);
    expect(await parentsOf(uids)).toEqual([null, null]);
    expect(await run(args.concat('--yes'))).toMatchObject({ code: 0 });
    const inside: { uid: string }[] = await setup.cli.json(['ls', `/${word} target`, '--all']);
    expect(inside.map(({ uid }) => uid).sort()).toEqual([...uids].sort());
  });
});
