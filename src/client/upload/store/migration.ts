import { existsSync, lstatSync, readdirSync, readFileSync } from 'node:fs';
import { readdir, rm, rmdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { rollBack, type SqlDatabase } from '../../../contract/sqlite.ts';
import { NamedLocks, withLock } from '../../lock.ts';
import { stateFailure } from '../../state-error.ts';
import { createEmptyFile } from '../../state-files.ts';
import { backupPathOf, createIndexes, createTable, databasePath, pageFolder, schemaVersion } from './schema.ts';
import { assetOf, isCorrupt, parseEntry } from './upload-entry.ts';

/*
 * Migration from version 1, of mediactl 0.1.0: a JSON file (page) for each unfinished upload, and tables of receipts,
 * orphans and locks. Delete this file once no state folder of that version is left.
 */

const lockPathOf = (path: string) => `${path}.migration.lock`;

const migrationTimeoutMs = 60_000;

/** SQL that migrates version 1. Receipts keep their number, so that the start marks of unfinished runs stay valid. */
const migrateFrom1 = `
${createTable('uploads')}
INSERT INTO uploads (seq, state, service, workspace, folder, path, size, mtime_ns, blake3, verified, asset, session,
    name, processing, reason, at, imported)
  SELECT id, 'done', service, workspace, folder, path, size, mtime_ns, blake3, verified, asset, session,
    name, state, reason, at, imported FROM receipts;
INSERT INTO uploads (state, service, workspace, folder, path, asset)
  SELECT 'replaced', service, workspace, folder, path, asset FROM replaced;
INSERT INTO uploads (state, service, path, asset, name, at, guessed)
  SELECT 'failed', service, path, asset, name, at, guessed FROM orphans;
DROP TABLE receipts; DROP TABLE replaced; DROP TABLE orphans; DROP TABLE claims;
${createIndexes}
PRAGMA user_version = ${schemaVersion};`;

/** Imports the pages as rows, within the transaction that creates or migrates the database. They stay as they are. */
export function importPages(database: SqlDatabase, stateDir: string): void {
  const insert = database.prepare('INSERT INTO uploads (id, state, asset, entry) VALUES (?, ?, ?, ?)');
  const folder = pageFolder(stateDir);
  const names = existsSync(folder) ? readdirSync(folder).filter((name) => name.endsWith('.json')) : [];
  for (const name of names) {
    const id = name.slice(0, -'.json'.length);
    const path = join(folder, name);
    // A damaged page is imported as it is, so that it is reported, and its creation counts as unconfirmed.
    const text = lstatSync(path).isFile() ? readFileSync(path, 'utf8').trim() : '';
    const entry = parseEntry(text, id);
    insert.run(id, isCorrupt(entry) ? 'intended' : entry.state, assetOf(entry) ?? null, text);
  }
  // A process that was killed before it removed the page of a finished upload.
  database.exec(
    "DELETE FROM uploads WHERE state <> 'done' AND asset IN (SELECT asset FROM uploads WHERE state = 'done')",
  );
}

/**
 * Migrates a database in one transaction, and leaves a copy of it. A crash before the commit changes nothing.
 *
 * @param isAnyRunning returns true if any process is uploading
 * @throws MediactlError `state_locked` if an older mediactl is uploading, which knows only its own version
 */
export async function migrate(
  path: string,
  database: SqlDatabase,
  isAnyRunning: () => Promise<boolean>,
): Promise<void> {
  const lock = lockPathOf(path);
  const busy = () => stateFailure('state_locked', `${lock} is locked`);
  await withLock({ path: lock, waitMs: migrationTimeoutMs, busy }, async () => {
    const { user_version } = database.prepare('PRAGMA user_version').get() as { user_version: number };
    if (user_version === schemaVersion) return; // another process has migrated it meanwhile
    if (database.prepare("SELECT 1 FROM sqlite_master WHERE name = 'claims'").get() === undefined) {
      // An older mediactl that started during the migration has set the version back.
      database.exec(`PRAGMA user_version = ${schemaVersion}`);
      return;
    }
    const assertNoneRuns = async () => {
      if (await isAnyRunning())
        throw stateFailure('state_locked', 'an older mediactl is uploading; wait for it to finish');
    };
    await assertNoneRuns();
    const backup = backupPathOf(path);
    await rm(backup, { force: true }); // from a migration that was killed
    await createEmptyFile(backup);
    database.prepare('VACUUM INTO ?').run(backup);
    database.exec('BEGIN IMMEDIATE');
    try {
      await assertNoneRuns(); // one might have started while the copy was made; from now on, none can
      database.exec(migrateFrom1);
      importPages(database, dirname(path));
      database.exec('COMMIT');
    } catch (error) {
      rollBack(database);
      throw error;
    }
  });
  await rm(lock, { force: true });
}

/**
 * Removes what a migration left: the copy of the database, the imported pages, and what version 1 was spooling when it
 * was killed. Pages that version 1 could not read, and renamed for that, stay.
 */
export async function removeOldFiles(stateDir: string): Promise<void> {
  const [folder, spool] = [pageFolder(stateDir), join(stateDir, 'spool')];
  for (const name of await readdir(folder).catch(() => []))
    if (/\.json(\.tmp)?$/.test(name)) await rm(join(folder, name));
  await rmdir(folder).catch(() => {}); // others keep it
  await new NamedLocks(spool).removeStale((name) => rm(join(spool, `${name}.part`), { force: true }));
  const path = databasePath(stateDir);
  for (const each of [backupPathOf(path), lockPathOf(path)]) await rm(each, { force: true });
}
