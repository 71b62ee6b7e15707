import { randomInt, randomUUID } from 'node:crypto';
import { lstatSync, readFileSync, renameSync, rmSync, type Stats, statSync } from 'node:fs';
import { link, open, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type Libsql from 'libsql';
import { stateError, stateFailure } from '../../state-error.ts';

const schemaVersion = 1;
/** Maximum size of a database for an integrity check, which would take seconds for a larger one. */
const maxCheckedBytes = 256 * 1024 * 1024;

/**
 * Maps each table to its columns. Rows belong to a service and workspace, not to an API key, so that they stay
 * valid when keys are rotated. They never expire.
 */
const tables = {
  receipts: `id INTEGER PRIMARY KEY AUTOINCREMENT,
    service TEXT NOT NULL, workspace TEXT NOT NULL, folder TEXT NOT NULL, path TEXT NOT NULL,
    size INTEGER NOT NULL, mtime_ns TEXT NOT NULL, blake3 TEXT NOT NULL, verified INTEGER,
    asset TEXT NOT NULL, session TEXT NOT NULL, name TEXT NOT NULL,
    state TEXT NOT NULL, reason TEXT, at TEXT NOT NULL, imported INTEGER NOT NULL DEFAULT 0,
    UNIQUE (service, workspace, folder, path)`,
  replaced: `service TEXT NOT NULL, workspace TEXT NOT NULL, folder TEXT NOT NULL, path TEXT NOT NULL,
    asset TEXT PRIMARY KEY`,
  runs: 'id TEXT PRIMARY KEY, since INTEGER NOT NULL',
  orphans: `service TEXT NOT NULL, asset TEXT NOT NULL, name TEXT NOT NULL, path TEXT NOT NULL,
    at TEXT NOT NULL, guessed INTEGER NOT NULL, PRIMARY KEY (service, asset)`,
  folders: `id INTEGER PRIMARY KEY AUTOINCREMENT,
    service TEXT NOT NULL, workspace TEXT NOT NULL, path TEXT NOT NULL, uid TEXT NOT NULL`,
  claims: 'id TEXT PRIMARY KEY, run TEXT NOT NULL, pid INTEGER NOT NULL',
};

const schema = `
${Object.entries(tables)
  .map(([name, columns]) => `CREATE TABLE ${name} (${columns})${name === 'claims' ? ' WITHOUT ROWID' : ''};`)
  .join('\n')}
CREATE INDEX receipts_by_content ON receipts (service, workspace, size, blake3);
CREATE INDEX receipts_by_asset ON receipts (asset);
CREATE INDEX receipts_pending ON receipts (service, workspace) WHERE state = 'pending';
CREATE INDEX folders_by_path ON folders (service, workspace, path);
PRAGMA user_version = ${schemaVersion};
`;

/** SQL for a trial write. It changes nothing but commits, because a rollback would never reach the disk. */
export const trialWrite = `BEGIN IMMEDIATE; PRAGMA user_version = ${schemaVersion}; COMMIT`;

/** Returns the column names of a table definition, for a SELECT that checks the schema. */
const columnNames = (columns: string) =>
  [...columns.matchAll(/(?:^|,)\s*([a-z]\w*) [A-Z]/g)].map(([, name]) => name).join(', ');

export const ledgerPath = (stateDir: string) => join(stateDir, 'receipts.db');

/** Returns the path of the id file, which shows that a missing database was deleted rather than never created. */
const idPathOf = (path: string) => path.replace(/\.db$/, '.id');

const statIfExists = (path: string): Stats | undefined => statSync(path, { throwIfNoEntry: false });

/** Returns true if the database exists or existed before. @throws MediactlError `state_…` (exit 14) */
export function hasEverExisted(path: string): boolean {
  try {
    return [path, idPathOf(path)].some((each) => statIfExists(each));
  } catch (error) {
    throw stateError(error, path);
  }
}

/**
 * Creates the database if it never existed. It is created under a temporary name first, so that it appears
 * atomically.
 *
 * @throws MediactlError `state_not_a_file`, `state_emptied` (exit 14); system errors
 */
export async function ensureLedgerFile(path: string, Database: typeof Libsql): Promise<void> {
  const idPath = idPathOf(path);
  for (const each of [path, `${path}-wal`, `${path}-shm`, idPath])
    if (statIfExists(each)?.isFile() === false)
      throw stateFailure('state_not_a_file', `${each} is ${describeKind(each)}`);
  const { size } = statIfExists(path) ?? {};
  if (size === 0) throw stateFailure('state_emptied', `${path} is empty`);
  if (size !== undefined) return;
  if (lstatSync(path, { throwIfNoEntry: false }) || statIfExists(idPath) || statIfExists(`${path}-wal`)?.size) {
    if (statIfExists(path)?.size) return; // another process has created it meanwhile
    throw stateFailure('state_emptied', `${path} is missing`);
  }
  const temporary = `${path}.${randomUUID()}`;
  try {
    await open(temporary, 'wx', 0o600).then((handle) => handle.close()); // SQLite would make it readable by others
    const database = new Database(temporary);
    try {
      database.exec(`BEGIN; ${schema} PRAGMA application_id = ${createId()}; COMMIT`);
    } finally {
      database.close();
    }
    await link(temporary, path).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'EEXIST') return rename(temporary, path); // file system without hard links
    });
  } finally {
    for (const each of [temporary, `${temporary}-journal`]) await rm(each, { force: true });
  }
}

