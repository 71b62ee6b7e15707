import { join } from 'node:path';
import Database from 'libsql';

/** Another server has it. */
export class FolderTaken extends Error {}

/**
 * Holds a data folder against a second server, which would write over the first. It is SQLite's own
 * lock on a file, so a killed server holds nothing.
 *
 * @returns the function that releases it
 */
export function lockFolder(dataDir: string): () => void {
  const lock = new Database(join(dataDir, 'lock'));
  try {
    lock.exec('BEGIN EXCLUSIVE');
  } catch (error) {
    lock.close();
    if ((error as { code?: string }).code !== 'SQLITE_BUSY') throw error;
    throw new FolderTaken(`another sandbox runs on ${dataDir}`);
  }
  return () => {
    lock.exec('ROLLBACK');
    lock.close();
  };
}
