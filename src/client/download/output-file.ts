import { createHash, randomBytes } from 'node:crypto';
import { constants } from 'node:fs';
import { type FileHandle, lstat, open, realpath, rm, stat } from 'node:fs/promises';
import { hostname } from 'node:os';
import { basename, dirname, join, resolve } from 'node:path';
import { orAborted } from '../../shared/retry.ts';
import { CodedError, OutputFailed, usageError } from '../errors.ts';
import { NamedLocks } from '../lock.ts';
import type { OwnFiles } from '../own-files.ts';
import { endRename, renameWithoutReplacing, replaceFile, syncFolder, writeToDisk } from '../state-files.ts';
import { maxNameBytes } from './file-name.ts';

/** Dependencies for writing files: directories, confirmation and warnings. */
export type OutputPorts = {
  signal: AbortSignal;
  ownFiles: OwnFiles;
  /** Directory for the locks of files that are written; undefined for none. */
  stateDir: string | undefined;
  replacesAll: boolean;
  /**
   * Asks whether a file that exists may be replaced.
   *
   * @param why set if the file must not be replaced, without a question: `may_be_other` if it might not be a download of
   *   this asset, `changed_meanwhile` if it was created or changed during the download
   * @throws CodedError if it may not be replaced
   */
  onExisting(path: string, why?: 'may_be_other' | 'changed_meanwhile'): Promise<void>;
  /** Option that names the path, for the words of errors. */
  option: string;
  warn(message: string): void;
};

export type OutputFile = {
  path: string;
  /** Default: that of the umask. */
  mode?: number;
  /** True to replace an existing file without asking. A function is also called with the real path, right before that. */
  mayReplace?: boolean | ((target: string) => Promise<boolean>);
  /** True to resume from the temporary file of an earlier process, instead of removing it. */
  keepsPart?: boolean;
  /** True to never write through a link, pipe or device, since the service has given the name. */
  isNewName?: boolean;
};

/** Temporary file of an output file, with the bytes that an earlier process wrote. */
export type WrittenPart = {
  /** Path of the output file, without links in its folder. */
  target: string;
  sizeBytes: number;
  read(length: number): AsyncIterable<Uint8Array>;
  /** Keeps the first bytes only, after which the next are written. */
  keep(length: number): Promise<void>;
  /** Writes what was written so far to the disk. */
  sync(): Promise<void>;
  /** Leaves the temporary file if writing fails, as it does next. */
  leave(): void;
  /** Returns the modification time in ns since the epoch. */
  times(): Promise<{ mtimeNs: string }>;
};

export type OutputHandle = {
  write(chunk: Uint8Array): Promise<void>;
  /** Discards everything written so far. Undefined for pipes and devices, which cannot be truncated. */
  restart?: () => Promise<void>;
  /** Keeps the file beside the target if writing fails, as it does next. Undefined for pipes. @returns its path */
  setAside?: () => string;
  /** Sets the modification time, in seconds since the Unix epoch. */
  setTime(seconds: number): Promise<void>;
  /** The temporary file; undefined for pipes, and unless `keepsPart` is set. */
  part?: WrittenPart;
};

/** @property option that of the ports */
type NamedOutput = OutputFile & { option: string };

/**
 * Writes an output file atomically (temporary file, fsync, rename), so that a crash leaves no partial file. Asks
 * before it replaces a file. Pipes and devices are written directly.
 */
export async function writeOutput<T>(
  ports: OutputPorts,
  file: OutputFile,
  write: (file: OutputHandle) => Promise<T>,
): Promise<T> {
  const output: NamedOutput = { ...file, option: ports.option };
  ports.ownFiles.assertForeign(output.path);
  const { existing, isThere } = await confirmOverwrite(ports, output);
  // Only a regular file can be replaced by a rename, so a device or pipe is written in place.
  return existing !== undefined && !existing.isFile() && !output.isNewName
    ? writeThrough(ports, output, write)
    : writeAtomically(ports, { ...output, isThere }, write);
}

