import { randomUUID } from 'node:crypto';
import { open, readdir, realpath, rename, rm, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { exitCodes, MediactlError, usageError } from '../../errors.ts';
import { makeStateFolder } from '../../folders.ts';
import { NamedLocks } from '../../lock.ts';
import { openChecksum } from './checksum.ts';

/** All of stdin, on the disk. */
export type Spooled = {
  sizeBytes: number;
  blake3: string;
  /** Gives it a name to be found by. Under one that is there already, the bytes are the same. */
  keepAs(name: string): Promise<string>;
};

/**
 * Where stdin is kept until it is uploaded, whose length must be known before that starts. It is the
 * only copy: only an upload that is settled, or that somebody forgets, ends it. A folder of 0700, files
 * of 0600; `NAME.part` is still being written by whoever holds `NAME.lock`.
 */
export class Spool {
  readonly #directory: string;
  readonly #locks: NamedLocks;

  constructor(stateDir: string, say?: (message: string) => void) {
    this.#directory = join(stateDir, 'spool');
    this.#locks = new NamedLocks(this.#directory, say);
  }

  /** @throws MediactlError `usage` for nothing at all, `spool` where it cannot be written */
  async take(input: AsyncIterable<Buffer | string>, signal?: AbortSignal): Promise<Spooled> {
    await makeStateFolder(this.#directory);
    const directory = await realpath(this.#directory);
    const taken = randomUUID();
    const part = join(directory, `${taken}.part`);
    const release = await this.#locks.take(taken);
    try {
      const { sizeBytes, blake3 } = await written(part, input, signal);
      if (sizeBytes === 0)
        throw usageError('nothing came on stdin', 'check the command before the pipe');
      const keepAs = async (name: string) => {
        const kept = join(directory, name);
        if ((await stat(kept).catch(() => undefined))?.size === sizeBytes)
          await rm(part, { force: true });
        else await rename(part, kept);
        await release?.();
        return kept;
      };
      return { sizeBytes, blake3, keepAs };
    } catch (error) {
      await rm(part, { force: true });
      await release?.();
      throw error;
    }
  }

  /** Whether a file is ours, to be removed once it is uploaded or forgotten. */
  async owns(path: string): Promise<boolean> {
    return dirname(path) === (await realpath(this.#directory).catch(() => undefined));
  }

  /** The names of what is kept, and since when (milliseconds since the epoch). */
  async list(): Promise<{ name: string; path: string; since: number }[]> {
    const names = await readdir(this.#directory).catch(() => []); // nothing was ever kept
    const kept = names.filter((name) => !name.includes('.'));
    return Promise.all(
      kept.map(async (name) => {
        const path = join(this.#directory, name);
        const found = await stat(path).catch(() => undefined); // it went meanwhile
        return { name, path, since: found?.mtimeMs ?? Number.POSITIVE_INFINITY };
      }),
    );
  }

  /** Removes what is kept under a name. */
  async forget(name: string): Promise<void> {
    await rm(join(this.#directory, name), { force: true });
  }

  /** Removes a file of ours; any other stays. */
  async remove(path: string): Promise<void> {
    if (await this.owns(path)) await rm(path, { force: true });
  }

  /** Removes what processes left that were killed while stdin still came. */
  async sweep(): Promise<void> {
    await this.#locks.sweep((name) => rm(join(this.#directory, `${name}.part`), { force: true }));
  }
}

/** Writes all of it to the disk, hashed on its way. */
async function written(
  path: string,
  input: AsyncIterable<Buffer | string>,
  signal: AbortSignal | undefined,
): Promise<{ sizeBytes: number; blake3: string }> {
  const handle = await open(path, 'wx', 0o600).catch((error) => {
    throw cannotSpool(path, error);
  });
  try {
    const checksum = await openChecksum();
    let sizeBytes = 0;
    for await (const part of untilAborted(input, signal)) {
      const bytes = Buffer.from(part);
      await handle.appendFile(bytes).catch((error) => {
        throw cannotSpool(path, error);
      });
      checksum.update(bytes);
      sizeBytes += bytes.length;
    }
    await handle.sync();
    return { sizeBytes, blake3: checksum.digest() };
  } finally {
    await handle.close();
  }
}

/** A pipe that brings nothing must not outlast its reader's patience. */
async function* untilAborted<T>(input: AsyncIterable<T>, signal: AbortSignal | undefined) {
  const iterator = input[Symbol.asyncIterator]();
  const aborted = new Promise<never>((_, reject) => {
    if (signal?.aborted) reject(signal.reason);
    signal?.addEventListener('abort', () => reject(signal.reason), { once: true });
  });
  aborted.catch(() => {}); // it may come when nobody waits any more
  for (;;) {
    const next = await Promise.race([iterator.next(), aborted]);
    if (next.done) return;
    yield next.value;
  }
}

const cannotSpool = (path: string, underlying: Error) =>
  new MediactlError('cannot keep what comes on stdin', {
    code: 'spool',
    exitCode: exitCodes.unclassified,
    reason: `${path}: ${underlying.message}`,
    hint: 'make room, set MEDIACTL_STATE_DIR, or upload a file',
    underlying,
  });
