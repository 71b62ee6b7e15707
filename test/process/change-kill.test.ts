import { cpSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { type StoredFields, setUpBulk } from '../support/bulk-setup.ts';
import { Cli } from '../support/cli.ts';
import { parseStrictCsv, writeCsv } from '../support/csv.ts';
import { Random, seedsOf } from '../support/random.ts';
import { isStrict } from '../support/sandbox.ts';
import { changeState } from '../support/state-database.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

/*
 * A command is killed at one of its writes, a second person changes some of its assets, and a next command runs twice.
 * The library and the history are then compared with what must be true of each asset.
 */

const commands = ['apply', 'rm', 'mv', 'tag', 'undo', 'sync --prune'] as const;
const nextCommands = ['history --resume', 'the same command', 'undo'] as const;
const theirChanges = ['name', 'description', 'tags', 'folder', 'asset'] as const;
/** Writes of the first, and of a later block of items that are marked together. */
const moments = [1, 8, 18];

type Case = {
  seed: number;
  command: (typeof commands)[number];
  next: (typeof nextCommands)[number];
  /** What the second person changes; an `asset` is deleted. */
  theirs: (typeof theirChanges)[number];
  write: number;
  isBefore: boolean;
};

/** Returns a case for each command and change of the second person, so that any two values of a case meet in one. */
const casesOf = (seed: number): Case[] =>
  commands.flatMap((command, row) =>
    theirChanges.map((theirs, column) => ({
      ...{ seed, command, theirs },
      next: at(nextCommands, row + column + seed),
      write: at(moments, row + 2 * column + seed),
      isBefore: (Math.floor(row / 3) + column + seed) % 2 === 0,
    })),
  );

const titleOf = ({ seed, command, next, theirs, write, isBefore }: Case) =>
  `${command} that is killed ${isBefore ? 'before' : 'after'} write ${write}, and whose ${theirs} others change, then ${next} (seed ${seed})`;

const at = <T>(list: readonly T[], n: number) => list[n % list.length] as T;

const cases = seedsOf({ quick: 1, full: 6 }).flatMap(casesOf);

/** Number of files that were deleted after their upload: the assets that commands change. */
const assetCount = 22;

type Field = 'name' | 'description' | 'tags' | 'folder';
type Asset = { name: string; description: string; tags: string[]; folder: string | null };
/** Assets by uid; null for one in the trash. */
type Library = Map<string, Asset | null>;

type HistoryItem = {
  uid: string;
  before: Record<string, unknown> | null;
  after: Record<string, unknown> | null;
  add_tags: string[];
  remove_tags: string[];
  outcome: string;
};

/** A command that was killed, and what a second person did then. */
type Situation = Case & {
  /** Assets before the command, after it was killed, and after the second person changed some. */
  start: Library;
  killed: Library;
  present: Library;
  /** What the history says of each asset after the kill. */
  outcomes: ReadonlyMap<string, string>;
  /** Assets that the second person changed. */
  touched: ReadonlySet<string>;
  /** Returns the fields that the command sets; null if it deletes the asset. */
  changeOf(uid: string): Partial<Asset> | null;
  /** Uid of the folder to which the second person moves assets. */
  theirFolder: string;
};

const isSelectedByFolder = ({ command }: Case) => ['rm', 'mv', 'tag'].includes(command);
const isDeletion = ({ command }: Case) => command === 'rm' || command === 'sync --prune';
const isAgain = ({ next }: Case) => next === 'the same command';
/** A prune is decided again, and not resumed. */
const isRefused = ({ command, next }: Case) => command === 'sync --prune' && next === 'history --resume';

/** Returns an asset with the change of the second person. */
function withTheirs({ touched, theirs, theirFolder }: Situation, uid: string, asset: Asset): Asset | null {
  if (!touched.has(uid)) return asset;
  if (theirs === 'asset') return null;
  if (theirs === 'tags') return { ...asset, tags: [...new Set([...asset.tags, 'theirs'])].sort() };
  return { ...asset, [theirs]: theirs === 'folder' ? theirFolder : 'theirs' };
}

const oldOf = (situation: Situation, uid: string) => withTheirs(situation, uid, situation.start.get(uid) as Asset);

/** Returns an asset as it must be after the next command. */
function expectedOf(situation: Situation, uid: string): Asset | null {
  const { command, next, theirs, start, present, touched, changeOf } = situation;
  const isTouched = touched.has(uid);
  const now = present.get(uid) ?? null;
  // What the second person moved elsewhere is not in the folder that the command names.
  if (
    isTouched &&
    theirs === 'folder' &&
    isAgain(situation) &&
    (isSelectedByFolder(situation) || isDeletion(situation))
  )
    return now;
  if (isDeletion(situation)) {
    if (isAgain(situation)) return null;
    return next === 'undo' || isRefused(situation) || isTouched ? now : null;
  }
  if (next === 'undo') return oldOf(situation, uid);
  const wanted = withTheirs(situation, uid, { ...(start.get(uid) as Asset), ...changeOf(uid) });
  const isTagConflict = isTouched && theirs === 'tags' && command === 'apply' && isAgain(situation);
  return wanted && now && isTagConflict ? { ...wanted, tags: now.tags } : wanted;
}

/** Returns true if the next command must name an asset as one that it left, in whole or in part. */
function isLeft(situation: Situation, uid: string): boolean {
  const { command, next, theirs, present, outcomes, touched, changeOf } = situation;
  const outcome = outcomes.get(uid);
  if (isRefused(situation)) return false;
  if (isDeletion(situation) && next === 'undo') return outcome !== 'pending' && present.get(uid) === null;
  if (!touched.has(uid) || (isDeletion(situation) && theirs === 'asset')) return false;
  if (isAgain(situation) && (isSelectedByFolder(situation) || isDeletion(situation))) return false;
  if (isDeletion(situation)) return true;
  // Their tags are no conflict, but in a table, whose cell has all tags.
  const isConflict = theirs !== 'tags' || (command === 'apply' && isAgain(situation));
  if (theirs !== 'asset' && !(isConflict && theirs in (changeOf(uid) ?? {}))) return false;
  return isAgain(situation) || (next === 'undo' ? outcome !== 'pending' : outcome !== 'done');
}

describe.skipIf(isStrict)('a command that is killed', () => {
  const { setup, environment, run, runKilled, changeAsset, readStore, restoreStore, countWrites } = setUpBulk(1);
  let directory: string;
  /** State folder of a user who has uploaded the assets. */
  let uploaded: string;
  let initial: StoredFields[];
  let uids: string[];
  let folders: Record<'set' | 'target' | 'theirs', string>;

  const readLibrary = (): Library => {
    const rows = readStore();
    return new Map(
      uids.map((uid) => {
        const { name, description, tags, parent_uid: folder, deleted_at } = rows.get(uid) as StoredFields;
        const asset = { name, description, tags: (JSON.parse(tags) as string[]).sort(), folder };
        return [uid, deleted_at === null ? asset : null];
      }),
    );
  };
  /** Runs a command in this process as the user of the killed one. */
  const cli = async (...args: string[]) => new Cli(environment()).run(args);
  const json = async (...args: string[]) => new Cli(environment()).json(args);

  beforeAll(async () => {
    const account = {
      MEDIACTL_API_KEY: setup.sandbox.key,
      MEDIACTL_BASE_URL: setup.sandbox.url,
      MEDIACTL_WORKSPACE: setup.sandbox.workspace,
    };
    const user = new Cli(account);
    directory = temporaryFolder();
    mkdirSync(join(directory, 'kept'));
    const paths = Array.from({ length: assetCount }, (_, n) => join(directory, `${n}.txt`));
    for (const [n, path] of paths.entries()) {
      writeFileSync(path, `missing ${n}`);
      writeFileSync(join(directory, 'kept', `${n}.txt`), `kept ${n}`);
    }
    await user.json(['sync', directory, '/Set']);
    for (const path of paths) rmSync(path);
    uids = (await user.json(['ls', '/Set', '--all'])).map(({ uid }: { uid: string }) => uid);
    expect(uids.length).toBe(assetCount);
    for (const [n, uid] of uids.entries()) await changeAsset(uid, { description: `about ${n}`, tags: ['base'] });
    for (const path of ['/Target', '/Theirs']) await user.json(['folders', 'create', path]);
    const tree: { path: string; uid: string }[] = await user.json(['folders', 'ls']);
    const uidOf = (path: string) => tree.find((folder) => folder.path === path)?.uid as string;
    folders = { set: uidOf('/Set'), target: uidOf('/Target'), theirs: uidOf('/Theirs') };
    initial = [...readStore().values()];
    uploaded = join(user.home, 'state');
  });

  /** Returns the values that the table has for an asset: two columns of each row are edited. */
  const editsOf = (uid: string): Partial<Asset> => {
    const n = uids.indexOf(uid);
    const edits: Asset = {
      ...{ name: `edited ${n}`, description: `edited ${n}` },
      ...{ tags: ['base', 'edited'], folder: folders.target },
    };
    const pairs = [
      'name description',
      'tags folder',
      'description tags',
      'folder name',
      'name tags',
      'folder description',
    ];
    const fields = at(pairs, n).split(' ') as Field[];
    return Object.fromEntries(fields.map((field) => [field, edits[field]]));
  };

  /** Exports the library, and edits the table. */
  async function writeTable(): Promise<string> {
    const table = join(setup.home, 'table.csv');
    await cli('export', '-o', table);
    const [header = [], ...rows] = parseStrictCsv(readFileSync(table, 'utf8'));
    const edited = rows.map((row) => {
      const [uid = ''] = row;
      if (!uids.includes(uid)) return row;
      const { tags, folder, ...texts } = editsOf(uid);
      const cells: Record<string, string> = {
        ...texts,
        ...(tags && { tags: tags.join(' ') }),
        ...(folder && { folder: '/Target' }),
      };
      return header.map((column, cell) => cells[column] ?? row[cell] ?? '');
    });
    writeCsv(table, [header, ...edited]);
    return table;
  }

  /** Prepares the library for a command. @returns its arguments, and the fields that it changes of each asset */
  async function prepare(command: Case['command']) {
    const every = (change: Partial<Asset> | null) => () => change;
    const report = join(setup.home, 'report.csv');
    switch (command) {
      case 'apply':
        return { args: ['apply', await writeTable(), '--report', report], changeOf: editsOf };
      case 'rm':
        return { args: ['rm', '/Set/*'], changeOf: every(null) };
      case 'mv':
        return { args: ['mv', '/Set/*', '/Target'], changeOf: every({ folder: folders.target }) };
      case 'tag':
        return { args: ['tag', '/Set/*', '--add', 'mine', '--remove', 'base'], changeOf: every({ tags: ['mine'] }) };
      case 'undo': {
        const first = readLibrary();
        await cli('apply', await writeTable(), '--yes');
        const oldValues = (uid: string) => {
          const asset = first.get(uid) as Asset;
          return Object.fromEntries(Object.keys(editsOf(uid)).map((field) => [field, asset[field as Field]]));
        };
        return { args: ['undo'], changeOf: oldValues };
      }
      case 'sync --prune':
        return { args: ['sync', directory, '/Set', '--prune'], changeOf: every(null) };
    }
  }

  /** Returns the changes of the history, oldest first, with their items. */
  async function readHistory(): Promise<{ id: string; items: HistoryItem[] }[]> {
    const changes: { id: string; items: HistoryItem[] }[] = [];
    for (const { change_id: id } of (await json('history')).toReversed())
      changes.push({ id, items: await json('history', id) });
    return changes;
  }

  /** Has a second person change an asset of each kind: by what was written, what the history says, and by the field. */
  async function changeSome({ seed, theirs, start, killed, outcomes, changeOf, theirFolder }: Situation) {
    const kinds = new Map<string, string[]>();
    for (const [uid, outcome] of outcomes) {
      if (killed.get(uid) === null) continue;
      const isWritten = isDifferent(killed.get(uid), start.get(uid));
      const kind = `${outcome} ${isWritten} ${theirs in (changeOf(uid) ?? {})}`;
      kinds.set(kind, [...(kinds.get(kind) ?? []), uid]);
    }
    const random = new Random(seed);
    const touched = new Set([...kinds.values()].map((uids) => random.pick(uids)));
    for (const uid of touched) {
      const tags = [...(killed.get(uid) as Asset).tags, 'theirs'];
      const texts = { name: { name: 'theirs' }, description: { description: 'theirs' } };
      await changeAsset(uid, { ...texts, tags: { tags }, folder: { parent: theirFolder }, asset: undefined }[theirs]);
    }
    return touched;
  }

  /** Compares the history with the library. @param earlier ids of the changes before the command */
  async function checkHistory(situation: Situation, library: Library, earlier: readonly string[]): Promise<void> {
    const { theirs, touched, killed } = situation;
    const changes = await readHistory();
    for (const uid of uids) {
      const itemsOf = (list: typeof changes) => list.flatMap(({ items }) => items.filter((item) => item.uid === uid));
      // What was changed is in the history as changed.
      const isChanged =
        isDifferent(library.get(uid), oldOf(situation, uid)) && !(touched.has(uid) && theirs === 'asset');
      const items = itemsOf(changes.filter(({ id }) => !earlier.includes(id)));
      const mayBeWritten = items.some(({ outcome }) => outcome !== 'pending' && outcome !== 'failed');
      expect([uid, isChanged && !mayBeWritten, items]).toEqual([uid, false, items]);
      // What the history calls done is in the library, or was, before the second person changed it.
      for (const [field, holds] of claimsOf(itemsOf(changes))) {
        const isTheirs = touched.has(uid) && (theirs === 'asset' || theirs === field);
        const isTrue = holds(library.get(uid) ?? null) || (isTheirs && holds(killed.get(uid) ?? null));
        expect([uid, field, isTrue, changes]).toEqual([uid, field, true, changes]);
      }
    }
  }

  /** Compares the report of an apply with the library: it has each edited cell, and those are true that it calls done. */
  function checkReport(library: Library): void {
    const [header = [], ...rows] = parseStrictCsv(readFileSync(join(setup.home, 'report.csv'), 'utf8'));
    const records = rows.map((row) => Object.fromEntries(header.map((column, cell) => [column, row[cell]])));
    const reported = records.map(({ uid, column }) => `${uid} ${column}`);
    const cells = uids
      .filter((uid) => library.get(uid))
      .flatMap((uid) => Object.keys(editsOf(uid)).map((column) => `${uid} ${column}`));
    expect(reported).toEqual(expect.arrayContaining(cells));
    for (const { uid = '', column, outcome = '' } of records)
      if (outcome === 'updated' || outcome === 'unchanged') {
        const field = column as Field;
        expect([uid, field, library.get(uid)?.[field]]).toEqual([uid, field, editsOf(uid)[field]]);
      }
  }

  it.each(cases.map((each) => [titleOf(each), each] as const))('%s', async (_, each) => {
    const { command, next, write, isBefore } = each;
    restoreStore(initial);
    cpSync(uploaded, join(setup.home, 'state'), { recursive: true });
    changeState(join(setup.home, 'state'), 'UPDATE uploads SET service = ?', setup.proxy.url);
    const { args, changeOf } = await prepare(command);
    const start = readLibrary();
    const earlier = (await readHistory()).map(({ id }) => id);
    await runKilled({ write, isBefore }, ...args, '--yes');
    const killed = readLibrary();
    const { id: changeId, items } = (await readHistory()).at(-1) as { id: string; items: HistoryItem[] };
    const outcomes = new Map(items.map(({ uid, outcome }) => [uid, outcome]));
    const alone: Situation = {
      ...{ ...each, start, killed, present: killed, outcomes, touched: new Set() },
      ...{ changeOf, theirFolder: folders.theirs },
    };
    await checkHistory(alone, killed, earlier);

    const touched = await changeSome(alone);
    const present = readLibrary();
    const situation = { ...alone, touched, present };
    const nextArgs = {
      'history --resume': ['history', changeId, '--resume'],
      'the same command': args,
      undo: command === 'undo' ? ['undo', changeId] : ['undo'],
    }[next];
    const expected: Library = new Map(uids.map((uid) => [uid, expectedOf(situation, uid)]));
    const check = async (library: Library) => {
      await checkHistory(situation, library, earlier);
      if (command === 'apply' && isAgain(each)) checkReport(library);
    };
    const writesBefore = countWrites();
    const first = await run(...nextArgs, '--yes', '--json');
    expect([first, readLibrary()]).toEqual([first, expected]);
    const left = uids.filter((uid) => isLeft(situation, uid));
    expect([first, namedIn(first.stdout)]).toEqual([first, new Set(left)]);
    const isNoneSelected =
      isAgain(each) &&
      isSelectedByFolder(each) &&
      ![...present.values()].some((asset) => asset?.folder === folders.set);
    const isFailure = left.length > 0 || isRefused(each) || isNoneSelected;
    expect([first, first.code !== 0]).toEqual([first, isFailure]);
    await check(expected);

    // Each asset is written once, but `tag` sends the tags that it is to set, whatever an asset has.
    const writes = countWrites();
    const isResent = command === 'tag' && isAgain(each);
    const written = uids.filter((uid) => isDifferent(expected.get(uid), present.get(uid)));
    if (!isResent) expect([first, writes - writesBefore]).toEqual([first, written.length]);
    const second = await cli(...nextArgs, '--yes', '--json');
    expect([second, readLibrary()]).toEqual([second, expected]);
    if (!isResent) expect([second, countWrites()]).toEqual([second, writes]);
    await check(expected);

    if (!isDeletion(each) && next !== 'undo') {
      // All that was done can be undone, the newest change first. Applies of one table are one change.
      const changes = (await readHistory()).filter(({ id }) => !earlier.includes(id));
      if (command === 'apply') expect(changes.length).toBe(1);
      for (const { id } of changes.toReversed()) await cli('undo', id, '--yes');
      const undone = readLibrary();
      expect(undone).toEqual(new Map(uids.map((uid) => [uid, oldOf(situation, uid)])));
      await checkHistory(situation, undone, earlier);
    }
    if (command !== 'apply') return;
    // A later apply of the table does not overrule the second person, either.
    await cli(...args, '--yes');
    const applied = [...readLibrary()].filter(([uid]) => touched.has(uid));
    expect(applied).toEqual(applied.map(([uid, asset]) => [uid, asset && withTheirs(situation, uid, asset)]));
  });
});

const isDifferent = (one: unknown, other: unknown) => JSON.stringify(one) !== JSON.stringify(other);

/** Returns the uids of the assets that a command has left, according to its output. */
function namedIn(stdout: string): Set<string> {
  const isChanged = ({ outcome }: { outcome: string }) => ['updated', 'moved', 'deleted', 'skipped'].includes(outcome);
  const records = stdout === '' ? [] : JSON.parse(stdout);
  return new Set(records.flatMap((each: { uid: string; outcome: string }) => (isChanged(each) ? [] : [each.uid])));
}

type Claim = (asset: Asset | null) => boolean;

/** Returns what the items of an asset, oldest first, say of its fields now. */
function claimsOf(items: readonly HistoryItem[]): Map<string, Claim> {
  const claims = new Map<string, Claim>();
  for (const { after, add_tags: added, remove_tags: removed, outcome } of items) {
    if (outcome === 'pending' || outcome === 'failed') continue;
    const isDone = outcome === 'done';
    const set = (field: string, claim: Claim) => (isDone ? claims.set(field, claim) : claims.delete(field));
    if (after === null) {
      set('asset', (asset) => asset === null);
      continue;
    }
    for (const [field, value] of Object.entries(after)) {
      const own = field === 'parent' ? 'folder' : (field as Field);
      set(own, (asset) => asset !== null && !isDifferent(asset[own], value));
    }
    if (added.length + removed.length > 0)
      set('tags', (asset) => {
        const tags = asset?.tags;
        return (
          tags !== undefined && added.every((tag) => tags.includes(tag)) && !removed.some((tag) => tags.includes(tag))
        );
      });
  }
  return claims;
}
