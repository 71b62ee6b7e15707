import { classifyStorageFailure } from '../../storage-failure.ts';

/** Pattern of the messages by which programs report a full disk. */
const fullDiskMessage = /\b(?:ENOSPC|EDQUOT)\b|No space left on device|Disk quota exceeded/;
/** Error codes for a temporary lack of processes or memory. */
const temporaryCodes = ['EAGAIN', 'ENOMEM'];
/** Error codes of storage failures for which a retry does not help. */
const permanentCodes = ['EACCES', 'EPERM'];

/** Error for a full disk, as reported by ffmpeg or the media worker. */
export class DiskFullError extends Error {}

/** Returns true if a retry might succeed, because storage or the machine failed, not the source or the tool. */
export function isStorageError(error: Error): boolean {
  const { code = '' } = error as NodeJS.ErrnoException;
  if (error instanceof DiskFullError || temporaryCodes.includes(code)) return true;
  return classifyStorageFailure(error) !== undefined && !permanentCodes.includes(code);
}

/** @throws DiskFullError if a message reports a full disk */
export function assertNotDiskFull(message: string): void {
  const [phrase] = fullDiskMessage.exec(message) ?? [];
  if (phrase !== undefined) throw new DiskFullError(`not enough disk space: ${phrase}`);
}
