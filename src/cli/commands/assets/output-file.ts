import { createHash, randomBytes } from 'node:crypto';
import { type FileHandle, link, lstat, open, readdir, realpath, rename, rm, stat } from 'node:fs/promises';
import { hostname } from 'node:os';
import { basename, dirname, join, resolve } from 'node:path';
import { MediactlError, usageError } from '../../../client/errors.ts';
import { NamedLocks } from '../../../client/lock.ts';
import type { Context } from '../../context.ts';
import { confirm } from '../../terminal/prompt.ts';

/** Output file of a command, and the option that names it. */
export type OutputFile = { path: string; option: '-o' | '--html' };

/** Handle for an output file that is being written. */
export type OutputHandle = {
  write(chunk: Uint8Array): Promise<void>;
  /** Discards everything written so far. Undefined for pipes and devices, which cannot be truncated. */
  restart?: () => Promise<void>;
  /** Sets the modification time, in seconds since the Unix epoch. */
  setTime(seconds: number): Promise<void>;
};

/**
 * Writes an output file atomically (temporary file, fsync, rename), so that a crash leaves no partial file. Asks
 * before it replaces a file. Pipes and devices are written directly.
 */
export async function writeOutput<T>(
  context: Context,
  output: OutputFile,
  write: (file: OutputHandle) => Promise<T>,
): Promise<T> {
  const existing = await confirmOverwrite(context, output);
  // Only a regular file can be replaced by a rename, so a device or pipe is written in place.
  return existing !== undefined && !existing.isFile()
    ? writeThrough(output, write)
    : writeAtomically(context, output, await pathExists(output.path), write);
}

async function writeThrough<T>(place: OutputFile, write: (file: OutputHandle) => Promise<T>): Promise<T> {
  const handle = await open(place.path, 'w').catch((error) => {
    throw cannotOpen(place, error);
  });
  try {
    return await write({ write: writerTo(handle, place), setTime: async () => {} });
  } finally {
    await handle.close();
  }
}

/**
 * Writes a temporary file, then renames it to the target.
 *
 * @param canOverwrite false to fail if the target was created in the meantime
 */
async function writeAtomically<T>(
  context: Context,
  output: OutputFile,
  canOverwrite: boolean,
  write: (file: OutputHandle) => Promise<T>,
): Promise<T> {
  const target = await resolveTarget(output);
  const release = await lockTarget(context, target, output);
  const part = `${target}.${partFileTag(context)}${randomBytes(4).toString('hex')}.part`;
  try {
    // In append mode, the first write after a truncation starts at offset 0.
    const handle = await open(part, 'ax', 0o600).catch((error) => {
      throw cannotOpen(output, error);
    });
    let written: T;
    try {
      written = await write({
        write: writerTo(handle, output),
        restart: () => handle.truncate(0),
        // Best effort: some file systems do not support timestamps.
        setTime: (seconds) => handle.utimes(seconds, seconds).catch(() => {}),
      });
      await handle.sync().catch((error) => {
        throw cannotWrite(output, error);
      });
    } finally {
      await handle.close();
    }
    if (canOverwrite || context.settings.yes) await rename(part, target);
    else await renameWithoutReplacing(part, target, output);
    const folder = await open(dirname(target), 'r');
    await folder.sync().finally(() => folder.close());
    return written;
  } catch (error) {
    await rm(part, { force: true });
    throw error;
  } finally {
    await release();
  }
}

async function renameWithoutReplacing(part: string, target: string, output: OutputFile): Promise<void> {
  try {
    await link(part, target);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') throw appearedMeanwhile(target, output);
    return rename(part, target); // the file system has no hard links
  }
  await rm(part);
}

/** Returns true if the path exists, even if it is a dangling symlink, which can be replaced. */
const pathExists = (path: string) =>
  lstat(path).then(
    () => true,
    () => false,
  );

/** Resolves the symlinks of the target's folder, so that all processes lock the same path. */
async function resolveTarget({ path, option }: OutputFile): Promise<string> {
  const folder = await realpath(dirname(resolve(path))).catch((error) => {
    throw cannotOpen({ path, option }, error);
  });
  return join(folder, basename(path));
}

/**
 * Locks the target, and deletes temporary files that crashed runs left beside it. Continues without a lock if the
 * state folder cannot be written.
 *
 * @throws MediactlError `already_downloading` (exit 6) if another process is writing the target
 */
async function lockTarget(context: Context, target: string, output: OutputFile): Promise<() => Promise<void>> {
  const name = createHash('sha256').update(target).digest('hex').slice(0, 16);
  const locks = new NamedLocks(join(context.stateDir, 'downloads'), (message) => context.terminal.warn(message));
  let release: (() => Promise<void>) | undefined;
  try {
    await locks.removeStale();
    release = await locks.acquire(name);
  } catch {
    return async () => {};
  }
  if (!release) throw alreadyWritten(target, output);
  for (const each of await readdir(dirname(target)))
    if (each.startsWith(`${basename(target)}.${partFileTag(context)}`) && each.endsWith('.part'))
      await rm(join(dirname(target), each), { force: true });
  return release;
}

/**
 * Returns a tag for the names of our temporary files. Files with another tag belong to another state folder, whose
 * processes do not share our locks and might still be writing.
 */
const partFileTag = ({ stateDir }: Context) =>
  createHash('sha256').update(`${hostname()} ${stateDir}`).digest('hex').slice(0, 8);

const writerTo = (handle: FileHandle, place: OutputFile) => (chunk: Uint8Array) =>
  handle.appendFile(chunk).catch((error: Error) => {
    throw cannotWrite(place, error);
  });

/** Asks before it replaces an existing file. Returns the file's stats, or undefined if missing. */
async function confirmOverwrite({ terminal, settings }: Context, { path, option }: OutputFile) {
  const existing = await stat(path).catch(() => undefined);
  if (existing?.isDirectory()) throw usageError(`${path} is a directory`, `name a file with ${option}`);
  if (existing?.isFile())
    await confirm(terminal, `${path} is there already. Replace it?`, {
      yes: settings.yes,
      instead: `another place with ${option}, or --yes to replace it`,
    });
  return existing;
}

const alreadyWritten = (path: string, { option }: OutputFile) =>
  new MediactlError(`${path} is being written already`, {
    code: 'already_downloading',
    reason: 'another mediactl process has this place in hand',
    hint: `wait for it to finish, or give another place with ${option}`,
    retryable: true,
  });

const appearedMeanwhile = (path: string, { option }: OutputFile) =>
  usageError(
    `${path} is there by now`,
    `another place with ${option}, or --yes to replace it`,
    'it was not at the beginning',
  );

const cannotOpen = ({ path, option }: OutputFile, error: Error) =>
  usageError(`cannot write ${path}`, `give another place with ${option}`, error.message);

const cannotWrite = ({ path, option }: OutputFile, error: Error) =>
  new MediactlError(`cannot write ${path}`, {
    code: 'output',
    reason: error.message,
    hint: `make room, or give another place with ${option}`,
    underlying: error,
  });
