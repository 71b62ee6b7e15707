import type { BigIntStats } from 'node:fs';
import { lstat, readdir, stat } from 'node:fs/promises';
import { basename, dirname, join, sep } from 'node:path';
import { isWindows } from '../shared/platform.ts';

/*
 * The boundary between local paths and paths of the library. Local paths are those of the system, with backslashes on
 * Windows: use node:path. Paths of the library, and relative paths of files in it, have slashes: use node:path/posix.
 */

/** Converts a relative local path, or a local glob, to slashes. On other systems a backslash is part of a name. */
export const toSlashes = (path: string) => (isWindows ? path.replaceAll('\\', '/') : path);

/**
 * Returns the limits of the paths below a directory, for a range in order of code points; all local paths if it is empty.
 *
 * @param separator that of the system; tests pass the other
 */
export function rangeBelow(directory: string, separator: string = sep): [from: string, to: string] {
  const next = String.fromCharCode(separator.charCodeAt(0) + 1);
  // Drives and network shares: "C:\" and "\\SERVER\". URLs begin with a small letter.
  if (directory === '') return separator === '/' ? ['/', '0'] : ['A', next];
  const bare = directory.endsWith(separator) ? directory.slice(0, -1) : directory;
  return [bare + separator, bare + next];
}

/** Identifies a file or directory on this machine, whatever path leads to it. */
export const inodeOf = ({ dev, ino }: Pick<BigIntStats, 'dev' | 'ino'>) => `${dev} ${ino}`;

/** Returns true if both are one file or directory, whatever paths lead to it. */
export const isSameInode = (one: BigIntStats | undefined, other: BigIntStats | undefined) =>
  one !== undefined && other !== undefined && inodeOf(one) === inodeOf(other);

/** Returns the attributes of what a path leads to; undefined if that is nothing, or cannot be determined. */
export const tryStat = (path: string) => stat(path, { bigint: true }).catch(() => undefined);

/** Like `tryStat`, of a link itself. */
export const tryLstat = (path: string) => lstat(path, { bigint: true }).catch(() => undefined);

/** Returns true if a file, directory, or link exists at a path, or if that cannot be determined. */
export const pathExists = (path: string) => lstat(path).then(() => true, mayExist);

/** Returns true if a file or a link exists at a path, or if that cannot be determined: false for a directory. */
export const fileExists = (path: string) => lstat(path).then((found) => !found.isDirectory(), mayExist);

const mayExist = ({ code }: NodeJS.ErrnoException) => code !== 'ENOENT' && code !== 'ENOTDIR';

/**
 * Returns the path of what exists, by a path whose letters may be composed in another way, as macOS writes them; undefined
 * if nothing does.
 */
export async function findSpelling(path: string): Promise<string | undefined> {
  if (await pathExists(path)) return path;
  const parent = dirname(path);
  const above = parent === path ? undefined : await findSpelling(parent);
  if (above === undefined) return undefined;
  const names = await readdir(above).catch(() => []); // no directory
  const name = names.find((each) => each.normalize('NFC') === basename(path).normalize('NFC'));
  return name === undefined ? undefined : join(above, name);
}

/** Returns true for a directory or a link to one, and false if that cannot be determined. */
export const isDirectory = (path: string) =>
  stat(path).then(
    (found) => found.isDirectory(),
    () => false,
  );
