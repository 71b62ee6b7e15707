import { closeSync, constants, fstatSync, openSync, readFileSync, type Stats } from 'node:fs';

/** Maximum size of a state or project file. */
const maxMiB = 16;

/**
 * Reads a small text file without its byte order mark. Rejects anything that is not a regular file, because a pipe
 * without a writer would block forever and a device such as /dev/zero has no end. Synchronous, because loading
 * node:fs/promises would cost every command 2 ms.
 *
 * @param assertTrusted throws if a file with these attributes must not be read
 * @throws Error from the system, such as ENOENT, or if the path is not a file or the file is too large
 */
export function readTextFile(path: string, assertTrusted: (found: Stats) => void = () => {}): string {
  const file = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
  try {
    const found = fstatSync(file);
    assertTrusted(found);
    if (!found.isFile()) throw new Error(`${path} is not a file`);
    if (found.size > maxMiB * 1024 * 1024) throw new Error(`${path} is larger than ${maxMiB} MiB`);
    return withoutByteOrderMark(readFileSync(file, 'utf8'));
  } finally {
    closeSync(file);
  }
}

/** Reads a small text file. Returns an empty string if the file is missing or unreadable. */
export function readTextFileOrEmpty(path: string): string {
  try {
    return readTextFile(path);
  } catch {
    return '';
  }
}

/** Decodes a text by its byte order mark: UTF-16, which Windows PowerShell writes, or else UTF-8. */
export function decodeText(bytes: Buffer): string {
  const isUtf16 = (bytes[0] === 0xff && bytes[1] === 0xfe) || (bytes[0] === 0xfe && bytes[1] === 0xff);
  if (!isUtf16) return withoutByteOrderMark(bytes.toString('utf8'));
  const littleEndian = bytes[0] === 0xff ? bytes : Buffer.from(bytes.subarray(0, bytes.length & ~1)).swap16();
  return withoutByteOrderMark(littleEndian.toString('utf16le'));
}

/** Strips the byte order mark that some editors write at the start of a file. */
const withoutByteOrderMark = (text: string) => text.replace(/^\uFEFF/, '');
