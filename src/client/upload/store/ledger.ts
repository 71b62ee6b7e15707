import { randomUUID } from 'node:crypto';
import { type Stats, statSync } from 'node:fs';
import { join } from 'node:path';
import type Libsql from 'libsql';
import type { Clock } from '../../clock.ts';
import { makeStateFolder } from '../../folders.ts';
import { loadLibsql } from '../../libsql.ts';
import { NamedLocks, retryWhileHeld, whileLocked } from '../../lock.ts';
import { isBusy, stateError, stateFailure } from '../../state-error.ts';
import {
  assertLedger,
  ensureLedgerFile,
  ledgerPath,
  setLedgerAside,
  trialWrite,
} from './ledger-file.ts';

export type Value = string | number | null;

/** The wait of a read for a program that locks out readers; it blocks everything else. */
const readBusyMs = 1_000;
/** The wait of one attempt to write; it blocks everything else. */
const writeBusyMs = 5;
/** Attempts to write are repeated for so long. */
const patienceMs = 60_000;

/** What a store is opened for: `check` reads all of it, `write` writes on trial, `again` begins a new one if need be. */
export type LedgerUse = 'read' | 'check' | 'write' | 'again';

export type LedgerOptions = {
  clock?: Clock;
  signal?: AbortSignal;
  /** Reports what takes long, and where an old store is now. */
  say?: (message: string) => void;
};

/**
 * What this machine knows of uploads beside the journal, in one SQLite file of the state folder (0600):
 * receipts of what was sent, and who has which upload in hand. A process of its own marks itself by a
 * lock that the kernel keeps, so that what a killed one had in hand is free.
 */
export class Ledger {
  readonly path: string;
  /** The name of this process among those that have uploads in hand. */
  readonly run = randomUUID();
  readonly processes: NamedLocks;
  readonly #database: Libsql.Database;
  readonly #options: LedgerOptions;
  readonly #file: Stats;
  readonly #statements = new Map<string, Libsql.Statement>();
  #release: Promise<(() => Promise<void>) | undefined> | undefined;
  #kept: (() => void)[] = [];
  #flush: Promise<void> | undefined;
  #longestMs = 0;
  #hasWritten = false;

  private constructor(stateDir: string, database: Libsql.Database, options: LedgerOptions) {
    this.path = ledgerPath(stateDir);
    this.processes = new NamedLocks(join(stateDir, 'runs'), options.say);
    this.#database = database;
    this.#options = options;
    this.#file = statSync(this.path);
  }

  /**
   * Opens the store of a state folder; a new one is made where none ever was.
   *
   * @throws MediactlError `state_…` (14)
   */
  static async open(
    stateDir: string,
    options: LedgerOptions = {},
    use: LedgerUse = 'read',
  ): Promise<Ledger> {
    const path = ledgerPath(stateDir);
    const opened = () => whileBusy(path, options, () => Ledger.#opened(stateDir, options, use));
    try {
      await makeStateFolder(stateDir);
      if (use !== 'again') return await opened();
      const lock = join(stateDir, 'receipts.lock');
      const busy = () => stateFailure('state_locked', `${lock} is locked`);
      // Of two at once, the second finds what the first has made.
      return await whileLocked({ path: lock, waitMs: patienceMs, busy }, () =>
        opened().catch((error) => {
          const failure = stateError(error, path);
          if (!['state_damaged', 'state_emptied'].includes(failure.explanation.code)) throw error;
          const aside = setLedgerAside(path);
          const kept = aside ? `; the old one is kept as ${aside}` : '';
          options.say?.(`${failure.message}: a new one is begun${kept}`);
          return opened();
        }),
      );
    } catch (error) {
      throw stateError(error, path);
    }
  }

  static async #opened(stateDir: string, options: LedgerOptions, use: LedgerUse): Promise<Ledger> {
    const Database = await loadLibsql();
    const path = ledgerPath(stateDir);
    await ensureLedgerFile(path, Database);
    const database = new Database(path);
    try {
      database.exec(`PRAGMA busy_timeout = ${writeBusyMs};`);
      database.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL;');
      await assertLedger(path, database, use === 'check' || use === 'again');
      if (use === 'write' || use === 'again') database.exec(trialWrite);
      database.exec(`PRAGMA busy_timeout = ${readBusyMs};`);
      return new Ledger(stateDir, database, options);
    } catch (error) {
      database.close();
      throw error;
    }
  }

