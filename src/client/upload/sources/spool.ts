import { randomUUID } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { type FileHandle, open, readdir, realpath, rm, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { orAborted } from '../../../shared/retry.ts';
import { CodedError, usageError } from '../../errors.ts';
import { assertNoConfiguration, spoolFolderOf } from '../../own-files.ts';
import { makeStateFolder, replaceFile, syncFolder, writeToDisk } from '../../state-files.ts';
import { openChecksum } from './checksum.ts';

type LockSpoolFile = (id: string, path: string) => Promise<() => Promise<void>>;

/**
 * Spools stdin to disk, since its length must be known before an upload starts. A spool file is the only copy, so
 * it is removed only once its receipt is saved or the user runs `uploads forget`. The folder has mode 0700 and its
 * files 0600. `NAME.part` is still being written, and belongs to the lock of the upload `NAME`.
 */
export class Spool {
  readonly #directory: string;

  constructor(stateDir: string) {
    this.#directory = spoolFolderOf(stateDir);
  }

  /**
   * @param lock locks the file to be written. If this process is killed, the file is removed.
   * @returns its size, its checksum, and a function that moves it to its final name
   * @throws CodedError `usage` (exit 2) if stdin is empty, `write_failed` (exit 1) if it cannot be written
   */
  async write(input: AsyncIterable<Buffer | string>, lock: LockSpoolFile, signal?: AbortSignal) {
    await makeStateFolder(this.#directory);
    const directory = await realpath(this.#directory);
    const partName = randomUUID();
    const part = join(directory, `${partName}.part`);
    const release = await lock(partName, part);
    try {
      const { sizeBytes, blake3 } = await spoolTo(part, input, signal);
      if (sizeBytes === 0) throw usageError('stdin is empty', 'check the command before the pipe');
      await assertNoConfiguration('stdin', sizeBytes, () => createReadStream(part));
      /** Renames the file to `name`, or keeps an existing one with the same name and size. @returns its path */
      const saveAs = async (name: string) => {
        const path = join(directory, name);
        if ((await stat(path).catch(() => undefined))?.size === sizeBytes) await rm(part, { force: true });
        else await replaceFile(part, path);
        await syncFolder(directory); // so that a crash leaves the only copy under its name
        await release();
        return path;
      };
      return { sizeBytes, blake3, saveAs };
    } catch (error) {
      await rm(part, { force: true });
      await release();
      throw error;
    }
  }

  /** Lists the complete spool files. `since` is the modification time in milliseconds since the epoch. */
  async list(): Promise<{ name: string; path: string; since: number }[]> {
    const names = await readdir(this.#directory).catch(() => []); // the folder does not exist yet
    const describe = async (name: string) => {
      const path = join(this.#directory, name);
      const found = await stat(path).catch(() => undefined); // deleted since the listing
      return { name, path, since: found?.mtimeMs ?? Number.POSITIVE_INFINITY };
    };
    return Promise.all(names.filter((name) => !name.includes('.')).map(describe));
  }

  async forget(name: string): Promise<void> {
    await rm(join(this.#directory, name), { force: true });
  }

  async remove(path: string): Promise<void> {
    const directory = await realpath(this.#directory).catch(() => undefined);
    if (dirname(path) === directory) await rm(path, { force: true });
  }
}

function spoolTo(path: string, input: AsyncIterable<Buffer | string>, signal?: AbortSignal) {
  const fail = (underlying: Error): never => {
    const reason = `${path}: ${underlying.message}`;
    const hint = 'free some disk space, use another state folder, or upload a file instead';
    throw new CodedError('cannot spool stdin to disk', { code: 'write_failed', reason, hint, underlying });
  };
  const spoolInput = async (handle: FileHandle) => {
    const checksum = await openChecksum();
    let sizeBytes = 0;
    for await (const part of untilAborted(input, signal)) {
      const bytes = Buffer.from(part);
      await handle.appendFile(bytes).catch(fail);
      checksum.update(bytes);
      sizeBytes += bytes.length;
    }
    return { sizeBytes, blake3: checksum.digest() };
  };
  return writeToDisk(open(path, 'wx', 0o600).catch(fail), spoolInput, fail);
}

/** Yields the items of the input. Throws as soon as the signal aborts, even if no item arrives. */
async function* untilAborted<T>(input: AsyncIterable<T>, signal: AbortSignal | undefined) {
  const iterator = input[Symbol.asyncIterator]();
  for (;;) {
    const next = await orAborted(iterator.next(), signal);
    if (next.done) return;
    yield next.value;
  }
}
