import { randomUUID } from 'node:crypto';
import { type Stats, statSync } from 'node:fs';
import { join } from 'node:path';
import type Libsql from 'libsql';
import type { Clock } from '../../../contract/clock.ts';
import { loadLibsql, NamedLocks, retryUntilAcquired, withLock } from '../../lock.ts';
import { isBusy, stateError, stateFailure } from '../../state-error.ts';
import { makeStateFolder } from '../../state-files.ts';
import { assertLedger, ensureLedgerFile, ledgerPath, setLedgerAside, trialWrite } from './ledger-file.ts';

export type SqlValue = string | number | null;

/** Busy timeout for a read while another program locks the database. Short, because it blocks the event loop. */
const readBusyTimeoutMs = 1_000;
/** Busy timeout for one write attempt. Short, because it blocks the event loop. */
const writeBusyTimeoutMs = 5;
const maxBusyWaitMs = 60_000;

/**
 * Purpose of opening the database: `check` tests its integrity, `write` tries a write, and `recreate` does both and
 * replaces an unusable database.
 */
export type LedgerUse = 'read' | 'check' | 'write' | 'recreate';

export type LedgerOptions = {
  clock?: Clock;
  signal?: AbortSignal;
  /** Reports long waits, and the new path of a replaced database. */
  warn?: (message: string) => void;
};

/**
 * SQLite database in the state folder (mode 0600), with the receipts of finished uploads and the locks of running
 * uploads. Each process also holds a kernel lock on a file of its own. This lock ends with the process, so the
 * upload locks of a killed process can be released.
 */
export class Ledger {
  readonly path: string;
  /** Unique id of this process, recorded with its upload locks. */
  readonly processId = randomUUID();
  readonly processLocks: NamedLocks;
  readonly #database: Libsql.Database;
  readonly #options: LedgerOptions;
  readonly #file: Stats;
  readonly #statements = new Map<string, Libsql.Statement>();
  #release: Promise<(() => Promise<void>) | undefined> | undefined;
  #batch: (() => void)[] = [];
  #flush: Promise<void> | undefined;
  #lastFlushMs = 0;
  #hasWritten = false;

  private constructor(stateDir: string, database: Libsql.Database, options: LedgerOptions) {
    this.path = ledgerPath(stateDir);
    this.processLocks = new NamedLocks(join(stateDir, 'runs'), options.warn);
    this.#database = database;
    this.#options = options;
    this.#file = statSync(this.path);
  }

  /** Opens the database, and creates it if it never existed. @throws MediactlError `state_…` (exit 14) */
  static async open(stateDir: string, options: LedgerOptions = {}, use: LedgerUse = 'read'): Promise<Ledger> {
    const path = ledgerPath(stateDir);
    const openDatabase = () => retryWhileBusy(path, options, () => Ledger.#openDatabase(stateDir, options, use));
    try {
      await makeStateFolder(stateDir);
      if (use !== 'recreate') return await openDatabase();
      const lock = join(stateDir, 'receipts.lock');
      const busy = () => stateFailure('state_locked', `${lock} is locked`);
      // The lock serializes processes, so that the second one finds the database that the first created.
      return await withLock({ path: lock, waitMs: maxBusyWaitMs, busy }, () =>
        openDatabase().catch((error) => {
          const failure = stateError(error, path);
          if (!['state_damaged', 'state_emptied'].includes(failure.explanation.code)) throw error;
          const aside = setLedgerAside(path);
          const note = aside ? `; the old one is kept as ${aside}` : '';
          options.warn?.(`${failure.message}: a new one is begun${note}`);
          return openDatabase();
        }),
      );
    } catch (error) {
      throw stateError(error, path);
    }
  }

  static async #openDatabase(stateDir: string, options: LedgerOptions, use: LedgerUse): Promise<Ledger> {
    const Database = await loadLibsql();
    const path = ledgerPath(stateDir);
    await ensureLedgerFile(path, Database);
    const database = new Database(path);
    try {
      database.exec(`PRAGMA busy_timeout = ${writeBusyTimeoutMs};`);
      database.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL;');
      await assertLedger(path, database, use === 'check' || use === 'recreate');
      if (use === 'write' || use === 'recreate') database.exec(trialWrite);
      database.exec(`PRAGMA busy_timeout = ${readBusyTimeoutMs};`);
      return new Ledger(stateDir, database, options);
    } catch (error) {
      database.close();
      throw error;
    }
  }

