/** What a disk or the store may refuse: `full` where room would help, `unavailable` where time may. */
type StorageFailure = 'full' | 'unavailable';

const full = new Set(['ENOSPC', 'EDQUOT', 'SQLITE_FULL']);
const unavailable = new Set(['EACCES', 'EBUSY', 'EIO', 'EMFILE', 'ENFILE', 'EPERM', 'EROFS']);
/** Result codes of SQLite; IOERR has many extended ones. */
const storeUnavailable =
  /^SQLITE_(?:BUSY|LOCKED|IOERR|CANTOPEN|READONLY|PERM|NOMEM|PROTOCOL|CORRUPT|NOTADB)(?:_|$)/;

/** Undefined where the error is of another kind: then it is a defect. */
export function storageFailure(error: unknown): StorageFailure | undefined {
  const { code } = error as { code?: unknown };
  if (typeof code !== 'string') return undefined;
  if (full.has(code)) return 'full';
  return unavailable.has(code) || storeUnavailable.test(code) ? 'unavailable' : undefined;
}

/** Whether another program holds the store's lock: it may be gone in a moment. */
export const isLocked = (error: unknown): boolean =>
  /^SQLITE_(?:BUSY|LOCKED)(?:_|$)/.test(String((error as { code?: unknown }).code));
