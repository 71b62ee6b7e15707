import { randomUUID } from 'node:crypto';
import type { SlugEdit } from '../../contract/slug.ts';
import type { Clock } from '../../shared/clock.ts';
import { asObject, parseJsonOrUndefined } from '../../shared/json-values.ts';
import { CodedError, usageError } from '../errors.ts';
import type { StateDatabase } from '../state/state-database.ts';
import { type ChangeItem, type ItemState, type Sent, type StoredItem, writtenOf } from './change-item.ts';

/** A `running` change whose lock is free was interrupted. */
type ChangeState = 'running' | 'finished';

/** Description of a change, and the service and workspace of it. */
export type ChangePlan = {
  command: string;
  /** Describes the change, such as `add tag sea`. */
  summary: string;
  /** Origin of the service. */
  service: string;
  workspace: string | null;
  profile: string | null;
  /** Number of requests that the change takes at most, without retries (`countRequests`). */
  requestCount: number;
  /** Id of the change that this one undoes. */
  undoOf?: string | null;
  /**
   * What decides the change again: the path of the applied table, or the command of a prune. An interrupted change of the
   * same source is merged into this change.
   */
  source?: string | null;
  /** Paths of the folders that the change names, by their uids (`normalizeUid`), as they were when it was planned. */
  folderPaths?: Readonly<Record<string, string>>;
};

/** An item that a change leaves as it is, and why, so that its record names it. */
export type LeftItem = { item: ChangeItem; reason: string };

export type StoredChange = Required<ChangePlan> & { id: string; startedAt: string; state: ChangeState };

/** A change with the number of its items by state. */
export type CountedChange = StoredChange & { [State in ItemState]: number } & {
  isRunning: boolean;
  /** Name of its only item; null if it has several, or the name is not known. */
  itemName: string | null;
  /** Id of the change that has undone all items of this one; null if there is none. */
  undoneBy: string | null;
  /** True if an undo of it was begun, and not undone itself. */
  hasUndo: boolean;
};

/** Days for which a change is kept. */
export const keptDays = 90;
/** Number of changes that are kept however old they are, since the clock may be wrong. */
const minKept = 20;

const changeColumns = `seq, id, command, summary, service, workspace, profile, request_count AS requestCount,
  started_at AS startedAt, state, undo_of AS undoOf, source, folder_paths AS folderPaths`;

type ChangeRow = Omit<StoredChange, 'folderPaths'> & { seq: number; folderPaths: string };

type UndoRow = { seq: number; id: string; undoOf: string; isComplete: number };

/** Returns the outcome of a write that the library shows; undefined if it shows neither the new nor the old values. */
export type OutcomeOf = (item: StoredItem) => 'done' | 'pending' | undefined;

export type CreateOptions = { markedCount?: number; left?: readonly LeftItem[]; outcomeOf?: OutcomeOf | undefined };

/** A write of an apply, or of its undo. */
export type SourceWrite = { item: StoredItem; isUndo: boolean } & Pick<StoredChange, 'folderPaths'>;

type JsonColumn = 'before' | 'after' | 'tags' | 'sent';
type ItemRow = Omit<StoredItem, JsonColumn> & Record<JsonColumn, string | null>;

const itemColumns = `change_items.seq, kind, uid, name, old_values AS "before", new_values AS "after", tags, sent,
  local_path AS localPath, planned_at AS plannedAt, change_items.state, error`;

/** The part of a history that records one change. */
export type ChangeLog = Pick<
  ChangeHistory,
  'isPersistent' | 'create' | 'lock' | 'setState' | 'setItemState' | 'setSent' | 'setRead'
>;

/** Records nothing: for a change that can neither be resumed nor undone. */
export const noHistory = (clock: Clock): ChangeLog => ({
  isPersistent: false,
  create: async (plan, items) => ({
    change: newChange(plan, clock.now()),
    items: items.map(toStoredItem(clock.now())),
  }),
  lock: async () => async () => {},
  setState: async () => {},
  setItemState: async () => {},
  setSent: async () => {},
  setRead: async () => {},
});

const newChange = (plan: ChangePlan, now: number): StoredChange => ({
  ...{ undoOf: null, source: null, folderPaths: {}, ...plan, id: randomUUID().slice(0, 8) },
  ...{ startedAt: new Date(now).toISOString(), state: 'running' },
});

const toStoredItem =
  (now: number) =>
  (item: ChangeItem, seq: number): StoredItem => ({
    ...{ ...item, seq, state: 'pending', error: null, sent: null, plannedAt: new Date(now).toISOString() },
  });

export const noChange = (id: string, reason: string, hint?: string) =>
  new CodedError(`there is no change ${id}`, { code: 'not_found', reason, hint });

