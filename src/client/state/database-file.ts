import { spawnSync } from 'node:child_process';
import { randomInt, randomUUID } from 'node:crypto';
import { lstatSync, readFileSync, realpathSync, renameSync, rmSync, type Stats, statfsSync, statSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { platform } from 'node:os';
import { dirname, join } from 'node:path';
import type { SqlDatabase } from '../../shared/sqlite.ts';
import { openSqlite } from '../load-package.ts';
import { stateError, stateFailure } from '../state-error.ts';
import { createEmptyFile, renameWithoutReplacing, syncFolder, writeStateFile } from '../state-files.ts';
import { createSchema, schemaVersion, tables, upgrades } from './schema.ts';

export const databasePath = (stateDir: string) => join(stateDir, 'receipts.db');

/** Maximum size of a database for an integrity check, which would take seconds for a larger one. */
const maxCheckedBytes = 256 * 1024 * 1024;

/** SQL for a trial write. It changes nothing but commits, because a rollback would never reach the disk. */
export const trialWrite = "BEGIN IMMEDIATE; INSERT INTO marks VALUES ('', 0); DELETE FROM marks WHERE id = ''; COMMIT";

/** Returns the path of the id file, which shows that a missing database was deleted rather than never created. */
const idPathOf = (path: string) => path.replace(/\.db$/, '.id');

const moveAside = 'move it out of the way, then run the same command again';

const statIfExists = (path: string): Stats | undefined => statSync(path, { throwIfNoEntry: false });

/** Returns true if uploads were recorded here, now or in the past. @throws CodedError `state_…` (exit 14) */
export function hasEverExisted(stateDir: string): boolean {
  const path = databasePath(stateDir);
  try {
    if (statIfExists(stateDir)?.isDirectory() === false) throw new Error(`${stateDir} is not a directory`);
    return [path, idPathOf(path)].some((each) => statIfExists(each));
  } catch (error) {
    throw stateError(error, path);
  }
}

/** Linux `statfs` types of file systems that other machines can write to: NFS, SMB 1 to 3, AFS, Ceph and 9P. */
const networkTypes = new Set([0x6969, 0x517b, 0xff534d42, 0xfe534d42, 0x5346414f, 0x00c36400, 0x01021997]);

/** Returns true if mount(8) of macOS shows a folder on a network file system. The numbers of `statfs` vary there. */
export function isOnNetworkMount(folder: string, mounts: string): boolean {
  const all = [...mounts.matchAll(/ on (\/.*) \((\w+)/g)].map(([, point = '', type = '']) => ({ point, type }));
  const above = all.filter(({ point }) => `${folder}/`.startsWith(point.replace(/\/?$/, '/')));
  const [nearest] = above.sort((a, b) => b.point.length - a.point.length);
  return /^(smbfs|nfs|afpfs|webdav)$/.test(nearest?.type ?? '');
}

/** @throws CodedError `state_unusable` (exit 14) on a network file system, where SQLite's WAL is unsafe */
export function assertLocalFileSystem(stateDir: string, { type } = statfsSync(stateDir)): void {
  const listMounts = () => spawnSync('/sbin/mount', { encoding: 'utf8', timeout: 2_000 }).stdout ?? '';
  const isMac = platform() === 'darwin';
  if (isMac ? isOnNetworkMount(realpathSync.native(stateDir), listMounts()) : networkTypes.has(type >>> 0))
    throw stateFailure('state_file_system', `${stateDir} is on a network file system, where SQLite is not safe`);
}

/**
 * Creates the database if it never existed. It is created under a temporary name first, so that it appears
 * atomically.
 *
 * @throws CodedError `state_unusable` (exit 14); system errors
 */
export async function ensureDatabaseFile(path: string): Promise<void> {
  const idPath = idPathOf(path);
  for (const each of [path, `${path}-wal`, `${path}-shm`, idPath])
    if (statIfExists(each)?.isFile() === false)
      throw stateFailure('state_unusable', `${each} is ${describeKind(each)}`, undefined, moveAside);
  const { size } = statIfExists(path) ?? {};
  if (size === 0) throw stateFailure('state_missing', `${path} is empty`);
  if (size !== undefined) return;
  if (lstatSync(path, { throwIfNoEntry: false }) || statIfExists(idPath) || statIfExists(`${path}-wal`)?.size) {
    if (statIfExists(path)?.size) return; // another process has created it meanwhile
    throw stateFailure('state_missing', `${path} is missing`);
  }
  const temporary = `${path}.${randomUUID()}`;
  try {
    await createEmptyFile(temporary);
    const database = await openSqlite(temporary);
    try {
      database.exec(`BEGIN; ${createSchema}`);
      database.exec(`PRAGMA application_id = ${createId()}; COMMIT`);
    } finally {
      database.close();
    }
    await renameWithoutReplacing(temporary, path).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'EEXIST') throw error; // another process has created it meanwhile
    });
    await syncFolder(dirname(path)); // so that a power failure does not leave a write-ahead log alone
  } finally {
    for (const each of [temporary, `${temporary}-journal`]) await rm(each, { force: true });
  }
}

