/** Errors of the disk or the store that another try may not meet, by their code. */
const passing = /^(?:ENOSPC|EDQUOT|EIO|EMFILE|ENFILE|EROFS|SQLITE_(?:BUSY|LOCKED|FULL|IOERR)\w*)$/;

/** What programs say of a full disk. */
const full = /\b(?:ENOSPC|EDQUOT)\b|No space left on device|Disk quota exceeded/;

/** Whether it is a matter of storage: neither the source nor what reads it is to blame. */
export const isOfStorage = (error: Error): boolean =>
  passing.test(String((error as NodeJS.ErrnoException).code)) || full.test(error.message);

/** @throws Error where these words tell of a full disk */
export function assertRoom(words: string): void {
  const [said] = full.exec(words) ?? [];
  if (said !== undefined) throw new Error(`no room to work in: ${said}`);
}
