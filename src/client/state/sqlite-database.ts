import { closeSync, fdatasync, fstatSync, openSync, realpathSync, type Stats, statSync } from 'node:fs';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { promisify } from 'node:util';
import type { Clock } from '../../shared/clock.ts';
import { createPreparer, rollBack, type SqlDatabase, type SqlStatement } from '../../shared/sqlite.ts';
import { retryUntilAcquired } from '../lock.ts';
import { isBusy, stateError, stateFailure } from '../state-error.ts';

export type SqlValue = string | number | null;

export const maxBusyWaitMs = 60_000;

/**
 * Turns of the event loop whose changes are committed together. If the process is idle, they take microseconds; if
 * many files are uploaded at once, the changes of several of them share a transaction, which makes it 15 % faster.
 */
const turnsPerTransaction = 16;
/** Pages of the write-ahead log (16 MiB) after which a commit moves them into the database, which waits for the disk. */
const checkpointPages = 4_000;
const fdatasyncAsync = promisify(fdatasync);

export type DatabaseOptions = {
  clock?: Clock;
  signal?: AbortSignal;
  /** Reports long waits, and the new path of a replaced database. */
  warn?: (message: string) => void;
};

type Change = { work: () => void; isDurable: boolean; resolve(): void; reject(error: unknown): void };

/**
 * SQLite database with group commit: changes are collected and committed together, every few turns of the event loop.
 * Durable changes then wait for one sync of the write-ahead log, which runs in the thread pool. The event loop never
 * waits for another process: a database that is locked is tried again later.
 *
 * Methods that return a promise throw MediactlErrors `state_…` (exit 14).
 */
export class SqliteDatabase {
  /** Path for messages. */
  readonly path: string;
  readonly #database: SqlDatabase;
  readonly #options: DatabaseOptions;
  /** Identity of the file; undefined if the database is in memory. */
  readonly #file: Stats | undefined;
  readonly #prepare: (sql: string) => SqlStatement;
  #changes: Change[] = [];
  #unsynced: Change[] = [];
  #committing: Promise<void> | undefined;
  #syncing: Promise<void> | undefined;
  #isSyncing = false;
  /** Descriptor of the write-ahead log, for syncs. */
  #log: number | undefined;
  #hasWritten = false;

  /** @param path path of the database, which `configure` has set up; undefined if it is in memory */
  constructor(database: SqlDatabase, options: DatabaseOptions = {}, path?: string) {
    this.path = path ?? 'memory';
    this.#database = database;
    this.#prepare = createPreparer(database);
    this.#options = options;
    this.#file = path === undefined ? undefined : statSync(path);
  }

  get isInMemory(): boolean {
    return this.#file === undefined;
  }

