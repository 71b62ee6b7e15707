import type { DatabaseSync } from 'node:sqlite';

type Value = string | number | null | Uint8Array;

export type SqlStatement = {
  all(...values: Value[]): unknown[];
  get(...values: Value[]): unknown;
  run(...values: Value[]): { changes: number };
};

/** An open SQLite database. Errors have SQLite's result code (sqlite.org/rescode.html) as `code`, such as SQLITE_BUSY, and as the number `rawCode`. */
export type SqlDatabase = {
  exec(sql: string): void;
  prepare(sql: string): SqlStatement;
  close(): void;
};

/** Returns a function that prepares each statement of a database once. */
export function createPreparer(database: SqlDatabase): (sql: string) => SqlStatement {
  const statements = new Map<string, SqlStatement>();
  return (sql) => {
    const statement = statements.get(sql) ?? database.prepare(sql);
    statements.set(sql, statement);
    return statement;
  };
}

/** Opens a database, and creates the file if it is missing. `:memory:` is a database without a file. */
export type OpenDatabase = (path: string) => SqlDatabase;

/**
 * Loads SQLite: that of Node.js 22.13 and later, otherwise libsql, which reads freed memory each time it closes a
 * database (tursodatabase/libsql#2251).
 *
 * @throws Error if Node.js has no SQLite and libsql is not installed
 */
export async function loadSqlite(): Promise<OpenDatabase> {
  const builtIn = await import('node:sqlite').catch(() => undefined);
  if (builtIn) return (path) => builtInDatabase(new builtIn.DatabaseSync(path, options));
  const { default: Libsql } = await import('libsql');
  return (path) => new Libsql(path) as unknown as SqlDatabase;
}

/** Hides the warning of Node.js 22 and 24 that their SQLite is experimental. @param host the `process` of the program */
export function hideSqliteWarning(host: Pick<NodeJS.Process, 'emitWarning'>): void {
  const { emitWarning } = host;
  host.emitWarning = ((warning: string | Error, ...rest: []) => {
    if (!String(warning).startsWith('SQLite is an experimental feature')) emitWarning.call(host, warning, ...rest);
  }) as typeof emitWarning;
}

/** Makes the database of Node.js behave as SQLite does by default. */
const options = { enableForeignKeyConstraints: false, enableDoubleQuotedStringLiterals: true };

const builtInDatabase = (database: DatabaseSync): SqlDatabase => ({
  exec: (sql) => withCode(() => database.exec(sql)),
  prepare: (sql) => {
    const statement = withCode(() => database.prepare(sql));
    return {
      all: (...values) => withCode(() => statement.all(...values)),
      get: (...values) => withCode(() => statement.get(...values)),
      run: (...values) => withCode(() => ({ changes: Number(statement.run(...values).changes) })),
    };
  },
  close: () => database.close(),
});

/** Names of SQLite's result codes, and of the extended ones that show what a file system lacks. */
const resultCodes: Record<number, string> = {
  ...{ 1: 'ERROR', 3: 'PERM', 5: 'BUSY', 6: 'LOCKED', 7: 'NOMEM', 8: 'READONLY', 10: 'IOERR', 11: 'CORRUPT' },
  ...{ 13: 'FULL', 14: 'CANTOPEN', 15: 'PROTOCOL', 17: 'SCHEMA', 18: 'TOOBIG', 19: 'CONSTRAINT', 20: 'MISMATCH' },
  ...{ 21: 'MISUSE', 22: 'NOLFS', 23: 'AUTH', 26: 'NOTADB' },
  ...{ 2058: 'IOERR_UNLOCK', 3850: 'IOERR_LOCK', 5130: 'IOERR_SHMLOCK', 5386: 'IOERR_SHMMAP' },
};

/** Names the result code of a failed call as libsql does. */
function withCode<T>(call: () => T): T {
  try {
    return call();
  } catch (error) {
    const { errcode } = error as { errcode?: number };
    const name = errcode === undefined ? undefined : (resultCodes[errcode] ?? resultCodes[errcode & 0xff]);
    throw name === undefined ? error : Object.assign(error as Error, { code: `SQLITE_${name}`, rawCode: errcode });
  }
}

/** Rolls a transaction back, unless SQLite has already done so, as on a full disk. */
export function rollBack(database: SqlDatabase): void {
  try {
    database.exec('ROLLBACK');
  } catch {
    // there is no transaction any more
  }
}
