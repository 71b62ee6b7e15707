import { randomUUID } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import type { Clock } from '../../contract/clock.ts';
import { asObject, type JsonObject, parseJsonOrUndefined } from '../../contract/json-values.ts';
import { CodedError, usageError } from '../errors.ts';
import type { StateDatabase } from '../upload/store/state-database.ts';

declare const planned: unique symbol;

/** A change of one asset or folder. Only the functions of items.ts make one, from what was selected. */
export type ChangeItem = {
  readonly [planned]: true;
  kind: 'asset' | 'folder';
  uid: string;
  /** Name of an asset, or path of a folder, before the change; null if it was not read. */
  name: string | null;
  /** Fields before the change, as a PATCH would set them; null if they were not read. */
  before: JsonObject | null;
  /** Fields after the change; null if it is deleted. */
  after: JsonObject | null;
  /** Local file that a deleted asset was uploaded from, if this machine did so. */
  localPath?: string | null | undefined;
};

/** A `pending` item was not written, or its outcome is unknown because the process was killed. */
export type ItemState = 'pending' | 'done' | 'failed' | 'conflict';

export type StoredItem = ChangeItem & { seq: number; state: ItemState; error: string | null };

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
  /** Number of write requests that the change plans, without retries. */
  requestCount: number;
  /** Id of the change that this one undoes. */
  undoOf?: string | null;
  /** Path of the applied table. An interrupted change of the same path is merged into this change. */
  source?: string | null;
};

export type StoredChange = Required<ChangePlan> & { id: string; startedAt: string; state: ChangeState };

/** A change with the number of its items by state. */
export type CountedChange = StoredChange & { [State in ItemState]: number } & {
  isRunning: boolean;
  /** Id of the finished change that has undone this one; null if there is none. */
  undoneBy: string | null;
};

const keptMs = 90 * 86_400_000;
/** Number of changes that are kept however old they are, since the clock may be wrong. */
const minKept = 20;

const changeColumns = `id, command, summary, service, workspace, profile, request_count AS requestCount,
  started_at AS startedAt, state, undo_of AS undoOf, source`;

type ItemRow = Omit<StoredItem, 'before' | 'after'> & { before: string | null; after: string | null };

const itemColumns = `seq, kind, uid, name, old_values AS "before", new_values AS "after", local_path AS localPath,
  state, error`;

/** The part of a history that records one change. */
export type ChangeLog = Pick<ChangeHistory, 'isPersistent' | 'create' | 'lock' | 'setState' | 'setItemState'>;

/** Records nothing: for a change that can neither be resumed nor undone. */
export const noHistory = (clock: Clock): ChangeLog => ({
  isPersistent: false,
  create: async (plan, items) => ({ change: newChange(plan, clock.now()), items: items.map(toStored) }),
  lock: async () => async () => {},
  setState: async () => {},
  setItemState: async () => {},
});

const newChange = (plan: ChangePlan, now: number): StoredChange => ({
  ...{ undoOf: null, source: null, ...plan, id: randomUUID().slice(0, 8) },
  ...{ startedAt: new Date(now).toISOString(), state: 'running' },
});

const toStored = (item: ChangeItem, seq: number): StoredItem => ({ ...item, seq, state: 'pending', error: null });

