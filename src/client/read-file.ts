import { closeSync, constants, fstatSync, openSync, readFileSync } from 'node:fs';

/** The largest file that mediactl keeps for itself or a project keeps for it, in bytes. */
const maxBytes = 16 * 1024 * 1024;

/**
 * Reads a small text file, and nothing else: a pipe without a writer would block forever, and a device such as
 * /dev/zero has no end. A byte order mark is dropped. Synchronous, since node:fs/promises alone costs every
 * command 2 ms.
 *
 * @throws Error from the system, such as ENOENT; Error where it is not a file, or larger than 16 MiB
 */
export function readTextFile(path: string): string {
  const file = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
  try {
    const found = fstatSync(file);
    if (!found.isFile()) throw new Error(`${path} is not a file`);
    if (found.size > maxBytes) throw new Error(`${path} is larger than 16 MiB`);
    return withoutByteOrderMark(readFileSync(file, 'utf8'));
  } finally {
    closeSync(file);
  }
}

/** Reads a small text file that may be missing or unusable: then the text is empty. */
export function readTextFileIfAny(path: string): string {
  try {
    return readTextFile(path);
  } catch {
    return '';
  }
}

/** Drops the byte order mark that some editors write at the beginning of a text. */
export const withoutByteOrderMark = (text: string) => text.replace(/^\uFEFF/, '');
