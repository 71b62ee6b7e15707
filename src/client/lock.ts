import { existsSync } from 'node:fs';
import { open, readdir, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { type Clock, systemClock } from './clock.ts';
import { exitCodes, MediactlError } from './errors.ts';
import { makeFolder, makeStateFolder } from './folders.ts';
import { loadLibsql } from './libsql.ts';
import { stateError, stateFailure } from './state-error.ts';

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
  const Database = await loadLibsql();
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

/** Whether a lock is taken. It may be asked by several at once, and never takes the lock itself. */
async function isTaken(path: string): Promise<boolean> {
  const Database = await loadLibsql();
  const database = new Database(path);
  try {
    database.exec('SELECT 1 FROM sqlite_master'); // a prepared statement would keep the file open
    return false;
  } catch (error) {
    if ((error as { code?: string }).code === 'SQLITE_BUSY') return true;
    throw error;
  } finally {
    database.close();
  }
}

/** How long something is waited for, in milliseconds; `say` reports that it takes longer than some seconds. */
type Waiting = {
  waitMs: number;
  clock?: Clock;
  signal?: AbortSignal | undefined;
  say?: ((message: string) => void) | undefined;
};

/** A lock to wait for: its file, how long at most, and the error where it was not to be had. */
export type Wanted = Waiting & { path: string; busy: () => Error };

const silentMs = 2_000;
const shortestPauseMs = 2;
const longestPauseMs = 30;

/** Tries until it succeeds. @returns undefined where a file was held by others all the time */
export async function retryWhileHeld<T>(
  path: string,
  { waitMs, clock = systemClock, signal, say = () => {} }: Waiting,
  attempt: () => Promise<T | undefined>,
): Promise<T | undefined> {
  const startedAt = clock.now();
  for (let isReported = false; ; ) {
    const result = await attempt();
    const waitedMs = clock.now() - startedAt;
    if (result !== undefined || waitedMs > waitMs) return result;
    if (waitedMs > silentMs && !isReported) {
      isReported = true;
      say(`another program holds ${path}; waiting for it`);
    }
    // Jitter: no waiter is always the one that comes too late.
    const pauseMs = shortestPauseMs + Math.random() * (longestPauseMs - shortestPauseMs);
    await clock.sleep(pauseMs, signal);
  }
}

/** Does the work while holding the lock, for which it waits; the lock's folder is made if need be. */
export async function whileLocked<T>(wanted: Wanted, work: () => Promise<T>): Promise<T> {
  await makeFolder(dirname(wanted.path));
  const lock = await retryWhileHeld(wanted.path, wanted, () => tryLock(wanted.path));
  if (!lock) throw wanted.busy();
  try {
    return await work();
  } finally {
    lock.release();
  }
}

const ending = '.lock';
/** The gate is taken and left within milliseconds, by each of many processes. */
const gateWaitMs = 60_000;

/**
 * Locks by name in a folder. A name's file is there while it is held, and after a kill until it is
 * swept: it comes and goes under `FOLDER.lock`, which stays, so that nobody opens one that is about to
 * be removed.
 */
export class NamedLocks {
  readonly #folder: string;
  readonly #say: Wanted['say'];

  /** @param say reports that others hold a lock for some seconds */
  constructor(folder: string, say?: Wanted['say']) {
    this.#folder = folder;
    this.#say = say;
  }

  /**
   * @returns what lets go of it again; undefined where somebody else holds it, this process included
   * @throws MediactlError `folder` where the folder cannot be made, `state_…`
   */
  async take(name: string): Promise<(() => Promise<void>) | undefined> {
    await makeStateFolder(this.#folder);
    const path = this.#path(name);
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
    const locks = names.filter((each) => each.endsWith(ending));
    if (locks.length === 0) return;
    await this.#whileGateIsHeld(async () => {
      for (const file of locks) {
        const name = file.slice(0, -ending.length);
        await this.#removeIfAbandoned(name, () => removeLeftovers(name));
      }
    });
  }

  /**
   * Does what is left to do where the holder of a name is gone, and removes its lock; under the gate,
   * as `sweep` does. For names that are taken once: a holder that lives is seen without the gate.
   *
   * @returns false where the name is held
   */
  async ifAbandoned(name: string, work: () => Promise<void>): Promise<boolean> {
    try {
      const path = this.#path(name);
      if (existsSync(path) && (await isTaken(path))) return false;
    } catch (error) {
      throw stateError(error, this.#folder);
    }
    return this.#whileGateIsHeld(() => this.#removeIfAbandoned(name, work));
  }

  async #removeIfAbandoned(name: string, work: () => Promise<void>): Promise<boolean> {
    const path = this.#path(name);
    if (existsSync(path) && (await isTaken(path))) return false;
    await work();
    await rm(path, { force: true });
    return true;
  }

  #path(name: string): string {
    return join(this.#folder, `${name}${ending}`);
  }

  async #whileGateIsHeld<T>(work: () => Promise<T>): Promise<T> {
    const path = `${this.#folder}${ending}`;
    const busy = () => stateFailure('state_locked', `${path} is locked`);
    try {
      return await whileLocked({ path, waitMs: gateWaitMs, busy, say: this.#say }, work);
    } catch (error) {
      throw stateError(error, path);
    }
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
