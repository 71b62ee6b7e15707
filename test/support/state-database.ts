import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { SqlDatabase } from '../../src/shared/sqlite.ts';
import { openDatabase } from './sqlite.ts';

/* Opens the database of a state folder as another program, to inspect or corrupt it. */

/** A stored entry of an unfinished upload. */
// biome-ignore lint/suspicious/noExplicitAny: tests assert on its shape
type StoredEntry = any;

const isUnfinished = "state IN ('planned', 'intended', 'open', 'whole')";

export const databaseFile = (stateDir: string) => join(stateDir, 'receipts.db');

function withDatabase<T>(stateDir: string, work: (database: SqlDatabase) => T): T {
  const database = openDatabase(databaseFile(stateDir));
  try {
    return work(database);
  } finally {
    database.close();
  }
}

/** Returns the rows of a query; none if there is no database. */
// biome-ignore lint/suspicious/noExplicitAny: tests assert on its shape
export function queryState(stateDir: string, sql: string, ...values: (string | number | null | Uint8Array)[]): any[] {
  if (!existsSync(databaseFile(stateDir))) return [];
  return withDatabase(stateDir, (database) => database.prepare(sql).all(...values));
}

/** Returns the whole content of the database: its schema and all rows. */
export function databaseContents(stateDir: string): unknown[] {
  const schema = queryState(stateDir, 'SELECT name, type, sql FROM sqlite_schema ORDER BY name');
  const tables = schema.filter(({ type }) => type === 'table');
  return [
    queryState(stateDir, 'SELECT * FROM pragma_user_version, pragma_application_id'),
    schema,
    tables.map((table) => queryState(stateDir, `SELECT * FROM ${table.name}`)),
  ];
}

export function changeState(stateDir: string, sql: string, ...values: (string | number | null | Uint8Array)[]): void {
  withDatabase(stateDir, (database) => database.prepare(sql).run(...values));
}

/** Returns the stored text of each unfinished upload by id, without mere locks. */
export const storedUploadTexts = (stateDir: string): Map<string, string> =>
  new Map(
    queryState(stateDir, `SELECT id, entry FROM uploads WHERE ${isUnfinished} AND entry IS NOT NULL`).map(
      ({ id, entry }) => [id, entry],
    ),
  );

/** Returns the unfinished uploads, parsed. */
export const readStoredUploads = (stateDir: string): StoredEntry[] =>
  [...storedUploadTexts(stateDir).values()].map((text) => JSON.parse(text));

/** Replaces the stored text of an upload, or stores it if there is none. */
export function writeStoredUploadText(stateDir: string, id: string, text: string): void {
  withDatabase(stateDir, (database) => {
    const { changes } = database.prepare(`UPDATE uploads SET entry = ? WHERE id = ? AND ${isUnfinished}`).run(text, id);
    if (changes === 0)
      database.prepare("INSERT INTO uploads (id, state, entry) VALUES (?, 'intended', ?)").run(id, text);
  });
}

/** Changes the parsed entry of an upload. */
export function changeStoredUpload(stateDir: string, id: string, change: (entry: StoredEntry) => StoredEntry): void {
  const entry = change(JSON.parse(storedUploadTexts(stateDir).get(id) ?? '{}'));
  withDatabase(stateDir, (database) =>
    database
      .prepare(`UPDATE uploads SET entry = ?, state = ? WHERE id = ? AND ${isUnfinished}`)
      .run(JSON.stringify(entry), entry.state, id),
  );
}

/**
 * Makes writes to `uploads` fail, as on a broken disk, if the new row matches an SQL condition.
 *
 * @returns a function that lets them succeed again
 */
export function failWrites(stateDir: string, condition: string): () => void {
  const fail = "SELECT RAISE(ABORT, 'a write that a test lets fail')";
  changeState(stateDir, `CREATE TRIGGER fail_writes BEFORE UPDATE ON uploads WHEN ${condition} BEGIN ${fail}; END`);
  return () => changeState(stateDir, 'DROP TRIGGER fail_writes');
}
