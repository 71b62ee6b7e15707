/** What a disk or the store may refuse: `full` where room would help, `unavailable` where time may. */
type StorageFailure = 'full' | 'unavailable';

const fullDisk = new Set(['ENOSPC', 'EDQUOT']);
const refusingDisk = new Set(['EACCES', 'EBUSY', 'EIO', 'EMFILE', 'ENFILE', 'EPERM', 'EROFS']);

/** Primary result codes of SQLite (sqlite.org/rescode.html). */
const sqlite = {
  PERM: 3,
  BUSY: 5,
  LOCKED: 6,
  NOMEM: 7,
  READONLY: 8,
  IOERR: 10,
  CORRUPT: 11,
  FULL: 13,
  CANTOPEN: 14,
  PROTOCOL: 15,
  NOTADB: 26,
} as const;
const known: number[] = Object.values(sqlite);

/** Undefined where the error is of another kind: then it is a defect. */
export function storageFailure(error: unknown): StorageFailure | undefined {
  const result = resultOf(error);
  if (result !== undefined)
    return result === sqlite.FULL ? 'full' : known.includes(result) ? 'unavailable' : undefined;
  const { code = '' } = error as NodeJS.ErrnoException;
  if (fullDisk.has(code)) return 'full';
  return refusingDisk.has(code) ? 'unavailable' : undefined;
}

/** Whether another program holds the store's lock: it may be gone in a moment. */
export function isLocked(error: unknown): boolean {
  const result = resultOf(error);
  return result === sqlite.BUSY || result === sqlite.LOCKED;
}

/** Whether a file is no database, or not a whole one. */
export function isDamaged(error: unknown): boolean {
  const result = resultOf(error);
  return result === sqlite.NOTADB || result === sqlite.CORRUPT;
}

/** Extended codes say more in their upper bits; undefined where it is no error of SQLite. */
function resultOf(error: unknown): number | undefined {
  const { rawCode } = error as { rawCode?: unknown };
  return typeof rawCode === 'number' ? rawCode & 0xff : undefined;
}
