/** Errors of the disk, the store or the machine that another try may not meet, by their code. */
const passing =
  /^(?:ENOSPC|EDQUOT|EIO|EMFILE|ENFILE|EROFS|EAGAIN|ENOMEM|SQLITE_(?:BUSY|LOCKED|FULL|IOERR)\w*)$/;

/** What programs say of a full disk. */
const full = /\b(?:ENOSPC|EDQUOT)\b|No space left on device|Disk quota exceeded/;

/** Somebody says that the disk is full: ffmpeg, or the media worker. */
export class NoRoom extends Error {}

/** Whether it is a matter of storage: neither the source nor what reads it is to blame. */
export const isOfStorage = (error: Error): boolean =>
  error instanceof NoRoom || passing.test(String((error as NodeJS.ErrnoException).code));

/** @throws NoRoom where these words tell of a full disk */
export function assertRoom(words: string): void {
  const [said] = full.exec(words) ?? [];
  if (said !== undefined) throw new NoRoom(`no room to work in: ${said}`);
}
