import { storageFailure } from '../../storage-failure.ts';

/** Messages of programs about a full disk. */
const full = /\b(?:ENOSPC|EDQUOT)\b|No space left on device|Disk quota exceeded/;
/** Codes for a temporary lack of processes or memory. */
const scarce = ['EAGAIN', 'ENOMEM'];
/** Codes that a retry does not fix. */
const lasting = ['EACCES', 'EPERM'];

/** Error for a full disk, as reported by ffmpeg or the media worker. */
export class NoRoom extends Error {}

/**
 * Returns true if a retry may succeed, because the failure is caused by storage or the machine, not
 * by the source or the tool.
 */
export function isOfStorage(error: Error): boolean {
  const { code = '' } = error as NodeJS.ErrnoException;
  if (error instanceof NoRoom || scarce.includes(code)) return true;
  return storageFailure(error) !== undefined && !lasting.includes(code);
}

/** @throws DiskFullError if a message reports a full disk */
export function assertRoom(words: string): void {
  const [phrase] = full.exec(words) ?? [];
  if (phrase !== undefined) throw new NoRoom(`no room to work in: ${phrase}`);
}
