import { open, readdir, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { exitCodes, MediactlError } from './errors.ts';
import { makeFolder, makeStateFolder } from './folders.ts';

/** Held until it is released, or until its process ends in whatever way. */
export type Lock = { release(): void };

/**
 * Takes an exclusive lock on a file, which is made if missing and stays: a lock file that is removed
 * while others open it would have two holders. It is SQLite's own lock, which the kernel keeps for the
 * process: nothing is left to clean up after a kill, and it holds between containers, whose process
 * ids say nothing of each other. Nobody may open the file by other means meanwhile.
 *
 * @returns undefined where somebody else holds it, this process included
 * @throws Error where the file cannot be made or locked
 */
export async function tryLock(path: string): Promise<Lock | undefined> {
  // SQLite would make it readable for others. An open file of ours would end its lock (POSIX).
  await open(path, 'wx', 0o600).then(
    (handle) => handle.close(),
    (error: NodeJS.ErrnoException) => {
      if (error.code !== 'EEXIST') throw error;
    },
  );
  const { default: Database } = await import('libsql');
  const database = new Database(path);
  try {
    database.exec('BEGIN EXCLUSIVE');
  } catch (error) {
    database.close();
    if ((error as { code?: string }).code === 'SQLITE_BUSY') return undefined;
    throw error;
  }
  return {
    release: () => {
      database.exec('ROLLBACK');
      database.close();
    },
  };
}

/** A lock to wait for: its file, how long at most (milliseconds), and the error where it was not to be had. */
export type Wanted = { path: string; waitMs: number; busy: () => Error };

const shortestPauseMs = 2;
const longestPauseMs = 30;

/** Does the work while holding the lock, for which it waits; the lock's folder is made if need be. */
export async function whileLocked<T>(wanted: Wanted, work: () => Promise<T>): Promise<T> {
  await makeFolder(dirname(wanted.path));
  const lock = await lockWithin(wanted);
  try {
    return await work();
  } finally {
    lock.release();
  }
}

async function lockWithin({ path, waitMs, busy }: Wanted): Promise<Lock> {
  const deadline = performance.now() + waitMs;
  for (;;) {
    const lock = await tryLock(path);
    if (lock) return lock;
    if (performance.now() > deadline) throw busy();
    // Of those that wait, none is always the one that comes too late.
    const pauseMs = shortestPauseMs + Math.random() * (longestPauseMs - shortestPauseMs);
    await new Promise((resolve) => setTimeout(resolve, pauseMs));
  }
}

const ending = '.lock';
/** The gate is taken and left within a millisecond. */
const gateWaitMs = 10_000;

/**
 * Locks by name in a folder. A name's file is there while it is held, and after a kill until it is
 * swept: it comes and goes under `FOLDER.lock`, which stays, so that nobody opens one that is about to
 * be removed.
 */
export class NamedLocks {
  readonly #folder: string;

  constructor(folder: string) {
    this.#folder = folder;
  }

  /**
   * @returns what lets go of it again; undefined where somebody else holds it, this process included
   * @throws MediactlError `folder` where the folder cannot be made, `locked`; Error from the system
   */
  async take(name: string): Promise<(() => Promise<void>) | undefined> {
    await makeStateFolder(this.#folder);
    const path = join(this.#folder, `${name}${ending}`);
    const lock = await this.#whileGateIsHeld(() => tryLock(path));
    return (
      lock &&
      (async () => {
        // The work is done in any case: a file that stays is for whoever sweeps.
        await this.#whileGateIsHeld(() => rm(path, { force: true })).catch(() => {});
        lock.release();
      })
    );
  }

  /**
   * Removes what killed processes left, and their locks. All under the gate: whoever takes one of these
   * names meanwhile waits for a moment, and is not told that it is taken.
   */
  async sweep(removeLeftovers: (name: string) => Promise<void> = async () => {}): Promise<void> {
    const names = await readdir(this.#folder).catch(() => []); // there is no such folder yet
    for (const file of names.filter((each) => each.endsWith(ending))) {
      const name = file.slice(0, -ending.length);
      await this.ifAbandoned(name, () => removeLeftovers(name));
    }
  }

  /**
   * Does what is left to do where the holder of a name is gone, and removes its lock; under the gate,
   * as `sweep` does.
   *
   * @returns false where somebody holds it
   */
  async ifAbandoned(name: string, work: () => Promise<void>): Promise<boolean> {
    await makeStateFolder(this.#folder);
    const path = join(this.#folder, `${name}${ending}`);
    return this.#whileGateIsHeld(async () => {
      const lock = await tryLock(path);
      if (!lock) return false;
      try {
        await work();
        await rm(path, { force: true });
        return true;
      } finally {
        lock.release();
      }
    });
  }

  #whileGateIsHeld<T>(work: () => Promise<T>): Promise<T> {
    const path = `${this.#folder}${ending}`;
    return whileLocked({ path, waitMs: gateWaitMs, busy: () => locked(path) }, work);
  }
}

/** Another process holds a lock for longer than the work under it can take. */
export const locked = (path: string) =>
  new MediactlError('another mediactl process is at the same work', {
    code: 'locked',
    exitCode: exitCodes.unclassified,
    reason: `it holds ${path}`,
    hint: 'run it again once that one has ended',
  });
