import { join } from 'node:path';
import { withoutUndefined } from '../../shared/json-values.ts';
import {
  createPreparer,
  type OpenDatabase,
  rollBack,
  type SqlDatabase,
  type SqlStatement,
} from '../../shared/sqlite.ts';
import { classifyStorageFailure, isDamaged } from '../storage-failure.ts';
import { createSchema, schemaVersion } from './schema.ts';

export type ColumnValue = string | number | null;
type Columns = Record<string, ColumnValue>;

/** SQLite busy timeout, after which calls fail. It is short, since calls block the event loop. */
const busyTimeoutMs = 250;

/** A sandbox's SQLite database. On Node.js 20, libsql adds a `_metadata` to rows. */
export class SandboxStore {
  readonly #database: SqlDatabase;
  readonly #prepare: (sql: string) => SqlStatement;

  /** @throws Error with a one-line message if `sandbox.db` is not a sandbox's database, which is left unchanged */
  constructor(dataDir: string, openDatabase: OpenDatabase) {
    const path = join(dataDir, 'sandbox.db');
    this.#database = openDatabase(path);
    this.#prepare = createPreparer(this.#database);
    try {
      this.#database.exec(`PRAGMA busy_timeout = ${busyTimeoutMs};`);
      const isNew = this.#checkDatabase(path);
      this.#database.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL;');
      if (isNew) this.transaction(() => this.#database.exec(createSchema));
    } catch (error) {
      this.#database.close();
      throw error;
    }
  }

  all<Row>(sql: string, ...values: ColumnValue[]): Row[] {
    return this.#prepare(sql).all(...values) as Row[];
  }

  uids(sql: string, ...values: ColumnValue[]): string[] {
    return this.all<{ uid: string }>(sql, ...values).map(({ uid }) => uid);
  }

  get<Row>(sql: string, ...values: ColumnValue[]): Row | undefined {
    return this.#prepare(sql).get(...values) as Row | undefined;
  }

  run(sql: string, ...values: ColumnValue[]): number {
    return this.#prepare(sql).run(...values).changes;
  }

  /** Inserts a row. The column names are not escaped, so they must not come from a request. */
  insert(table: string, row: Columns): void {
    const names = Object.keys(row);
    const places = names.map(() => '?').join(', ');
    this.run(`INSERT INTO ${table} (${names.join(', ')}) VALUES (${places})`, ...Object.values(row));
  }

  /** Updates the given columns of the row with a uid. The column names must not come from a request. */
  update(table: string, uid: string, columns: Partial<Columns>): void {
    const changes = withoutUndefined(columns) as Columns;
    const assignments = Object.keys(changes).map((name) => `${name} = ?`);
    this.run(`UPDATE ${table} SET ${assignments.join(', ')} WHERE uid = ?`, ...Object.values(changes), uid);
  }

  /** Returns a token for cache invalidation that changes with every write to the database by any connection. */
  changeToken(): string {
    const mine = this.get<{ n: number }>('SELECT total_changes() AS n');
    const others = this.get<{ data_version: number }>('PRAGMA data_version');
    return `${mine?.n} ${others?.data_version}`;
  }

  transaction(work: () => void): void {
    this.#database.exec('BEGIN IMMEDIATE');
    try {
      work();
      this.#database.exec('COMMIT');
    } catch (error) {
      rollBack(this.#database);
      throw error;
    }
  }

  /** Closes the database after a WAL checkpoint, if the disk has space, so that a copy of the file has all data. */
  close(): void {
    try {
      this.#database.exec('PRAGMA wal_checkpoint(TRUNCATE);');
    } catch (error) {
      if (!classifyStorageFailure(error)) throw error; // the data stays in the WAL
    } finally {
      this.#database.close();
    }
  }

  /**
   * Checks the database without writing.
   *
   * @returns true if it is empty
   * @throws Error if it is not a sandbox's, or of another version of mediactl
   */
  #checkDatabase(path: string): boolean {
    const names = this.#tableNames(path);
    const version = this.get<{ user_version: number }>('PRAGMA user_version')?.user_version ?? 0;
    if (version !== 0 && version !== schemaVersion) {
      const origin = version > schemaVersion ? 'a newer' : 'an earlier';
      throw new Error(`${path} was created by ${origin} mediactl: its version is ${version}, not ${schemaVersion}`);
    }
    if (names.length > 0 && !names.includes('assets')) throw new Error(`${path} belongs to another program`);
    return names.length === 0;
  }

  #tableNames(path: string): string[] {
    try {
      const tables = this.all<{ name: string }>("SELECT name FROM sqlite_master WHERE type = 'table'");
      return tables.map(({ name }) => name);
    } catch (error) {
      if (!isDamaged(error)) throw error;
      throw new Error(`${path} is not a database or is corrupt`);
    }
  }
}

export abstract class StoreTable {
  protected readonly store: SandboxStore;

  constructor(store: SandboxStore) {
    this.store = store;
  }
}
