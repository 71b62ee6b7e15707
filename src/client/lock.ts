import { existsSync, lstatSync } from 'node:fs';
import { readdir, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { type Clock, systemClock } from '../shared/clock.ts';
import { backoff, pollUntil } from '../shared/retry.ts';
import { CodedError } from './errors.ts';
import { openSqlite } from './load-package.ts';
import { stateError, stateFailure } from './state-error.ts';
import { createEmptyFile, makeStateFolder } from './state-files.ts';

/** An acquired lock. It is held until `release` is called or the process ends for any reason. */
export type Lock = { /** Does nothing if it is released already. */ release(): void };

/**
 * Acquires an exclusive lock on a file. Creates the file if it is missing but never removes it, because a process
 * that has already opened a removed file could hold the lock at the same time as another process. Uses a kernel
 * lock through SQLite, which is released automatically when the process is killed and works across containers,
 * where process ids are meaningless. Other code must not open the file.
 *
 * @returns undefined if the lock is already held, even by this process
 * @throws Error if the file cannot be created or locked
 */
export async function tryLock(path: string): Promise<Lock | undefined> {
  // Create the file before locking: SQLite would make it readable for other users, and closing any other handle of the
  // file later would release the lock (POSIX).
  await createEmptyFile(path).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'EEXIST') throw error;
    if (lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink()) throw new Error(`${path} is a link`);
  });
  const database = await openSqlite(path);
  try {
    database.exec('BEGIN EXCLUSIVE');
  } catch (error) {
    database.close();
    if ((error as { code?: string }).code === 'SQLITE_BUSY') return undefined;
    throw error;
  }
  let isHeld = true;
  const release = () => {
    if (!isHeld) return;
    isHeld = false;
    database.exec('ROLLBACK');
    database.close();
  };
  return { release };
}

