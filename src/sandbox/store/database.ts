import { join } from 'node:path';
import Database from 'libsql';
import { isDamaged, storageFailure } from '../storage-failure.ts';
import { steps } from './schema.ts';

export type Value = string | number | null;

/**
 * How long a call waits for another program's lock. Nothing else happens meanwhile, so it is short:
 * past it, the caller hears SQLITE_BUSY.
 */
const busyMs = 250;

/** The store: SQLite through libsql. Rows come without the driver's own `_metadata`. */
export class Store {
  readonly #database: Database.Database;
  readonly #statements = new Map<string, Database.Statement>();

  /** @throws Error in one line where `sandbox.db` is no store of ours; the file stays as it is */
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

  /** Another one after any change to the database, by this connection or another. */
  version(): string {
    const mine = this.get<{ n: number }>('SELECT total_changes() AS n');
    const others = this.get<{ data_version: number }>('PRAGMA data_version');
    return `${mine?.n} ${others?.data_version}`;
  }

  /** All or nothing. */
  transaction(work: () => void): void {
    this.#database.exec('BEGIN IMMEDIATE');
    try {
      work();
      this.#database.exec('COMMIT');
    } catch (error) {
      // A full disk has rolled it back already; a second time would hide why.
      if (this.#database.inTransaction) this.#database.exec('ROLLBACK');
      throw error;
    }
  }

  /** With everything in the one file, where the disk has room for it: a copy of that is a copy. */
  close(): void {
    try {
      this.#database.exec('PRAGMA wal_checkpoint(TRUNCATE);');
    } catch (error) {
      if (!storageFailure(error)) throw error; // what is in the WAL stays there
    } finally {
      this.#database.close();
    }
  }

  /** How many steps of the schema it has. Nothing is written before that is known. */
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