  all<Row>(sql: string, ...values: SqlValue[]): Row[] {
    return [...this.each<Row>(sql, ...values)];
  }

  *each<Row>(sql: string, ...values: SqlValue[]): Generator<Row> {
    try {
      for (const row of this.#prepared(sql).iterate(...values)) yield row as Row;
    } catch (error) {
      throw stateError(error, this.path);
    }
  }

  get<Row>(sql: string, ...values: SqlValue[]): Row | undefined {
    try {
      return this.#prepared(sql).get(...values) as Row | undefined;
    } catch (error) {
      throw stateError(error, this.path);
    }
  }

  /** Runs a statement within a transaction. @returns number of changed rows */
  execute(sql: string, ...values: SqlValue[]): number {
    return this.#prepared(sql).run(...values).changes;
  }

  /** Runs a statement in a transaction of its own. @returns number of changed rows */
  write(sql: string, ...values: SqlValue[]): Promise<number> {
    return this.transaction(() => this.execute(sql, ...values));
  }

  /** Runs `work` in an exclusive write transaction. Retries while another process is writing. */
  transaction<T>(work: () => T, isSynced = false): Promise<T> {
    const { path } = this;
    this.#hasWritten = true;
    return retryWhileBusy(path, this.#options, async () => this.#runTransaction(work, isSynced)).catch((error) => {
      throw stateError(error, path);
    });
  }

  #runTransaction<T>(work: () => T, isSynced = false): T {
    const found = statSync(this.path, { throwIfNoEntry: false });
    if (!found?.size || found.ino !== this.#file.ino || found.dev !== this.#file.dev)
      throw stateFailure('state_emptied', `${this.path} was removed or replaced meanwhile`);
    const database = this.#database;
    if (isSynced) database.exec('PRAGMA synchronous = FULL');
    try {
      database.exec(`PRAGMA busy_timeout = ${writeBusyTimeoutMs}; BEGIN IMMEDIATE`);
      const result = work();
      database.exec('COMMIT');
      return result;
    } catch (error) {
      try {
        database.exec('ROLLBACK');
      } catch {
        // the transaction had not started
      }
      throw error;
    } finally {
      database.exec(`PRAGMA busy_timeout = ${readBusyTimeoutMs}; PRAGMA synchronous = NORMAL`);
    }
  }

  /**
   * Runs `work` in a transaction, and resolves once its writes survive a power failure. Writes requested within
   * some milliseconds share one transaction (group commit), because each sync blocks the event loop.
   */
  async writeDurably(work: () => void): Promise<void> {
    this.#batch.push(work);
    this.#flush ??= this.#flushBatch();
    await this.#flush;
  }

  async #flushBatch(): Promise<void> {
    // Collect writes for longer if the disk is slow, so that it is synced less often.
    await new Promise((resolve) => setTimeout(resolve, Math.max(20, 4 * this.#lastFlushMs)));
    this.#flush = undefined;
    const work = this.#batch;
    this.#batch = [];
    const startedAt = performance.now();
    await this.transaction(() => {
      for (const each of work) each();
    }, true);
    this.#lastFlushMs = Math.min(250, performance.now() - startedAt);
  }

  /** Marks this process as running, with a kernel lock on a file of its own. */
  async registerProcess(): Promise<void> {
    this.#release ??= this.processLocks.acquire(this.processId);
    await this.#release;
  }

  /** Closes the database. Never throws, since the command has its result by then and the next process cleans up. */
  async close(): Promise<void> {
    await this.#flush?.catch(() => {}); // its caller reports it
    const release = await this.#release?.catch(() => undefined);
    try {
      if (release) this.#runTransaction(() => this.execute('DELETE FROM claims WHERE run = ?', this.processId));
      // libsql does not checkpoint on close, so without this the next process has to read the WAL first.
      if (this.#hasWritten) this.#database.exec('PRAGMA wal_checkpoint(TRUNCATE)');
    } catch {
      // disk full, or the file is gone
    }
    await release?.();
    this.#database.close();
  }

  #prepared(sql: string): Libsql.Statement {
    const known = this.#statements.get(sql);
    if (known) return known;
    const statement = this.#database.prepare(sql);
    this.#statements.set(sql, statement);
    return statement;
  }
}

/** Retries `work` while another program locks the database. @throws the error of the last attempt */
async function retryWhileBusy<T>(path: string, options: LedgerOptions, work: () => Promise<T>): Promise<T> {
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
