import { join } from 'node:path';
import Database from 'libsql';
import { isDamaged, storageFailure } from '../storage-failure.ts';
import { steps } from './schema.ts';

export type Value = string | number | null;

/**
 * SQLite busy timeout. Calls block the event loop, so it is short; after it they throw SQLITE_BUSY.
 */
const busyMs = 250;

/** The SQLite database of a sandbox (libsql). Removes the driver's `_metadata` from rows. */
export class Store {
  readonly #database: Database.Database;
  readonly #statements = new Map<string, Database.Statement>();

  /**
   * @throws Error with a one-line message if `sandbox.db` is not a sandbox database; the file stays
   * unchanged
   */
  constructor(dataDir: string) {
    const path = join(dataDir, 'sandbox.db');
    this.#database = new Database(path);
    try {
      this.#database.exec(`PRAGMA busy_timeout = ${busyMs};`);
      const done = this.#stepsDone(path);
      this.#database.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL;');
      this.#migrate(done);
    } catch (error) {
      this.#database.close();
      throw error;
    }
  }

  all<Row>(sql: string, ...values: Value[]): Row[] {
    return (this.#prepared(sql).all(...values) as Row[]).map(stripped);
  }

  get<Row>(sql: string, ...values: Value[]): Row | undefined {
    const row = this.#prepared(sql).get(...values) as Row | undefined;
    return row && stripped(row);
  }

  run(sql: string, ...values: Value[]): number {
    return this.#prepared(sql).run(...values).changes;
  }

  /**
   * Returns a token that changes with every write to the database, by any connection; for cache
   * invalidation.
   */
  version(): string {
    const mine = this.get<{ n: number }>('SELECT total_changes() AS n');
    const others = this.get<{ data_version: number }>('PRAGMA data_version');
    return `${mine?.n} ${others?.data_version}`;
  }

  /** Runs `work` in a transaction; rolls back if it throws. */
  transaction(work: () => void): void {
    this.#database.exec('BEGIN IMMEDIATE');
    try {
      work();
      this.#database.exec('COMMIT');
    } catch (error) {
      // A full disk already rolled back; a second ROLLBACK would hide the cause.
      if (this.#database.inTransaction) this.#database.exec('ROLLBACK');
      throw error;
    }
  }

  /**
   * Closes the database. Checkpoints the WAL first if the disk has space, so that copying the file
   * copies all data.
   */
  close(): void {
    try {
      this.#database.exec('PRAGMA wal_checkpoint(TRUNCATE);');
    } catch (error) {
      if (!storageFailure(error)) throw error; // the data stays in the WAL
    } finally {
      this.#database.close();
    }
  }

  /**
   * Returns the number of applied migrations. First checks, without writing, that the database is a
   * sandbox's.
   */
  #stepsDone(path: string): number {
    const names = this.#tableNames(path);
    const done = this.get<{ user_version: number }>('PRAGMA user_version')?.user_version ?? 0;
    if (done > steps.length)
      throw new Error(
        `${path} was made by a newer mediactl: it is of version ${done}, and ${steps.length} is the newest known`,
      );
    if (names.length > 0 && !names.includes('assets'))
      throw new Error(`${path} is a database of another program`);
    return done;
  }

  #tableNames(path: string): string[] {
    try {
      const tables = this.all<{ name: string }>(
        "SELECT name FROM sqlite_master WHERE type = 'table'",
      );
      return tables.map(({ name }) => name);
    } catch (error) {
      if (!isDamaged(error)) throw error;
      throw new Error(`${path} is not a database, or is damaged`);
    }
  }

  #migrate(done: number): void {
    steps.slice(done).forEach((step, at) => {
      this.transaction(() =>
        this.#database.exec(`${step} PRAGMA user_version = ${done + at + 1};`),
      );
    });
  }

  #prepared(sql: string): Database.Statement {
    const known = this.#statements.get(sql);
    if (known) return known;
    const statement = this.#database.prepare(sql);
    this.#statements.set(sql, statement);
    return statement;
  }
}

function stripped<Row>(row: Row): Row {
  delete (row as { _metadata?: unknown })._metadata;
  return row;
}
