import { mkdirSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { loadSqlite, type OpenDatabase } from '../../shared/sqlite.ts';
import { ArgumentError } from '../options.ts';
import { SandboxStore } from './sandbox-store.ts';

/** Thrown if another sandbox process has locked the data folder. */
export class FolderLockedError extends Error {}

/**
 * Opens the database of a data folder, which is created if it does not exist, and locks the folder.
 * @throws ArgumentError if the folder has files but no database, FolderLockedError if another process has locked it
 */
export async function openDataFolder(dataDir: string): Promise<{ store: SandboxStore; close(): void }> {
  assertUsableDataFolder(dataDir);
  mkdirSync(dataDir, { recursive: true, mode: 0o700 });
  const openDatabase = await loadSqlite();
  const unlock = lockFolder(dataDir, openDatabase);
  try {
    const store = new SandboxStore(dataDir, openDatabase);
    const close = () => {
      store.close();
      unlock();
    };
    return { store, close };
  } catch (error) {
    unlock();
    throw error;
  }
}

/** Locks a folder with SQLite's file lock, which the system releases when the process dies. @returns the release */
function lockFolder(dataDir: string, openDatabase: OpenDatabase): () => void {
  const lock = openDatabase(join(dataDir, 'lock'));
  try {
    lock.exec('BEGIN EXCLUSIVE');
  } catch (error) {
    lock.close();
    if ((error as { code?: string }).code !== 'SQLITE_BUSY') throw error;
    throw new FolderLockedError(`another sandbox is already running in ${dataDir}`);
  }
  return () => {
    lock.exec('ROLLBACK');
    lock.close();
  };
}

/** Names of files that a sandbox can leave if it is killed before it creates its database. */
const ownFileNames = [
  ...['sandbox.log', 'sandbox.log.1', 'lock', 'lock-journal', 'secret', 'secret.tmp', 'uploads', 'media'],
  ...['server.json', 'server.json.tmp', 'credentials.json', 'credentials.json.tmp'],
];

/** @throws ArgumentError if a folder without database contains other files, since `sandbox reset` would delete them */
function assertUsableDataFolder(dataDir: string): void {
  const names = entries(dataDir);
  if (names.includes('sandbox.db')) return;
  const isForeign = (name: string) =>
    !ownFileNames.includes(name) || (['uploads', 'media'].includes(name) && entries(join(dataDir, name)).length > 0);
  const hasForeignFiles = names.some(isForeign);
  if (hasForeignFiles && names.includes('credentials.json') && names.includes('media'))
    throw new ArgumentError(
      `${dataDir} contains a sandbox whose sandbox.db is missing; restore it, or use an empty directory`,
    );
  if (hasForeignFiles)
    throw new ArgumentError(`${dataDir} contains other files and no sandbox; use an empty directory`);
}

function entries(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return [];
    throw error;
  }
}