/** Returns true if a lock is held. Reads the file for an instant, during which `tryLock` finds it held. */
async function isLocked(path: string): Promise<boolean> {
  if (!existsSync(path)) return false;
  const database = await openSqlite(path);
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

/** Options for a wait of at most `waitMs` for a lock. `onWait` is called once if the wait exceeds two seconds. */
type LockWaitOptions = {
  waitMs: number;
  clock?: Clock;
  signal?: AbortSignal | undefined;
  onWait?: ((message: string) => void) | undefined;
};

/** A request to lock the file at `path`. `busy` creates the error that is thrown if the wait times out. */
export type LockRequest = LockWaitOptions & { path: string; busy: () => Error };

const waitNoticeMs = 2_000;
/** Pause between attempts. Its jitter lets no waiter starve. */
const lockPause = { minMs: 20, maxMs: 20 };

/** Polls `attempt` until it returns a result. @returns undefined if no attempt succeeds within `waitMs` */
export async function retryUntilAcquired<T>(
  path: string,
  { waitMs, clock = systemClock, signal, onWait }: LockWaitOptions,
  attempt: () => Promise<T | undefined>,
): Promise<T | undefined> {
  const startedAt = clock.now();
  let notify = onWait;
  const check = async () => {
    const result = await attempt();
    const waitedMs = clock.now() - startedAt;
    if (result !== undefined || waitedMs > waitMs) return { result };
    if (waitedMs > waitNoticeMs) {
      notify?.(`another program has locked ${path}; waiting`);
      notify = undefined;
    }
    return undefined;
  };
  // The signal ends only the waits: what is free is acquired even after an abort.
  const waiting = { sleep: (delayMs: number) => clock.sleep(delayMs, signal) };
  return (await pollUntil(undefined, check, { clock: waiting, intervalMs: () => backoff(0, lockPause, clock) })).result;
}

/** Acquires a lock. Waits for it, and creates the folder of the lock file if it is missing. */
export async function waitForLock(request: LockRequest): Promise<Lock & { hasWaited: boolean }> {
  await makeStateFolder(dirname(request.path));
  let attempts = 0;
  const attempt = () => {
    attempts++;
    return tryLock(request.path);
  };
  const lock = await retryUntilAcquired(request.path, request, attempt);
  if (!lock) throw request.busy();
  return { ...lock, hasWaited: attempts > 1 };
}

/** Runs `work` while holding a lock, for which it waits. */
export async function withLock<T>(request: LockRequest, work: () => Promise<T>): Promise<T> {
  const lock = await waitForLock(request);
  try {
    return await work();
  } finally {
    lock.release();
  }
}

const lockSuffix = '.lock';
/** Maximum wait for the guard lock, which a process normally holds for only a few milliseconds. */
const guardTimeoutMs = 60_000;
/** Maximum time of a check by another process, which reads the lock file and so looks like its holder. */
const checkMs = 50;

/**
 * Named locks in a folder, one file per lock. After a crash, the file remains until `removeStale` or `ifStale`
 * removes it. The mutex `FOLDER.lock` (the guard lock), which is never deleted, serializes the creation and removal
 * of lock files, so that no process opens a lock file that is about to be removed.
 */
export class NamedLocks {
  readonly #folder: string;
  readonly #onWait: LockRequest['onWait'];

  /** @param onWait called if another process holds the guard lock for more than two seconds */
  constructor(folder: string, onWait?: LockRequest['onWait']) {
    this.#folder = folder;
    this.#onWait = onWait;
  }

  /**
   * Acquires a lock.
   *
   * @returns a function that releases the lock, or undefined if the lock is already held, even by this process
   * @throws CodedError `invalid_folder` (exit 1 or 2) if the folder cannot be created, or `state_…` (exit 14) if the
   *   lock file cannot be used
   */
  async acquire(name: string): Promise<(() => Promise<void>) | undefined> {
    await makeStateFolder(this.#folder);
    const path = this.#path(name);
    const lock = await this.#withGuard(() => retryUntilAcquired(path, { waitMs: checkMs }, () => tryLock(path)));
    if (!lock) return undefined;
    return async () => {
      // The protected work is complete even if the removal fails. `removeStale` removes the file later. Released first,
      // since Windows cannot remove an open file. Another process needs the guard lock to acquire it.
      const remove = async () => {
        lock.release();
        await rm(path, { force: true });
      };
      await this.#withGuard(remove).catch(() => lock.release());
    };
  }

  /** Removes the locks of crashed processes, after calling `removeLeftovers` for each of them. */
  async removeStale(removeLeftovers: (name: string) => Promise<void> = async () => {}): Promise<void> {
    for (const name of await this.#names()) await this.ifStale(name, () => removeLeftovers(name));
  }

  async #names(): Promise<string[]> {
    const files = await readdir(this.#folder).catch(() => []); // the folder does not exist yet
    return files.filter((file) => file.endsWith(lockSuffix)).map((file) => file.slice(0, -lockSuffix.length));
  }

  /**
   * Runs `work` if the holder of a name has crashed, then removes its lock. Holds the guard lock meanwhile, so that a
   * process that acquires the name waits briefly instead of finding it locked. Only for names that are never reused,
   * because a live holder is detected without the guard lock.
   *
   * @returns false if the name is locked
   */
  async ifStale(name: string, work: () => Promise<void>): Promise<boolean> {
    const path = this.#path(name);
    try {
      if (await isLocked(path)) return false;
    } catch (error) {
      throw stateError(error, this.#folder);
    }
    return this.#withGuard(async () => {
      if (await isLocked(path)) return false;
      await work();
      await rm(path, { force: true });
      return true;
    });
  }

  #path(name: string): string {
    return join(this.#folder, `${name}${lockSuffix}`);
  }

  async #withGuard<T>(work: () => Promise<T>): Promise<T> {
    const path = `${this.#folder}${lockSuffix}`;
    const busy = () => stateFailure('state_locked', `${path} is locked`);
    try {
      return await withLock({ path, waitMs: guardTimeoutMs, busy, onWait: this.#onWait }, work);
    } catch (error) {
      throw stateError(error, path);
    }
  }
}

/** Creates the error for a lock that another process has held for longer than its work should take. */
export const lockTimeoutError = (path: string) =>
  new CodedError('another process is already doing this', {
    code: 'locked',
    reason: `it has locked ${path}`,
  });
