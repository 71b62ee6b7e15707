/** Cause of a storage failure: `full` if freeing space helps, `unavailable` if retrying later might help. */
type StorageFailure = 'full' | 'unavailable';

const fullDiskCodes = new Set(['ENOSPC', 'EDQUOT']);
const unavailableCodes = new Set(['EACCES', 'EBUSY', 'EIO', 'EMFILE', 'ENFILE', 'EPERM', 'EROFS']);

/** Primary result codes of SQLite (sqlite.org/rescode.html). */
const sqlite = { BUSY: 5, LOCKED: 6, CORRUPT: 11, FULL: 13, NOTADB: 26 };
const otherFailures = { PERM: 3, NOMEM: 7, READONLY: 8, IOERR: 10, CANTOPEN: 14, PROTOCOL: 15 };
const storageResultCodes = Object.values({ ...sqlite, ...otherFailures });

/** Classifies an error of the disk or the database; returns undefined for others, which are defects of the sandbox. */
export function classifyStorageFailure(error: unknown): StorageFailure | undefined {
  const result = resultOf(error);
  if (result !== undefined)
    return result === sqlite.FULL ? 'full' : storageResultCodes.includes(result) ? 'unavailable' : undefined;
  const { code = '' } = error as NodeJS.ErrnoException;
  if (fullDiskCodes.has(code)) return 'full';
  return unavailableCodes.has(code) ? 'unavailable' : undefined;
}

/** Returns true if another process holds the database lock, so that a retry usually succeeds soon. */
export function isLocked(error: unknown): boolean {
  const result = resultOf(error);
  return result === sqlite.BUSY || result === sqlite.LOCKED;
}

/** Returns true if an error means that a database file is corrupt or is not a database at all. */
export function isDamaged(error: unknown): boolean {
  const result = resultOf(error);
  return result === sqlite.NOTADB || result === sqlite.CORRUPT;
}

/** Returns the primary result code of an SQLite error, without the extended bits; undefined for other errors. */
function resultOf(error: unknown): number | undefined {
  const { rawCode } = error as { rawCode?: unknown };
  return typeof rawCode === 'number' ? rawCode & 0xff : undefined;
}