/**
 * Checks the version, id and schema of an open database. Creates the id file if it is missing, which is the case
 * for a new database and for a database from an older mediactl.
 *
 * @param hasIntegrityCheck true to run SQLite's integrity check too
 * @throws MediactlError `state_newer`, `state_emptied`, `state_damaged` (exit 14); SQLite and system errors
 */
export async function assertLedger(path: string, database: Libsql.Database, hasIntegrityCheck: boolean): Promise<void> {
  const pragma = (name: string) => (database.prepare(`PRAGMA ${name}`).get() as { [name: string]: unknown })[name];
  const foundVersion = Number(pragma('user_version'));
  if (foundVersion > schemaVersion) throw stateFailure('state_newer', `${path} has version ${foundVersion}`);
  const idPath = idPathOf(path);
  // A power failure might have left the id file empty.
  const id = (statIfExists(idPath) && Number.parseInt(readFileSync(idPath, 'utf8'), 10)) || undefined;
  if (foundVersion === 0 && !id) throw stateFailure('state_damaged', `${path} has no receipts`);
  if (foundVersion === 0 || (id && id !== pragma('application_id')))
    throw stateFailure('state_emptied', `${path} is not the one that was there`);
  for (const [name, columns] of Object.entries(tables)) database.prepare(`SELECT ${columnNames(columns)} FROM ${name}`);
  const isSmall = (statIfExists(path)?.size ?? 0) <= maxCheckedBytes;
  const fault = hasIntegrityCheck && isSmall ? pragma('quick_check') : 'ok';
  if (fault !== 'ok') throw stateFailure('state_damaged', `${path}: ${fault}`);
  if (id) return;
  if (pragma('application_id') === 0) {
    database.exec('BEGIN IMMEDIATE');
    // Another process might have set it meanwhile.
    if (pragma('application_id') === 0) database.exec(`PRAGMA application_id = ${createId()}`);
    database.exec('COMMIT');
  }
  const temporary = `${idPath}.${randomUUID()}`;
  await writeFile(temporary, `${pragma('application_id')}\n`, { mode: 0o600 });
  await rename(temporary, idPath);
}

/** Renames an unusable database. @returns its new path; undefined if there was none */
export function setLedgerAside(path: string): string | undefined {
  let number = 1;
  while (statIfExists(`${path}.unusable-${number}`)) number++;
  const aside = statIfExists(path) && `${path}.unusable-${number}`;
  for (const suffix of ['', '-wal', '-shm'])
    if (statIfExists(`${path}${suffix}`)) renameSync(`${path}${suffix}`, `${aside ?? `${path}.unusable`}${suffix}`);
  rmSync(path, { force: true }); // a dangling link
  rmSync(idPathOf(path), { force: true });
  return aside;
}

const createId = () => randomInt(1, 2 ** 31);

function describeKind(path: string): string {
  const at = statIfExists(path);
  return at?.isDirectory() ? 'a directory' : at?.isFIFO() ? 'a named pipe' : 'a device';
}
