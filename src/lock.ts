import { open } from 'node:fs/promises';
import { dirname } from 'node:path';
import { makeFolder } from './folders.ts';

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
