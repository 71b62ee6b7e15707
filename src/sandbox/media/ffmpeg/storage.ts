import { storageFailure } from '../../storage-failure.ts';

/** What programs say of a full disk. */
const full = /\b(?:ENOSPC|EDQUOT)\b|No space left on device|Disk quota exceeded/;
/** The machine has no process or no memory to spare; it may in a moment. */
const scarce = ['EAGAIN', 'ENOMEM'];
/** What another try meets again. */
const lasting = ['EACCES', 'EPERM'];

/** ffmpeg, or the media worker, says that the disk is full. */
export class NoRoom extends Error {}

/** Whether another try may go well: neither the source nor what reads it is to blame. */
export function isOfStorage(error: Error): boolean {
  const { code = '' } = error as NodeJS.ErrnoException;
  if (error instanceof NoRoom || scarce.includes(code)) return true;
  return storageFailure(error) !== undefined && !lasting.includes(code);
}

/** @throws NoRoom where these words tell of a full disk */
export function assertRoom(words: string): void {
  const [phrase] = full.exec(words) ?? [];
  if (phrase !== undefined) throw new NoRoom(`no room to work in: ${phrase}`);
}
