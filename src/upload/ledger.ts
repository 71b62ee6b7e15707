import { randomUUID } from 'node:crypto';
import { open } from 'node:fs/promises';
import { join } from 'node:path';
import type Libsql from 'libsql';
import { exitCodes, MediactlError } from '../errors.ts';
import { makeStateFolder } from '../folders.ts';
import { NamedLocks } from '../lock.ts';

export type Value = string | number | null;

/** Another process writes for some milliseconds at a time; nothing else happens here meanwhile. */
const busyMs = 1_000;
/** So long it is tried again, while everything else goes on. */
const patienceMs = 60_000;
const pauseMs = 100;
const version = 1;

/** No key is in here, and nothing expires: keys are rotated, and what was sent stays sent. */
const schema = `
CREATE TABLE receipts (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  service TEXT NOT NULL, workspace TEXT NOT NULL, folder TEXT NOT NULL, path TEXT NOT NULL,
  size INTEGER NOT NULL, mtime_ns TEXT NOT NULL, blake3 TEXT NOT NULL, verified INTEGER,
  asset TEXT NOT NULL, session TEXT NOT NULL, name TEXT NOT NULL,
  state TEXT NOT NULL, reason TEXT, at TEXT NOT NULL, imported INTEGER NOT NULL DEFAULT 0,
  UNIQUE (service, workspace, folder, path)
);
CREATE INDEX receipts_by_content ON receipts (service, workspace, size, blake3);
CREATE INDEX receipts_by_asset ON receipts (asset);
CREATE INDEX receipts_pending ON receipts (service, workspace) WHERE state = 'pending';
CREATE TABLE replaced (
  service TEXT NOT NULL, workspace TEXT NOT NULL, folder TEXT NOT NULL, path TEXT NOT NULL,
  asset TEXT PRIMARY KEY
);
CREATE TABLE runs (id TEXT PRIMARY KEY, since INTEGER NOT NULL);
CREATE TABLE orphans (
  service TEXT NOT NULL, asset TEXT NOT NULL, name TEXT NOT NULL, path TEXT NOT NULL, at TEXT NOT NULL,
  guessed INTEGER NOT NULL,
  PRIMARY KEY (service, asset)
);
CREATE TABLE folders (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  service TEXT NOT NULL, workspace TEXT NOT NULL, path TEXT NOT NULL, uid TEXT NOT NULL
);
CREATE INDEX folders_by_path ON folders (service, workspace, path);
CREATE TABLE claims (id TEXT PRIMARY KEY, run TEXT NOT NULL, pid INTEGER NOT NULL) WITHOUT ROWID;
PRAGMA user_version = ${version};
`;

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
  readonly #statements = new Map<string, Libsql.Statement>();
  #release: Promise<(() => Promise<void>) | undefined> | undefined;
  #kept: (() => void)[] = [];
  #flush: Promise<void> | undefined;
  #longestMs = 0;
  #hasWritten = false;

  private constructor(stateDir: string, database: Libsql.Database) {
    this.path = ledgerPath(stateDir);
    this.processes = new NamedLocks(join(stateDir, 'runs'));
    this.#database = database;
  }

  /** @throws MediactlError `folder`, `receipts_unusable` (1) */
  static async open(stateDir: string): Promise<Ledger> {
    await makeStateFolder(stateDir);
    const path = ledgerPath(stateDir);
    const { default: Database } = await import('libsql');
    let database: Libsql.Database | undefined;
    try {
      // SQLite would make it readable for others.
      await open(path, 'a', 0o600).then((handle) => handle.close());
      database = new Database(path);
      database.exec(`PRAGMA busy_timeout = ${busyMs};`);
      database.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; BEGIN IMMEDIATE;');
      const found = (database.prepare('PRAGMA user_version').get() as { user_version: number })
        .user_version;
      if (found === 0) database.exec(schema);
      database.exec('COMMIT');
      if (found > version) throw new Error('a newer mediactl made it');
    } catch (error) {
      database?.close();
      throw unusable(path, error as Error);
    }
    return new Ledger(stateDir, database);
  }

  all<Row>(sql: string, ...values: Value[]): Row[] {
    return this.#prepared(sql).all(...values) as Row[];
  }

  *each<Row>(sql: string, ...values: Value[]): Generator<Row> {
    for (const row of this.#prepared(sql).iterate(...values)) yield row as Row;
  }

  get<Row>(sql: string, ...values: Value[]): Row | undefined {
    return this.#prepared(sql).get(...values) as Row | undefined;
  }

  /** @returns how many rows it changed */
  write(sql: string, ...values: Value[]): number {
    this.#hasWritten = true;
    return this.#prepared(sql).run(...values).changes;
  }

  /** All or nothing, before or after what other processes do. */
  transaction<T>(work: () => T): T {
    this.#database.exec('BEGIN IMMEDIATE');
    try {
      const result = work();
      this.#database.exec('COMMIT');
      return result;
    } catch (error) {
      try {
        this.#database.exec('ROLLBACK');
      } catch {
        // it never began
      }
      throw error;
    }
  }

  /** Does a piece of work again for a while where another process holds the store. */
  async patiently<T>(work: () => T): Promise<T> {
    for (const deadline = performance.now() + patienceMs; ; ) {
      try {
        return work();
      } catch (error) {
        const isBusy = (error as { code?: string }).code?.startsWith('SQLITE_BUSY');
        if (!isBusy || performance.now() > deadline) throw error;
      }
      await new Promise((resolve) => setTimeout(resolve, pauseMs));
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
    await this.patiently(() => {
      this.#database.exec('PRAGMA synchronous = FULL');
      try {
        this.transaction(() => {
          for (const each of work) each();
        });
      } finally {
        this.#database.exec('PRAGMA synchronous = NORMAL');
      }
    });
    this.#longestMs = Math.min(250, performance.now() - startedAt);
  }

  /** Marks this process as one that lives. */
  async enlist(): Promise<void> {
    this.#release ??= this.processes.take(this.run);
    await this.#release;
  }

  async close(): Promise<void> {
    await this.#flush?.catch(() => {}); // whoever asked for it is told
    const release = await this.#release?.catch(() => undefined);
    if (release) {
      this.write('DELETE FROM claims WHERE run = ?', this.run);
      await release();
    }
    // libsql leaves the log of what was written where others have to read it first.
    if (this.#hasWritten) this.#database.exec('PRAGMA wal_checkpoint(TRUNCATE)');
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

export const ledgerPath = (stateDir: string) => join(stateDir, 'receipts.db');

const unusable = (path: string, underlying: Error) =>
  new MediactlError('what was uploaded before cannot be looked up', {
    code: 'receipts_unusable',
    exitCode: exitCodes.unclassified,
    reason: `${path}: ${underlying.message}`,
    hint: 'fix its permissions; a damaged one can be moved away, but then nothing is known of what was sent',
    underlying,
  });