/** Changes of the library in the last `keptDays`, with the old and the new value of each item. */
export class ChangeHistory {
  readonly #database: StateDatabase;
  readonly #clock: Clock;
  /** Locks of changes that were created and are not carried out yet. */
  readonly #created = new Map<string, () => Promise<void>>();

  constructor(database: StateDatabase, clock: Clock) {
    this.#database = database;
    this.#clock = clock;
  }

  /** False if the changes end with this process. */
  get isPersistent(): boolean {
    return !this.#database.isInMemory;
  }

  /**
   * Saves a change and its items before the first of them is written, durably. Deletes old changes.
   *
   * @param options.markedCount number of items that are about to be written, and marked as such (`unknown`)
   * @param options.left items that the change leaves as they are
   * @param options.outcomeOf returns the state of an item of an interrupted change whose outcome is unknown, if the
   *   library was read: `done` or `pending`
   * @returns the change, and its items to write
   */
  async create(
    plan: ChangePlan,
    items: readonly ChangeItem[],
    { markedCount = 0, left = [], outcomeOf = () => undefined }: CreateOptions = {},
  ): Promise<{ change: StoredChange; items: StoredItem[] }> {
    const database = this.#database;
    const now = this.#clock.now();
    const change = newChange(plan, now);
    const toStored = toStoredItem(now);
    const stored = items.map(toStored);
    const interrupted = await this.#findInterrupted(change);
    change.id = interrupted.at(-1)?.id ?? change.id; // users may have noted it
    const paths = interrupted.toReversed().map(({ folderPaths }) => folderPaths);
    change.folderPaths = Object.assign({}, ...paths, change.folderPaths);
    // Locked before it is saved, so that no other process takes it for an interrupted change.
    this.#created.set(change.id, await this.lock(change.id));
    const kept: StoredItem[] = [];
    for (const { id } of interrupted.toReversed()) kept.push(...itemsToKeep(await this.items(id), outcomeOf));
    // The items of interrupted changes come first, in the order in which they were written.
    const all: StoredItem[] = [
      ...kept.map((item, at) => ({ ...item, seq: at - kept.length })),
      ...stored.map((item, at) => (at < markedCount ? { ...item, state: 'unknown' as const } : item)),
      ...left.map(({ item, reason }, at): StoredItem => {
        return { ...toStored(item, stored.length + at), state: 'conflict', error: reason };
      }),
    ];
    await database.change(() => {
      const expired = new Date(now - keptDays * 86_400_000).toISOString();
      const isExpired = `started_at < ? AND seq <= (SELECT max(seq) FROM changes) - ${minKept}`;
      database.run(`DELETE FROM change_items WHERE change_id IN (SELECT id FROM changes WHERE ${isExpired})`, expired);
      database.run(`DELETE FROM changes WHERE ${isExpired}`, expired);
      for (const { id } of interrupted) {
        database.run('DELETE FROM change_items WHERE change_id = ?', id);
        database.run('DELETE FROM changes WHERE id = ?', id);
      }
      this.#insertChange(change);
      for (const item of all) this.#insertItem(change.id, item);
    }, true);
    return { change, items: stored };
  }