  all<Row>(sql: string, ...values: Value[]): Row[] {
    return this.#explained(() => this.#prepared(sql).all(...values)) as Row[];
  }

  *each<Row>(sql: string, ...values: Value[]): Generator<Row> {
    try {
      for (const row of this.#prepared(sql).iterate(...values)) yield row as Row;
    } catch (error) {
      throw stateError(error, this.path);
    }
  }

  get<Row>(sql: string, ...values: Value[]): Row | undefined {
    return this.#explained(() => this.#prepared(sql).get(...values)) as Row | undefined;
  }

  /** Writes within a transaction. @returns how many rows it changed */
  change(sql: string, ...values: Value[]): number {
    return this.#prepared(sql).run(...values).changes;
  }

  /** @returns how many rows it changed */
  write(sql: string, ...values: Value[]): Promise<number> {
    return this.transaction(() => this.change(sql, ...values));
  }

  /** Does all or nothing, before or after what other processes do. Waits while another one writes. */
  transaction<T>(work: () => T, isFlushed = false): Promise<T> {
    const { path } = this;
    this.#hasWritten = true;
    return whileBusy(path, this.#options, async () => this.#atOnce(work, isFlushed)).catch(
      (error) => {
        throw stateError(error, path);
      },
    );
  }

  #atOnce<T>(work: () => T, isFlushed = false): T {
    const found = statSync(this.path, { throwIfNoEntry: false });
    if (!found?.size || found.ino !== this.#file.ino || found.dev !== this.#file.dev)
      throw stateFailure('state_emptied', `${this.path} was removed or replaced meanwhile`);
    const database = this.#database;
    if (isFlushed) database.exec('PRAGMA synchronous = FULL');
    try {
      database.exec(`PRAGMA busy_timeout = ${writeBusyMs}; BEGIN IMMEDIATE`);
      const result = work();
      database.exec('COMMIT');
      return result;
    } catch (error) {
      try {
        database.exec('ROLLBACK');
      } catch {
        // it never began
      }
      throw error;
    } finally {
      database.exec(`PRAGMA busy_timeout = ${readBusyMs}; PRAGMA synchronous = NORMAL`);
    }
  }

  #explained<T>(work: () => T): T {
    try {
      return work();
    } catch (error) {
      throw stateError(error, this.path);
    }
  }

  /**
   * Resolves once writes are on the disk, whatever happens to the machine. Those that are asked for
   * within some milliseconds get there together: each wait for the disk stops everything else.
   */
  async writeThrough(work: () => void): Promise<void> {
    this.#kept.push(work);
    this.#flush ??= this.#written();
    await this.#flush;
  }

  async #written(): Promise<void> {
    // A slow disk is waited for more rarely.
    await new Promise((resolve) => setTimeout(resolve, Math.max(20, 4 * this.#longestMs)));
    this.#flush = undefined;
    const work = this.#kept;
    this.#kept = [];
    const startedAt = performance.now();
    await this.transaction(() => {
      for (const each of work) each();
    }, true);
    this.#longestMs = Math.min(250, performance.now() - startedAt);
  }

  /** Marks this process as one that lives. */
  async enlist(): Promise<void> {
    this.#release ??= this.processes.take(this.run);
    await this.#release;
  }

  /** Never fails: the result of a command is known by then, and the next process clears up. */
  async close(): Promise<void> {
    await this.#flush?.catch(() => {}); // its caller reports it
    const release = await this.#release?.catch(() => undefined);
    try {
      if (release) this.#atOnce(() => this.change('DELETE FROM claims WHERE run = ?', this.run));
      // libsql leaves the log of what was written where others have to read it first.
      if (this.#hasWritten) this.#database.exec('PRAGMA wal_checkpoint(TRUNCATE)');
    } catch {
      // no room, or no such file any more
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

/** Repeats work while another program holds the file. @throws Error of the last attempt */
async function whileBusy<T>(
  path: string,
  options: LedgerOptions,
  work: () => Promise<T>,
): Promise<T> {
  let busy: unknown;
  const attempt = () =>
    work().then(
      (result) => ({ result }),
      (error) => {
        busy = error;
        if (!isBusy(error)) throw error;
      },
    );
  const done = await retryWhileHeld(path, { ...options, waitMs: patienceMs }, attempt);
  if (!done) throw busy;
  return done.result;
}
