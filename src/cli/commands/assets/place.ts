import { createHash, randomBytes } from 'node:crypto';
import {
  type FileHandle,
  link,
  lstat,
  open,
  readdir,
  realpath,
  rename,
  rm,
  stat,
} from 'node:fs/promises';
import { hostname } from 'node:os';
import { basename, dirname, join, resolve } from 'node:path';
import { exitCodes, MediactlError, usageError } from '../../../client/errors.ts';
import { NamedLocks } from '../../../client/lock.ts';
import type { Context } from '../../context.ts';
import { confirm } from '../../terminal/prompt.ts';

/** Where a result goes that is a file, and the option that names it. */
export type Place = { path: string; option: '-o' | '--html' };

/** A file while it is written. */
export type OpenPlace = {
  write(chunk: Uint8Array): Promise<void>;
  /** What was written is void. Undefined where it cannot be taken back. */
  restart?: () => Promise<void>;
  /** Its time, in seconds. */
  setTime(seconds: number): Promise<void>;
};

/**
 * Writes a file beside its place and moves it there once it is whole and on the disk, so that what ends
 * midway leaves no half file. A file that is there is replaced with leave only.
 */
export async function fill<T>(
  context: Context,
  place: Place,
  write: (file: OpenPlace) => Promise<T>,
): Promise<T> {
  const there = await mayReplace(context, place);
  // A device or a pipe is written to; only a file can be replaced whole.
  return there !== undefined && !there.isFile()
    ? writeThrough(place, write)
    : writeAtomically(context, place, await isNamed(place.path), write);
}

async function writeThrough<T>(place: Place, write: (file: OpenPlace) => Promise<T>): Promise<T> {
  const handle = await open(place.path, 'w').catch((error) => {
    throw cannotOpen(place, error);
  });
  try {
    return await write({ write: writerTo(handle, place), setTime: async () => {} });
  } finally {
    await handle.close();
  }
}

/** @param mayReplace whether a file that is there is to be replaced: one that comes meanwhile is not */
async function writeAtomically<T>(
  context: Context,
  asked: Place,
  mayReplace: boolean,
  write: (file: OpenPlace) => Promise<T>,
): Promise<T> {
  const place = await targetPath(asked);
  const release = await lockTarget(context, place, asked);
  const part = `${place}.${ownMark(context)}${randomBytes(4).toString('hex')}.part`;
  try {
    // Appending, so that after a truncation the next write begins at the beginning.
    const handle = await open(part, 'ax', 0o600).catch((error) => {
      throw cannotOpen(asked, error);
    });
    let written: T;
    try {
      written = await write({
        write: writerTo(handle, asked),
        restart: () => handle.truncate(0),
        // A file system may keep no times; the file is whole all the same.
        setTime: (seconds) => handle.utimes(seconds, seconds).catch(() => {}),
      });
      await handle.sync().catch((error) => {
        throw cannotWrite(asked, error);
      });
    } finally {
      await handle.close();
    }
    if (mayReplace || context.settings.yes) await rename(part, place);
    else await renameWithoutReplacing(part, place, asked);
    const folder = await open(dirname(place), 'r');
    await folder.sync().finally(() => folder.close());
    return written;
  } catch (error) {
    await rm(part, { force: true });
    throw error;
  } finally {
    await release();
  }
}

async function renameWithoutReplacing(part: string, place: string, asked: Place): Promise<void> {
  try {
    await link(part, place);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') throw appearedMeanwhile(place, asked);
    return rename(part, place); // a file system without links
  }
  await rm(part);
}

/** A link that leads nowhere is something too: it is replaced. */
const isNamed = (path: string) =>
  lstat(path).then(
    () => true,
    () => false,
  );

/** Where a path leads, its folder by its real name: the same for all who write there. */
async function targetPath({ path, option }: Place): Promise<string> {
  const folder = await realpath(dirname(resolve(path))).catch((error) => {
    throw cannotOpen({ path, option }, error);
  });
  return join(folder, basename(path));
}

/**
 * Takes the place in hand, and removes what killed runs left beside it. Where no lock can be had,
 * on a machine that lets nothing be kept, it is done without.
 *
 * @throws MediactlError `already_downloading`
 */
async function lockTarget(
  context: Context,
  place: string,
  asked: Place,
): Promise<() => Promise<void>> {
  const name = createHash('sha256').update(place).digest('hex').slice(0, 16);
  const locks = new NamedLocks(join(context.stateDir, 'downloads'), (message) =>
    context.terminal.warn(message),
  );
  let release: (() => Promise<void>) | undefined;
  try {
    await locks.sweep();
    release = await locks.take(name);
  } catch {
    return async () => {};
  }
  if (!release) throw alreadyWritten(place, asked);
  for (const each of await readdir(dirname(place)))
    if (each.startsWith(`${basename(place)}.${ownMark(context)}`) && each.endsWith('.part'))
      await rm(join(dirname(place), each), { force: true });
  return release;
}

/** Marks the parts of this state folder: processes with another one may be writing to the place as well. */
const ownMark = ({ stateDir }: Context) =>
  createHash('sha256').update(`${hostname()} ${stateDir}`).digest('hex').slice(0, 8);

const writerTo = (handle: FileHandle, place: Place) => (chunk: Uint8Array) =>
  handle.appendFile(chunk).catch((error: Error) => {
    throw cannotWrite(place, error);
  });

/** What is there, if anything is, once it may be replaced. */
async function mayReplace({ terminal, settings }: Context, { path, option }: Place) {
  const there = await stat(path).catch(() => undefined);
  if (there?.isDirectory())
    throw usageError(`${path} is a directory`, `name a file with ${option}`);
  if (there?.isFile())
    await confirm(terminal, `${path} is there already. Replace it?`, {
      yes: settings.yes,
      instead: `another place with ${option}, or --yes to replace it`,
    });
  return there;
}

const alreadyWritten = (path: string, { option }: Place) =>
  new MediactlError(`${path} is being written already`, {
    code: 'already_downloading',
    exitCode: exitCodes.rejected,
    reason: 'another mediactl process has this place in hand',
    hint: `wait for it to finish, or give another place with ${option}`,
    retryable: true,
  });

const appearedMeanwhile = (path: string, { option }: Place) =>
  usageError(
    `${path} is there by now`,
    `another place with ${option}, or --yes to replace it`,
    'it was not at the beginning',
  );

const cannotOpen = ({ path, option }: Place, error: Error) =>
  usageError(`cannot write ${path}`, `give another place with ${option}`, error.message);

const cannotWrite = ({ path, option }: Place, error: Error) =>
  new MediactlError(`cannot write ${path}`, {
    code: 'output',
    exitCode: exitCodes.unclassified,
    reason: error.message,
    hint: `make room, or give another place with ${option}`,
    underlying: error,
  });