const pragma = (database: SqlDatabase, name: string) =>
  (database.prepare(`PRAGMA ${name}`).get() as { [name: string]: unknown })[name];

/**
 * Checks the version, id and schema of an open database. Creates the id file if it is missing, as for a new database.
 *
 * @param hasIntegrityCheck true to run SQLite's integrity check too
 * @throws CodedError `state_unusable` (exit 14); SQLite and system errors
 */
export async function assertDatabase(path: string, database: SqlDatabase, hasIntegrityCheck: boolean): Promise<void> {
  const foundVersion = Number(pragma(database, 'user_version'));
  if (foundVersion > schemaVersion) throw stateFailure('state_newer', `${path} has format version ${foundVersion}`);
  const idPath = idPathOf(path);
  // A power failure might have left the id file empty.
  const id = (statIfExists(idPath) && Number.parseInt(readFileSync(idPath, 'utf8'), 10)) || undefined;
  if (foundVersion === 0 && !id) throw stateFailure('state_damaged', `${path} has no receipts`);
  if (foundVersion === 0 || (id && id !== pragma(database, 'application_id')))
    throw stateFailure('state_missing', `${path} was replaced by another database`);
  const isSmall = (statIfExists(path)?.size ?? 0) <= maxCheckedBytes;
  const fault = hasIntegrityCheck && isSmall ? pragma(database, 'quick_check') : 'ok';
  if (fault !== 'ok') throw stateFailure('state_damaged', `${path}: ${fault}`);
  if (foundVersion in upgrades) upgradeSchema(database);
  for (const [name, columns] of Object.entries(tables)) database.prepare(`SELECT ${columnsOf(columns)} FROM ${name}`);
  if (id) return;
  if (pragma(database, 'application_id') === 0) {
    database.exec('BEGIN IMMEDIATE');
    // Another process might have set it meanwhile.
    if (pragma(database, 'application_id') === 0) database.exec(`PRAGMA application_id = ${createId()}`);
    database.exec('COMMIT');
  }
  await writeStateFile(idPath, `${pragma(database, 'application_id')}\n`);
}

/** Adds what this version added to the schema, unless another process has added it meanwhile. */
function upgradeSchema(database: SqlDatabase): void {
  database.exec('BEGIN IMMEDIATE');
  const sql = upgrades[Number(pragma(database, 'user_version'))];
  if (sql !== undefined) database.exec(`${sql} PRAGMA user_version = ${schemaVersion};`);
  database.exec('COMMIT');
}

/** Returns the column names of a table definition, for a SELECT that checks the schema. */
const columnsOf = (definition: string) =>
  [...definition.matchAll(/(?:^|,)\s*([a-z]\w*) [A-Z]/g)].map(([, name]) => name).join(', ');

/** Renames an unusable database. @returns its new path; undefined if there was none */
export function setDatabaseAside(path: string): string | undefined {
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