async function writeThrough<T>(
  { signal }: OutputPorts,
  output: NamedOutput,
  write: (file: OutputHandle) => Promise<T>,
): Promise<T> {
  // A pipe is opened only once it has a reader.
  const handle = await orAborted(open(output.path, 'w').catch(throwCannotOpen(output)), signal);
  try {
    return await write({ write: writerTo(handle, output), setTime: async () => {} });
  } finally {
    await handle.close();
  }
}

/** Writes a temporary file, then renames it to the target, unless another program has created the target meanwhile. */
async function writeAtomically<T>(
  ports: OutputPorts,
  output: NamedOutput & { isThere: boolean },
  write: (file: OutputHandle) => Promise<T>,
): Promise<T> {
  const mayReplace = permissionToReplace(ports, output);
  // All processes lock the same path, without symlinks in its folder.
  const folder = await realpath(dirname(resolve(output.path))).catch(throwCannotOpen(output));
  const target = join(folder, basename(output.path));
  const { part, release, keepsPart } = await lockTarget(ports, target, output);
  let aside: string | undefined;
  let isLeft = false;
  const leave = () => {
    isLeft = true;
  };
  try {
    const flags = keepsPart ? constants.O_RDWR | constants.O_CREAT | constants.O_NOFOLLOW : 'wx';
    const opened = open(part, flags, output.mode ?? 0o666).catch(throwCannotOpen(output));
    const writePart = async (handle: FileHandle) => {
      const writer = restartableWriter(handle, output);
      return write({
        ...writer,
        ...(keepsPart && { part: { ...(await openPart(handle, target, writer)), leave } }),
        setAside: () => {
          aside = besideTarget(target, '.different');
          return aside;
        },
        // Best effort: some file systems do not support timestamps.
        setTime: (seconds) => handle.utimes(seconds, seconds).catch(() => {}),
      });
    };
    const written = await writeToDisk(opened, writePart, throwCannotWrite(output));
    if (await mayReplace(target)) await replaceFile(part, target).catch(throwCannotReplace(output));
    else await renameWithoutReplacing(part, target).catch(refuseMeanwhile(ports, target));
    await syncFolder(folder);
    return written;
  } catch (error) {
    if (aside !== undefined) await replaceFile(part, aside);
    else if (!isLeft) await rm(part, { force: true });
    throw error;
  } finally {
    await release();
  }
}

/**
 * Returns whether a file may be replaced, to be asked when the new one is complete.
 *
 * @param output `isThere`: true if something was there when that was asked, so that it may be replaced
 */
function permissionToReplace(
  { replacesAll }: OutputPorts,
  { mayReplace, isThere }: Pick<OutputFile, 'mayReplace'> & { isThere: boolean },
): (target: string) => Promise<boolean> {
  if (typeof mayReplace === 'function' && !replacesAll) return mayReplace;
  return async () => mayReplace === true || replacesAll || isThere;
}

const refuseMeanwhile = (ports: OutputPorts, target: string) => async (error: NodeJS.ErrnoException) => {
  if (error.code === 'EEXIST') await ports.onExisting(target, 'changed_meanwhile');
  throw error;
};

/**
 * Locks the target and returns the path of its temporary file, without what a crashed run left of it unless that is kept.
 * Continues without a lock if the state folder cannot be written, with a temporary file of its own.
 *
 * @throws CodedError `locked` (exit 6) if another process is writing the target
 */
async function lockTarget({ stateDir, warn }: OutputPorts, target: string, output: NamedOutput) {
  // Processes with another state folder do not share our locks, so their temporary files have other names.
  const mark = stateDir === undefined ? '' : markOf(stateDir);
  const unlocked = () => {
    const part = besideTarget(target, `.${mark}${randomBytes(4).toString('hex')}.part`);
    return { part, release: async () => {}, keepsPart: false };
  };
  if (stateDir === undefined) return unlocked();
  let release: (() => Promise<void>) | undefined;
  try {
    release = await new NamedLocks(join(stateDir, 'downloads'), warn).acquire(shortHash(target));
  } catch {
    return unlocked();
  }
  if (!release)
    throw new CodedError(`another process is writing ${target}`, {
      code: 'locked',
      reason: 'a program of this state directory has locked it',
      hint: `wait for it to finish, or use another path with ${output.option}`,
      retryable: true,
    });
  const part = ownPart(target, mark);
  const { keepsPart = false } = output;
  if (keepsPart) await endRename(part, target);
  else await rm(part, { force: true });
  return { part, release, keepsPart };
}