/** Changes of the library in the last 90 days, with the old and the new value of each item. */
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

  /** Saves a change and its items before the first of them is written, durably. Deletes old changes. */
  async create(plan: ChangePlan, items: readonly ChangeItem[]): Promise<{ change: StoredChange; items: StoredItem[] }> {
    const database = this.#database;
    const now = this.#clock.now();
    const change = newChange(plan, now);
    const stored = items.map(toStored);
    const json = (value: JsonObject | null) => value && JSON.stringify(value);
    const { command, summary, service, workspace, profile, requestCount, startedAt, undoOf, source } = change;
    const interrupted = await this.#findInterrupted(change);
    change.id = interrupted.at(-1)?.id ?? change.id; // users may have noted it
    // Locked before it is saved, so that no other process takes it for an interrupted change.
    this.#created.set(change.id, await this.lock(change.id));
    const kept: StoredItem[] = [];
    for (const { id } of interrupted.toReversed()) kept.push(...itemsToMerge(await this.items(id), items));
    await database.change(() => {
      const expired = new Date(now - keptMs).toISOString();
      const isExpired = `started_at < ? AND seq <= (SELECT max(seq) FROM changes) - ${minKept}`;
      database.run(`DELETE FROM change_items WHERE change_id IN (SELECT id FROM changes WHERE ${isExpired})`, expired);
      database.run(`DELETE FROM changes WHERE ${isExpired}`, expired);
      for (const { id } of interrupted) {
        database.run('DELETE FROM change_items WHERE change_id = ?', id);
        database.run('DELETE FROM changes WHERE id = ?', id);
      }
      const insert = `INSERT INTO changes (id, command, summary, service, workspace, profile, request_count,
        started_at, state, undo_of, source) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`;
      database.run(
        insert,
        ...[
          change.id,
          command,
          summary,
          service,
          workspace,
          profile,
          requestCount,
          startedAt,
          change.state,
          undoOf,
          source,
        ],
      );
      // The items of interrupted changes come first, in the order in which they were written.
      const all = [...kept.map((item, at) => ({ ...item, seq: at - kept.length })), ...stored];
      for (const { seq, kind, uid, name, before, after, localPath = null, state, error } of all)
        database.run(
          'INSERT INTO change_items VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)',
          ...[change.id, seq, kind, uid, name, json(before), json(after), localPath, state, error],
        );
    }, true);
    return { change, items: stored };
  }

  /** Returns the interrupted changes of the same source, newest first. */
  async #findInterrupted({ source, service }: StoredChange): Promise<CountedChange[]> {
    if (source === null) return [];
    const isInterrupted = ({ state, isRunning }: CountedChange) => state !== 'finished' && !isRunning;
    return (await this.list()).filter(
      (change) => change.source === source && change.service === service && isInterrupted(change),
    );
  }

  /** Returns the changes, newest first. */
  async list(): Promise<CountedChange[]> {
    const undoneBy = `(SELECT id FROM changes AS undo WHERE ${hasUndone('changes.id')} LIMIT 1)`;
    const sql = `SELECT ${changeColumns}, ${undoneBy} AS undoneBy FROM changes ORDER BY seq DESC`;
    const changes = new Map<string, CountedChange>();
    for (const change of await this.#database.select<StoredChange & Pick<CountedChange, 'undoneBy'>>(sql))
      changes.set(change.id, { ...change, pending: 0, done: 0, failed: 0, conflict: 0, isRunning: false });
    type Count = { id: string; state: ItemState; count: number };
    const counts = 'SELECT change_id AS id, state, count(*) AS count FROM change_items GROUP BY change_id, state';
    for (const { id, state, count } of await this.#database.select<Count>(counts)) {
      const counted = changes.get(id);
      if (counted) counted[state] = count;
    }
    for (const change of changes.values())
      change.isRunning = change.state === 'running' && (await this.#isLocked(change.id));
    return [...changes.values()];
  }

  /** Returns a change by its id or the beginning of it. @throws CodedError `not_found` (exit 3), `usage` (exit 2) */
  async find(id: string): Promise<CountedChange> {
    const [found, ...others] = (await this.list()).filter((change) => change.id.startsWith(id.toLowerCase()));
    if (others.length > 0) throw usageError(`several changes begin with ${id}`, 'type more characters of the id');
    if (found) return found;
    throw new CodedError(`there is no change ${id}`, { code: 'not_found', reason: 'changes are kept for 90 days' });
  }

  async items(change: string): Promise<StoredItem[]> {
    const sql = `SELECT ${itemColumns} FROM change_items WHERE change_id = ? ORDER BY seq`;
    return (await this.#database.select<ItemRow>(sql, change)).map(itemOf);
  }

  /**
   * Returns a function that finds what the changes of a source have written, or may have written, to an item since a time
   * (ms since the epoch), oldest first, without what was undone.
   */
  async findWrites(source: string): Promise<(uid: string, since: number) => Promise<StoredItem[]>> {
    const from = `FROM change_items JOIN changes ON id = change_id WHERE source = ? AND change_items.state <> 'conflict'
      AND NOT EXISTS (SELECT 1 FROM changes AS undo WHERE ${hasUndone('change_id')})`;
    const uids = new Set((await this.#database.select<ItemRow>(`SELECT uid ${from}`, source)).map(({ uid }) => uid));
    const sql = `SELECT ${itemColumns.replaceAll(/\b(seq|state)\b/g, 'change_items.$1')} ${from} AND uid = ?
      AND started_at >= ? ORDER BY changes.seq, change_items.seq`;
    return async (uid, since) => {
      if (!uids.has(uid)) return [];
      const rows = await this.#database.select<ItemRow>(sql, source, uid, new Date(since).toISOString());
      return rows.map(itemOf);
    };
  }

  async setState(change: string, state: ChangeState): Promise<void> {
    await this.#database.execute('UPDATE changes SET state = ? WHERE id = ?', state, change);
  }

  async setItemState(
    change: string,
    { seq }: StoredItem,
    state: ItemState,
    error: string | null = null,
  ): Promise<void> {
    const sql = 'UPDATE change_items SET state = ?, error = ? WHERE change_id = ? AND seq = ?';
    await this.#database.execute(sql, state, error, change, seq);
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

/** SQL condition for the change `undo`: it has undone another, all of it, and was not undone itself. */
const hasUndone = (change: string) => `undo.undo_of = ${change} AND undo.state = 'finished'
  AND NOT EXISTS (SELECT 1 FROM change_items WHERE change_id = undo.id AND state IN ('failed', 'pending'))
  AND NOT EXISTS (SELECT 1 FROM changes AS redo WHERE redo.undo_of = undo.id AND redo.state = 'finished')`;

/**
 * Returns the items of an interrupted change to merge into a later one. A pending item counts as done if the later change has
 * found its values in the library; otherwise it is dropped, because it is planned again.
 */
function itemsToMerge(items: readonly StoredItem[], planned: readonly ChangeItem[]): StoredItem[] {
  const byUid = new Map(planned.map((item) => [item.uid, item]));
  return items.flatMap((item) => {
    if (item.state !== 'pending') return item;
    const found = byUid.get(item.uid)?.before;
    const isFound = ([field, value]: [string, unknown]) => isDeepStrictEqual(found?.[field], value);
    return !found || Object.entries(item.after ?? {}).some(isFound) ? { ...item, state: 'done' as const } : [];
  });
}

const lockName = (change: string) => `change-${change}`;

const itemOf = ({ before, after, ...item }: ItemRow): StoredItem => ({
  ...item,
  before: before === null ? null : asObject(parseJsonOrUndefined(before)),
  after: after === null ? null : asObject(parseJsonOrUndefined(after)),
});
