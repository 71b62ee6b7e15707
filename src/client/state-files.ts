import { type FileHandle, link, mkdir, open, realpath, rename, rm, writeFile } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { isWindows } from '../shared/platform.ts';
import { causeOf } from './error-table.ts';
import { CodedError } from './errors.ts';
import { isDirectory, isSameInode, pathExists, tryLstat } from './local-path.ts';

/**
 * Creates a folder and any missing parents. Does nothing if the folder exists. Tries each level only
 * once instead of using `mkdir` with `recursive`, which never returns on file systems such as /proc that report
 * ENOENT for an existing folder.
 *
 * @throws CodedError `invalid_folder` (exit 2), or `write_failed` (exit 1) if another path would not help, with the system's reason and
 *   `hint`
 */
async function makeFolderOf(mode: number, path: string, hint?: string): Promise<void> {
  try {
    await createRecursively(path, mode);
  } catch (error) {
    const { code = '', message } = error as NodeJS.ErrnoException;
    throw new CodedError(`cannot create the directory ${path}`, {
      ...causeOf(resourceErrnos.includes(code) ? 'mkdir_failed' : 'invalid_folder'),
      reason: message,
      hint,
      underlying: error,
    });
  }
}

/** Creates a folder for a person's files, with the mode of the umask. @throws CodedError as `makeFolderOf` */
export const makeFolder = (path: string, hint?: string) => makeFolderOf(0o777, path, hint);

/** Creates a folder with mode 0700 for keys and state. @throws CodedError as `makeFolderOf` */
export const makeStateFolder = (path: string, hint = 'use another state folder') => makeFolderOf(0o700, path, hint);

/** Creates an empty file with mode 0600 for SQLite, which would make it readable by others. */
export const createEmptyFile = (path: string) => open(path, 'wx', 0o600).then((handle) => handle.close());

/** Writes a state file with mode 0600. Uses an atomic rename, so that other processes never see a partial file. */
export async function writeStateFile(path: string, text: string): Promise<void> {
  await makeStateFolder(dirname(path));
  const { randomBytes } = await import('node:crypto');
  const temporaryPath = `${path}.${randomBytes(4).toString('hex')}`;
  await writeFile(temporaryPath, text, { mode: 0o600 });
  await replaceFile(temporaryPath, path);
}

/**
 * Writes to a file, and closes it once its content is on the disk. Rename it to its final path after that, then call
 * `syncFolder`, so that a crash leaves all of the file or none.
 *
 * @throws the errors of `opening` and `write`; what `fail` throws if the content cannot be written to the disk
 */
export async function writeToDisk<T>(
  opening: Promise<FileHandle>,
  write: (handle: FileHandle) => Promise<T>,
  fail: (error: Error) => never,
): Promise<T> {
  const handle = await opening;
  try {
    const result = await write(handle);
    await handle.sync().catch(fail);
    return result;
  } finally {
    await handle.close();
  }
}

/** Writes the names of a folder's files to the disk, where the system has a way to. Windows has none. */
export async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder).catch(() => undefined);
  await handle?.sync().catch(() => {});
  await handle?.close();
}

/**
 * Renames a file over another, which Windows refuses while a program has that one open: tries for two seconds, since
 * virus scanners and indexers open new files for a moment.
 *
 * @throws Error from the system
 */
export async function replaceFile(from: string, to: string): Promise<void> {
  for (let tries = 1; ; tries++)
    try {
      return await rename(from, to);
    } catch (error) {
      const isOpenElsewhere = ['EPERM', 'EACCES', 'EBUSY'].includes((error as NodeJS.ErrnoException).code ?? '');
      if (!isWindows || !isOpenElsewhere || tries === maxReplaceTries) throw error;
      await sleep(replacePauseMs);
    }
}

/**
 * Renames a file, but never over another. Two steps, since no call of Node.js does both: the file has two names for a
 * moment, and a call after a kill in between removes the old one. If a program puts another file at the old path
 * meanwhile, that one stays.
 *
 * @throws Error from the system, with the code EEXIST if there is a file at the new path, or both paths are the same
 */
export async function renameWithoutReplacing(from: string, to: string): Promise<void> {
  try {
    await link(from, to);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'EEXIST' ? !(await areTwoNamesOfOne(from, to)) : code === 'EXDEV') throw error;
    // Any other error means that the file system has no hard links.
    if (code !== 'EEXIST') return renameIfFree(from, to);
  }
  await endRename(from, to);
}

/** Removes the old path of a file whose rename to a new path was killed, when it had both. */
export async function endRename(from: string, to: string): Promise<void> {
  if (await areTwoNamesOfOne(from, to)) await rm(from, { force: true });
}

/** Returns true if two paths are two names of one file. A path that leads to the same name by a link is not another. */
async function areTwoNamesOfOne(one: string, other: string): Promise<boolean> {
  const nameOf = async (path: string) => join(await realpath(dirname(path)), basename(path));
  const [a, b, name, otherName] = await Promise.all([tryLstat(one), tryLstat(other), nameOf(one), nameOf(other)]);
  return a !== undefined && isSameInode(a, b) && a.nlink >= 2n && name !== otherName;
}

async function renameIfFree(from: string, to: string): Promise<void> {
  if (await pathExists(to))
    throw Object.assign(new Error(`EEXIST: file already exists, rename '${from}' -> '${to}'`), { code: 'EEXIST' });
  await rename(from, to);
}

const maxReplaceTries = 20;
const replacePauseMs = 100;

const resourceErrnos = ['ENOSPC', 'EDQUOT', 'EIO', 'EMFILE', 'ENFILE'];

async function createRecursively(path: string, mode: number, isLastTry = false): Promise<void> {
  if (await isDirectory(path)) return; // as nearly always, and cheaper than an error
  try {
    await mkdir(path, { mode });
  } catch (error) {
    if (await isDirectory(path)) return; // another process has created it
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT' || isLastTry) throw error;
    await createRecursively(dirname(path), mode);
    await createRecursively(path, mode, true);
  }
}