const markOf = (stateDir: string) => shortHash(`${hostname()} ${stateDir}`).slice(0, 8);

const ownPart = (target: string, mark: string) => besideTarget(target, `.${mark}.part`);

/** Removes the temporary file of an output file that was killed when it had its name already. */
export const endOutput = (stateDir: string, target: string) => endRename(ownPart(target, markOf(stateDir)), target);

/** Returns the path of a file beside another, with its name and a suffix, or a hash if that would be too long. */
function besideTarget(target: string, suffix: string): string {
  const isShort = Buffer.byteLength(basename(target) + suffix) <= maxNameBytes;
  return isShort ? `${target}${suffix}` : join(dirname(target), `${shortHash(target)}${suffix}`);
}

async function openPart(handle: FileHandle, target: string, writer: PartWriter): Promise<Omit<WrittenPart, 'leave'>> {
  return {
    target,
    sizeBytes: (await handle.stat()).size,
    read: (length) => handle.createReadStream({ start: 0, end: length - 1, autoClose: false }),
    keep: writer.keep,
    sync: () => handle.sync(),
    times: async () => ({ mtimeNs: String((await handle.stat({ bigint: true })).mtimeNs) }),
  };
}

const shortHash = (text: string) => createHash('sha256').update(text).digest('hex').slice(0, 16);

const writerTo = (handle: FileHandle, output: NamedOutput) => (chunk: Uint8Array) =>
  handle.appendFile(chunk).catch(throwCannotWrite(output));

type PartWriter = Required<Pick<OutputHandle, 'write' | 'restart'>> & Pick<WrittenPart, 'keep'>;

/** Writes at offsets, because the position does not follow a truncation, and Windows cannot truncate in append mode. */
function restartableWriter(handle: FileHandle, output: NamedOutput): PartWriter {
  let offset = 0;
  const keep = async (length: number) => {
    await handle.truncate(length);
    offset = length;
  };
  return {
    write: async (chunk) => {
      for (let done = 0; done < chunk.length; ) {
        const write = handle.write(chunk, done, chunk.length - done, offset);
        const { bytesWritten } = await write.catch(throwCannotWrite(output));
        done += bytesWritten;
        offset += bytesWritten;
      }
    },
    restart: () => keep(0),
    keep,
  };
}

/**
 * Asks before an existing file is replaced.
 *
 * @returns its stats, and whether anything is there, which a dangling link is
 */
async function confirmOverwrite(ports: OutputPorts, { path, option, mayReplace, isNewName }: NamedOutput) {
  const found = await lstat(path).catch(() => undefined);
  const existing = isNewName || !found?.isSymbolicLink() ? found : await stat(path).catch(() => undefined);
  if (existing?.isDirectory()) throw usageError(`${path} is a directory`, `name a file with ${option}`);
  if (existing?.isFile() && !mayReplace && !ports.replacesAll) await ports.onExisting(path);
  return { existing, isThere: found !== undefined };
}

const throwCannotOpen =
  ({ path, option }: NamedOutput) =>
  (error: Error): never => {
    throw usageError(`cannot write ${path}`, `use another path with ${option}`, error.message);
  };

const throwCannotWrite = ({ path, option }: NamedOutput) =>
  throwOutputError(`cannot write ${path}`, `free some disk space, or use another path with ${option}`);

const throwCannotReplace = ({ path }: NamedOutput) =>
  throwOutputError(
    `cannot replace ${path}`,
    'close the program that has this file open, then run the same command again',
  );

const throwOutputError =
  (message: string, hint: string) =>
  (error: NodeJS.ErrnoException): never => {
    const endsRun = error.code === 'ENOSPC' || error.code === 'EDQUOT'; // the next file has no room, either
    throw new OutputFailed(message, { code: 'write_failed', reason: error.message, hint, underlying: error, endsRun });
  };
