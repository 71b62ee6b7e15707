import { randomUUID } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import type { Clock } from '../../contract/clock.ts';
import { asObject, type JsonObject, parseJsonOrUndefined } from '../../contract/json-values.ts';
import { MediactlError, usageError } from '../errors.ts';
import type { StateDatabase } from '../upload/store/state-database.ts';

declare const planned: unique symbol;

/** A change of one asset or folder. Only the functions of items.ts make one, from what was selected. */
export type BulkItem = {
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

export type StoredItem = BulkItem & { seq: number; state: ItemState; error: string | null };

/** A `running` run whose lock is free was interrupted. */
type RunState = 'running' | 'finished';

/** Description of a run: the change and where it is made. */
export type RunPlan = {
  command: string;
  /** Describes the change, such as `add tag sea`. */
  summary: string;
  /** Origin of the service. */
  service: string;
  workspace: string | null;
  profile: string | null;
  /** Number of write requests that the run plans, without retries. */
  requestCount: number;
  /** Id of the run that this one undoes. */
  undoOf?: string | null;
  /** Path of the applied table. An interrupted run of the same path is merged into this run. */
  source?: string | null;
};

export type BulkRun = Required<RunPlan> & { id: string; startedAt: string; state: RunState };

/** A run with the number of its items by state. */
export type CountedRun = BulkRun & { [State in ItemState]: number } & {
  isRunning: boolean;
  /** Id of the finished run that has undone this one; null if there is none. */
  undoneBy: string | null;
};

const keptMs = 90 * 86_400_000;
/** Number of runs that are kept however old they are, since the clock may be wrong. */
const minKept = 20;

const runColumns = `id, command, summary, service, workspace, profile, request_count AS requestCount,
  started_at AS startedAt, state, undo_of AS undoOf, source`;

type ItemRow = Omit<StoredItem, 'before' | 'after'> & { before: string | null; after: string | null };

const itemColumns = `seq, kind, uid, name, old_values AS "before", new_values AS "after", local_path AS localPath,
  state, error`;

/** What carrying out a change needs of a history. */
export type RunLog = Pick<RunStore, 'isPersistent' | 'create' | 'lock' | 'setState' | 'setItemState'>;

/** Records nothing: for a change that nobody can resume or undo. */
export const noHistory = (clock: Clock): RunLog => ({
  isPersistent: false,
  create: async (plan, items) => ({ run: newRun(plan, clock.now()), items: items.map(toStored) }),
  lock: async () => async () => {},
  setState: async () => {},
  setItemState: async () => {},
});

const newRun = (plan: RunPlan, now: number): BulkRun => ({
  ...{ undoOf: null, source: null, ...plan, id: randomUUID().slice(0, 8) },
  ...{ startedAt: new Date(now).toISOString(), state: 'running' },
});

const toStored = (item: BulkItem, seq: number): StoredItem => ({ ...item, seq, state: 'pending', error: null });

/** Runs of the last 90 days: changes to the library, with the old and the new value of each item. */
export class RunStore {
  readonly #database: StateDatabase;
  readonly #clock: Clock;
  /** Locks of runs that were created and are not carried out yet. */
  readonly #created = new Map<string, () => Promise<void>>();

  constructor(database: StateDatabase, clock: Clock) {
    this.#database = database;
    this.#clock = clock;
  }

  /** False if the runs end with this process. */
  get isPersistent(): boolean {
    return !this.#database.isInMemory;
  }

  /** Saves a run and its items before the first of them is written, durably. Deletes old runs. */
  async create(plan: RunPlan, items: readonly BulkItem[]): Promise<{ run: BulkRun; items: StoredItem[] }> {
    const database = this.#database;
    const now = this.#clock.now();
    const run = newRun(plan, now);
    const stored = items.map(toStored);
    const json = (value: JsonObject | null) => value && JSON.stringify(value);
    const { command, summary, service, workspace, profile, requestCount, startedAt, undoOf, source } = run;
    const interrupted = await this.#findInterrupted(run);
    run.id = interrupted.at(-1)?.id ?? run.id; // users may have noted it
    // Locked before it is saved, so that no other process takes it for an interrupted run.
    this.#created.set(run.id, await this.lock(run.id));
    const kept: StoredItem[] = [];
    for (const { id } of interrupted.toReversed()) kept.push(...itemsToMerge(await this.items(id), items));
    await database.change(() => {
      const expired = new Date(now - keptMs).toISOString();
      const isExpired = `started_at < ? AND seq <= (SELECT max(seq) FROM bulk_runs) - ${minKept}`;
      database.run(`DELETE FROM bulk_items WHERE run IN (SELECT id FROM bulk_runs WHERE ${isExpired})`, expired);
      database.run(`DELETE FROM bulk_runs WHERE ${isExpired}`, expired);
      for (const { id } of interrupted) {
        database.run('DELETE FROM bulk_items WHERE run = ?', id);
        database.run('DELETE FROM bulk_runs WHERE id = ?', id);
      }
      const insert = `INSERT INTO bulk_runs (id, command, summary, service, workspace, profile, request_count,
        started_at, state, undo_of, source) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`;
      database.run(
        insert,
        ...[run.id, command, summary, service, workspace, profile, requestCount, startedAt, run.state, undoOf, source],
      );
      // The items of interrupted runs come first, in the order in which they were written.
      const all = [...kept.map((item, at) => ({ ...item, seq: at - kept.length })), ...stored];
      for (const { seq, kind, uid, name, before, after, localPath = null, state, error } of all)
        database.run(
          'INSERT INTO bulk_items VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)',
          ...[run.id, seq, kind, uid, name, json(before), json(after), localPath, state, error],
        );
    }, true);
    return { run, items: stored };
  }

  /** Returns the interrupted runs of the same source, newest first. */
  async #findInterrupted({ source, service }: BulkRun): Promise<CountedRun[]> {
    if (source === null) return [];
    const isInterrupted = ({ state, isRunning }: CountedRun) => state !== 'finished' && !isRunning;
    return (await this.list()).filter((run) => run.source === source && run.service === service && isInterrupted(run));
  }

  /** Returns the runs, newest first. */
  async list(): Promise<CountedRun[]> {
    const undoneBy = `(SELECT id FROM bulk_runs AS undo WHERE ${hasUndone('bulk_runs.id')} LIMIT 1)`;
    const sql = `SELECT ${runColumns}, ${undoneBy} AS undoneBy FROM bulk_runs ORDER BY seq DESC`;
    const runs = new Map<string, CountedRun>();
    for (const run of await this.#database.select<BulkRun & Pick<CountedRun, 'undoneBy'>>(sql))
      runs.set(run.id, { ...run, pending: 0, done: 0, failed: 0, conflict: 0, isRunning: false });
    type Count = { run: string; state: ItemState; count: number };
    const counts = 'SELECT run, state, count(*) AS count FROM bulk_items GROUP BY run, state';
    for (const { run, state, count } of await this.#database.select<Count>(counts)) {
      const counted = runs.get(run);
      if (counted) counted[state] = count;
    }
    for (const run of runs.values()) run.isRunning = run.state === 'running' && (await this.#isLocked(run.id));
    return [...runs.values()];
  }

  /** Returns a run by its id or the beginning of it. @throws MediactlError `not_found` (exit 3), `usage` (exit 2) */
  async find(id: string): Promise<CountedRun> {
    const [found, ...others] = (await this.list()).filter((run) => run.id.startsWith(id.toLowerCase()));
    if (others.length > 0) throw usageError(`several runs begin with ${id}`, 'type more characters of the id');
    if (found) return found;
    throw new MediactlError(`there is no change ${id}`, { code: 'not_found', reason: 'changes are kept for 90 days' });
  }

  async items(run: string): Promise<StoredItem[]> {
    const sql = `SELECT ${itemColumns} FROM bulk_items WHERE run = ? ORDER BY seq`;
    return (await this.#database.select<ItemRow>(sql, run)).map(itemOf);
  }

  /**
   * Returns a function that finds what the runs of a source have written, or may have written, to an item since a time
   * (ms since the epoch), oldest first, without what was undone.
   */
  async findWrites(source: string): Promise<(uid: string, since: number) => Promise<StoredItem[]>> {
    const from = `FROM bulk_items JOIN bulk_runs ON id = run WHERE source = ? AND bulk_items.state <> 'conflict'
      AND NOT EXISTS (SELECT 1 FROM bulk_runs AS undo WHERE ${hasUndone('run')})`;
    const uids = new Set((await this.#database.select<ItemRow>(`SELECT uid ${from}`, source)).map(({ uid }) => uid));
    const sql = `SELECT ${itemColumns.replaceAll(/\b(seq|state)\b/g, 'bulk_items.$1')} ${from} AND uid = ?
      AND started_at >= ? ORDER BY bulk_runs.seq, bulk_items.seq`;
    return async (uid, since) => {
      if (!uids.has(uid)) return [];
      const rows = await this.#database.select<ItemRow>(sql, source, uid, new Date(since).toISOString());
      return rows.map(itemOf);
    };
  }

  async setState(run: string, state: RunState): Promise<void> {
    await this.#database.execute('UPDATE bulk_runs SET state = ? WHERE id = ?', state, run);
  }

  async setItemState(run: string, { seq }: StoredItem, state: ItemState, error: string | null = null): Promise<void> {
    const sql = 'UPDATE bulk_items SET state = ?, error = ? WHERE run = ? AND seq = ?';
    await this.#database.execute(sql, state, error, run, seq);
  }

  /**
   * Locks a run, so that no other process carries it out. The lock ends with this process.
   *
   * @returns a function that releases the lock
   * @throws MediactlError `locked` (exit 6) if another process carries it out
   */
  async lock(run: string): Promise<() => Promise<void>> {
    const own = this.#created.get(run);
    if (own && this.#created.delete(run)) return own;
    const { processLocks } = this.#database;
    const release = processLocks ? await processLocks.acquire(lockName(run)) : async () => {};
    if (release) return release;
    throw new MediactlError(`another process is carrying out run ${run}`, { code: 'locked' });
  }

  async #isLocked(run: string): Promise<boolean> {
    return !(await this.#database.processLocks?.ifStale(lockName(run), async () => {}));
  }
}

/** SQL condition for the run `undo`: it has undone a run, all of it, and was not undone itself. */
const hasUndone = (run: string) => `undo.undo_of = ${run} AND undo.state = 'finished'
  AND NOT EXISTS (SELECT 1 FROM bulk_items WHERE run = undo.id AND state IN ('failed', 'pending'))
  AND NOT EXISTS (SELECT 1 FROM bulk_runs AS redo WHERE redo.undo_of = undo.id AND redo.state = 'finished')`;

/**
 * Returns the items of an interrupted run to merge into a later one. A pending item counts as done if the later run has
 * found its values in the library; otherwise it is dropped, because it is planned again.
 */
function itemsToMerge(items: readonly StoredItem[], planned: readonly BulkItem[]): StoredItem[] {
  const byUid = new Map(planned.map((item) => [item.uid, item]));
  return items.flatMap((item) => {
    if (item.state !== 'pending') return item;
    const found = byUid.get(item.uid)?.before;
    const isFound = ([field, value]: [string, unknown]) => isDeepStrictEqual(found?.[field], value);
    return !found || Object.entries(item.after ?? {}).some(isFound) ? { ...item, state: 'done' as const } : [];
  });
}

const lockName = (run: string) => `bulk-${run}`;

const itemOf = ({ before, after, ...item }: ItemRow): StoredItem => ({
  ...item,
  before: before === null ? null : asObject(parseJsonOrUndefined(before)),
  after: after === null ? null : asObject(parseJsonOrUndefined(after)),
});