  async #read<T>(work: () => T): Promise<T> {
    try {
      return work();
    } catch (error) {
      if (!isBusy(error)) throw stateError(error, this.path);
      return this.#retryWhileBusy(work);
    }
  }

  #retryWhileBusy<T>(work: () => T): Promise<T> {
    return retryWhileBusy(this.path, this.#options, async () => work()).catch((error) => {
      throw stateError(error, this.path);
    });
  }

  select<Row>(sql: string, ...values: SqlValue[]): Promise<Row[]> {
    return this.#read(() => this.#prepare(sql).all(...values) as Row[]);
  }

  selectFirst<Row>(sql: string, ...values: SqlValue[]): Promise<Row | undefined> {
    return this.#read(() => this.#prepare(sql).get(...values) as Row | undefined);
  }

  /** Runs a statement in a change of its own. @returns number of changed rows */
  execute(sql: string, ...values: SqlValue[]): Promise<number> {
    return this.change(() => this.run(sql, ...values));
  }

  /** Runs a statement within a change. @returns number of changed rows */
  run(sql: string, ...values: SqlValue[]): number {
    return this.#prepare(sql).run(...values).changes;
  }

  /**
   * Runs `work` in the next transaction, with all other changes of these turns of the event loop. Resolves once it is
   * committed, which outlives a crash of this process; with `isDurable`, once it outlives a power failure.
   */
  async change<T>(work: () => T, isDurable = false): Promise<T> {
    let result: T | undefined;
    const run = () => {
      result = work();
    };
    await new Promise<void>((resolve, reject) => {
      this.#changes.push({ work: run, isDurable, resolve, reject });
      this.#committing ??= this.#commitAll();
    });
    return result as T;
  }

  async #commitAll(): Promise<void> {
    for (let turn = 0; turn < turnsPerTransaction; turn++) await nextTurn();
    while (this.#changes.length > 0) {
      const changes = this.#changes.splice(0);
      try {
        await this.#retryWhileBusy(() => this.#commit(changes));
        for (const change of changes)
          if (change.isDurable && this.#file) this.#unsynced.push(change);
          else change.resolve();
      } catch (error) {
        for (const change of changes) change.reject(error);
      }
      if (this.#unsynced.length > 0 && !this.#isSyncing) this.#syncing = this.#syncAll();
    }
    this.#committing = undefined;
  }

  #commit(changes: readonly Change[]): void {
    this.#assertPresent();
    this.#hasWritten = true;
    this.run('BEGIN IMMEDIATE');
    try {
      for (const { work } of changes) work();
      this.run('COMMIT');
    } catch (error) {
      rollBack(this.#database);
      throw error;
    }
  }

  #assertPresent(): void {
    if (!this.#file) return;
    const found = statSync(this.path, { throwIfNoEntry: false });
    if (!found?.size || found.ino !== this.#file.ino || found.dev !== this.#file.dev)
      throw stateFailure('state_missing', `${this.path} was deleted or replaced while in use`);
    if (this.#log !== undefined && fstatSync(this.#log).nlink === 0)
      throw stateFailure('state_missing', `${this.path}-wal was deleted while in use`);
  }

  /**
   * Syncs the write-ahead log, which is what `synchronous = FULL` does after each commit, but in the thread pool.
   * All changes that were committed before a sync began share it.
   */
  async #syncAll(): Promise<void> {
    this.#isSyncing = true;
    while (this.#unsynced.length > 0) {
      const changes = this.#unsynced.splice(0);
      try {
        // SQLite neither removes nor replaces the log while this process has the database open.
        this.#log ??= openSync(`${realpathSync(this.path)}-wal`, 'r+');
        await fdatasyncAsync(this.#log);
        for (const change of changes) change.resolve();
      } catch (thrown) {
        const error = stateError(thrown, this.path);
        for (const change of changes) change.reject(error);
      }
    }
    this.#isSyncing = false;
  }

  /** Closes the database after all changes. Never throws, since the command has its result by then. */
  async close(): Promise<void> {
    await this.#committing;
    await this.#syncing;
    try {
      // SQLite does not checkpoint on close here, so without this the next process has to read the log first.
      if (this.#hasWritten) this.#database.exec('PRAGMA wal_checkpoint(TRUNCATE)');
    } catch {
      // disk full, or the file is gone
    }
    if (this.#log !== undefined) closeSync(this.#log);
    this.#database.close();
  }
}

/** Sets up a connection for `SqliteDatabase`. @throws CodedError `state_unusable` if it cannot have a log */
export function configure(database: SqlDatabase, path: string): void {
  database.exec(`PRAGMA busy_timeout = 0; PRAGMA synchronous = NORMAL; PRAGMA wal_autocheckpoint = ${checkpointPages}`);
  const { journal_mode: mode } = database.prepare('PRAGMA journal_mode = WAL').get() as { journal_mode: string };
  if (mode !== 'wal') throw stateFailure('state_file_system', `SQLite cannot use a write-ahead log for ${path}`);
}

/** Retries `work` while another program locks the database. @throws the error of the last attempt */
export async function retryWhileBusy<T>(path: string, options: DatabaseOptions, work: () => Promise<T>): Promise<T> {
  let busy: unknown;
  const attempt = () =>
    work().then(
      (result) => ({ result }),
      (error) => {
        busy = error;
        if (!isBusy(error)) throw error;
      },
    );
  const done = await retryUntilAcquired(path, { ...options, onWait: options.warn, waitMs: maxBusyWaitMs }, attempt);
  if (!done) throw busy;
  return done.result;
}
