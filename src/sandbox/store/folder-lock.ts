import { join } from 'node:path';
import Database from 'libsql';

/** Thrown if another sandbox process has locked the data folder. */
export class FolderLockedError extends Error {}

/**
 * Locks a data folder, so that only one sandbox process uses it. Uses SQLite's exclusive file lock, which the
 * operating system releases when the process dies.
 *
 * @returns a function that releases the lock
 * @throws FolderLockedError if another process has locked the folder
 */
export function lockFolder(dataDir: string): () => void {
  const lock = new Database(join(dataDir, 'lock'));
  try {
    lock.exec('BEGIN EXCLUSIVE');
  } catch (error) {
    lock.close();
    if ((error as { code?: string }).code !== 'SQLITE_BUSY') throw error;
    throw new FolderLockedError(`another sandbox runs on ${dataDir}`);
  }
  return () => {
    lock.exec('ROLLBACK');
    lock.close();
  };
}