  #insertChange(change: StoredChange): void {
    const { id, command, summary, service, workspace, profile, requestCount, startedAt, state, undoOf, source } =
      change;
    const insert = `INSERT INTO changes (id, command, summary, service, workspace, profile, request_count,
      started_at, state, undo_of, source, folder_paths) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`;
    const values = [id, command, summary, service, workspace, profile, requestCount, startedAt, state, undoOf, source];
    this.#database.run(insert, ...values, JSON.stringify(change.folderPaths));
  }

  #insertItem(change: string, item: StoredItem): void {
    const { seq, kind, uid, name, before, after, tags = null, sent, localPath = null, plannedAt, state, error } = item;
    this.#database.run(
      'INSERT INTO change_items VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)',
      ...[change, seq, kind, uid, name, toJson(before), toJson(after), toJson(tags), toJson(sent), localPath],
      ...[plannedAt, state, error],
    );
  }

  /** Returns true if changes of the same source were interrupted. */
  async hasInterrupted(plan: ChangePlan): Promise<boolean> {
    return (await this.#findInterrupted(plan)).length > 0;
  }

  /** Returns the interrupted changes of the same source, newest first. */
  async #findInterrupted({ source = null, service, workspace }: ChangePlan): Promise<StoredChange[]> {
    if (source === null) return [];
    const sql = `SELECT ${changeColumns} FROM changes WHERE source = ? AND service = ? AND (workspace IS NULL OR coalesce(?, workspace) = workspace)
      AND state = 'running' ORDER BY seq DESC`;
    const found = (await this.#database.select<ChangeRow>(sql, source, service, workspace)).map(changeOf);
    const isLocked = await Promise.all(found.map(({ id }) => this.#isLocked(id)));
    return found.filter((_, at) => !isLocked[at]);
  }

  /** Returns the changes, newest first. */
  async list(): Promise<CountedChange[]> {
    const rows = await this.#database.select<ChangeRow>(`SELECT ${changeColumns} FROM changes ORDER BY seq DESC`);
    return this.#count(rows);
  }

  /** Returns a change by its id or the beginning of it. @throws CodedError `not_found` (exit 3), `usage` (exit 2) */
  async find(id: string): Promise<CountedChange> {
    const sql = `SELECT ${changeColumns} FROM changes WHERE substr(id, 1, ?) = ?`;
    const rows = await this.#database.select<ChangeRow>(sql, id.length, id.toLowerCase());
    if (rows.length > 1) throw usageError(`several changes begin with ${id}`, 'type more characters of the id');
    const [found] = await this.#count(rows);
    if (found) return found;
    throw noChange(id, `changes are kept for ${keptDays} days`);
  }

  /** Returns the last change at a service that is no undo, was not undone, and wrote or may have written something. */
  async findLast(service: string): Promise<CountedChange | undefined> {
    const sql = `SELECT ${changeColumns} FROM changes WHERE service = ? AND undo_of IS NULL AND seq < ?
      ORDER BY seq DESC LIMIT 1`;
    for (let below = Number.MAX_SAFE_INTEGER; ; ) {
      const rows = await this.#database.select<ChangeRow>(sql, service, below);
      const [row] = rows;
      if (!row) return undefined;
      const [change] = await this.#count(rows);
      if (change && change.undoneBy === null && (await this.items(change.id)).some(writtenOf)) return change;
      below = row.seq;
    }
  }

  /** Adds what belongs to each change: the number of its items by state, if it is running, and what has undone it. */
  async #count(rows: readonly ChangeRow[]): Promise<CountedChange[]> {
    const undos = await this.#findUndos(rows.map(({ id }) => id));
    const undone = undoneBy(undos);
    const begun = new Set(undos.flatMap(({ id, undoOf }) => (undone.has(id) ? [] : [undoOf])));
    type Count = { state: ItemState; count: number; name: string | null };
    const sql =
      'SELECT state, count(*) AS count, min(name) AS name FROM change_items WHERE change_id = ? GROUP BY state';
    const counted: CountedChange[] = [];
    for (const row of rows) {
      const counts = await this.#database.select<Count>(sql, row.id);
      counted.push({
        ...changeOf(row),
        ...{ pending: 0, unknown: 0, done: 0, failed: 0, conflict: 0 },
        ...Object.fromEntries(counts.map(({ state, count }) => [state, count])),
        itemName: counts.length === 1 && counts[0]?.count === 1 ? counts[0].name : null,
        isRunning: row.state === 'running' && (await this.#isLocked(row.id)),
        undoneBy: undone.get(row.id) ?? null,
        hasUndo: begun.has(row.id),
      });
    }
    return counted;
  }

  /** Returns the undos of changes, the undos of these, and so on, oldest first. */
  async #findUndos(ids: readonly string[]): Promise<UndoRow[]> {
    const sql = `SELECT seq, id, undo_of AS undoOf, state = 'finished' AND NOT EXISTS
      (SELECT 1 FROM change_items WHERE change_id = id AND state <> 'done') AS isComplete
      FROM changes WHERE undo_of = ?`;
    const found: UndoRow[] = [];
    for (let next = ids; next.length > 0; ) {
      const undos: UndoRow[] = [];
      for (const id of next) undos.push(...(await this.#database.select<UndoRow>(sql, id)));
      found.push(...undos);
      next = undos.map(({ id }) => id);
    }
    return found.sort((one, other) => one.seq - other.seq);
  }

  async items(change: string): Promise<StoredItem[]> {
    const sql = `SELECT ${itemColumns} FROM change_items WHERE change_id = ? ORDER BY seq`;
    return (await this.#database.select<ItemRow>(sql, change)).map(itemOf);
  }

  /**
   * Returns a function that finds what the changes of a source, and the undos of these, have written or may have written
   * to an asset since a time (ms since the epoch), oldest first.
   */
  async findWrites(source: string): Promise<(uid: string, since: number) => Promise<SourceWrite[]>> {
    const rows = await this.#database.select<{ id: string }>('SELECT id FROM changes WHERE source = ?', source);
    const own = rows.map(({ id }) => id);
    const ids = JSON.stringify([...own, ...(await this.#findUndos(own)).map(({ id }) => id)]);
    const from = 'FROM change_items JOIN changes ON id = change_id WHERE id IN (SELECT value FROM json_each(?))';
    const uids = new Set((await this.#database.select<ItemRow>(`SELECT uid ${from}`, ids)).map(({ uid }) => uid));
    const sql = `SELECT ${itemColumns}, folder_paths AS folderPaths, undo_of AS undoOf ${from} AND uid = ? AND planned_at >= ?
      ORDER BY changes.seq, change_items.seq`;
    return async (uid, since) => {
      if (!uids.has(uid)) return [];
      type WriteRow = ItemRow & Pick<ChangeRow, 'folderPaths' | 'undoOf'>;
      const found = await this.#database.select<WriteRow>(sql, ids, uid, new Date(since).toISOString());
      return found.map(({ folderPaths, undoOf, ...row }) => ({
        ...{ item: itemOf(row), isUndo: undoOf !== null, folderPaths: pathsOf(folderPaths) },
      }));
    };
  }

  async setState(change: string, state: ChangeState): Promise<void> {
    await this.#database.execute('UPDATE changes SET state = ? WHERE id = ?', state, change);
  }

  async setItemState(
    change: string,
    items: readonly StoredItem[],
    state: ItemState,
    error: string | null = null,
    isDurable = false,
  ): Promise<void> {
    const sql = 'UPDATE change_items SET state = ?, error = ? WHERE change_id = ? AND seq = ?';
    const update = () => {
      for (const { seq } of items) this.#database.run(sql, state, error, change, seq);
    };
    await this.#database.change(update, isDurable);
  }

  /** Records what is sent of an item. */
  async setSent(change: string, { seq }: StoredItem, sent: Sent): Promise<void> {
    const sql = 'UPDATE change_items SET sent = ? WHERE change_id = ? AND seq = ?';
    await this.#database.execute(sql, toJson(sent), change, seq);
  }

  /** Records the values that were read of an item before it was written. */
  async setRead(change: string, { seq, name, before }: StoredItem): Promise<void> {
    const sql = 'UPDATE change_items SET name = ?, old_values = ? WHERE change_id = ? AND seq = ?';
    await this.#database.execute(sql, name, toJson(before), change, seq);
  }

  /**
   * Locks a change, so that no other process carries it out. The lock ends with this process.
   *
   * @returns a function that releases the lock
   * @throws CodedError `locked` (exit 6) if another process carries it out
   */
  async lock(change: string): Promise<() => Promise<void>> {
    const own = this.#created.get(change);
    if (own && this.#created.delete(change)) return own;
    const { processLocks } = this.#database;
    const release = processLocks ? await processLocks.acquire(lockName(change)) : async () => {};
    if (release) return release;
    throw new CodedError(`another process is carrying out change ${change}`, { code: 'locked' });
  }

  async #isLocked(change: string): Promise<boolean> {
    return !(await this.#database.processLocks?.ifStale(lockName(change), async () => {}));
  }
}

/**
 * Returns what has undone each change: the last undo of all its items that was not undone itself.
 *
 * @param undos oldest first, with the undos of undos
 */
function undoneBy(undos: readonly UndoRow[]): Map<string, string> {
  const undone = new Map<string, string>();
  // An undo is newer than what it undoes, so what has undone an undo is known first.
  for (const { id, undoOf, isComplete } of undos.toReversed())
    if (isComplete && !undone.has(id) && !undone.has(undoOf)) undone.set(undoOf, id);
  return undone;
}

/**
 * Returns the items of an interrupted change to keep in a later one. What was not written is dropped, because the later
 * change has decided about it again. An unknown outcome becomes known only by the values that the library has.
 */
function itemsToKeep(items: readonly StoredItem[], outcomeOf: OutcomeOf): StoredItem[] {
  const known = items.map((item) =>
    item.state === 'unknown' ? { ...item, state: outcomeOf(item) ?? item.state } : item,
  );
  return known.filter((item) => item.state === 'done' || writtenOf(item));
}

const lockName = (change: string) => `change-${change}`;

const toJson = (value: object | null) => value && JSON.stringify(value);

const fromJson = (text: string | null) => (text === null ? null : asObject(parseJsonOrUndefined(text)));

const itemOf = ({ before, after, tags, sent, ...item }: ItemRow): StoredItem => ({
  ...item,
  before: fromJson(before),
  after: fromJson(after),
  tags: fromJson(tags) as SlugEdit | null,
  sent: fromJson(sent) as Sent | null,
});

const pathsOf = (json: string) => asObject(parseJsonOrUndefined(json)) as Record<string, string>;

const changeOf = ({ seq, folderPaths, ...row }: ChangeRow): StoredChange => ({
  ...row,
  folderPaths: pathsOf(folderPaths),
});
