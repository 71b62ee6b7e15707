import { join } from 'node:path';
import Database from 'libsql';

/** Error for a data folder that another sandbox process has locked. */
export class FolderLockedError extends Error {}

/**
 * Locks a data folder against a second process. Uses SQLite's exclusive file lock, which the system
 * releases when the process dies.
 *
 * @returns a function that releases the lock
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
