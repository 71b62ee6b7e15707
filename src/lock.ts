import { randomUUID } from 'node:crypto';
import { link, mkdir, open, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { isRunning, type Processes, processStat } from './processes.ts';

/** Who holds a lock: the pid, and when that process started, since pids are used again. */
type Holder = { pid: number; startedAt: string };

const takeoverStaleMs = 5_000;

/** A lock that was got, or the process that has it. */
export type Lock = { release: () => Promise<void> } | { heldBy: number | undefined };

/**
 * An exclusive lock that a killed process does not keep: a file naming its holder, linked into
 * place whole, so that no reader ever sees half of it. A dead holder's lock is taken over.
 */
export async function tryLock(path: string, processes: Processes): Promise<Lock> {
  const mine = `${path}.${randomUUID()}`;
  await writeFile(mine, JSON.stringify(await holderOf(processes.pid)), { mode: 0o600 });
  try {
    for (let tries = 0; tries < 100; tries++) {
      if (await linked(mine, path)) return { release: () => rm(path, { force: true }) };
      const holder = await readHolder(path);
      if (holder && (await isAlive(holder, processes))) return { heldBy: holder.pid };
      await clearStale(path, processes);
    }
    return { heldBy: undefined };
  } finally {
    await rm(mine, { force: true });
  }
}

const pauseMs = 20;

/** A lock to wait for: its file, how long at most, and the error where it was not to be had. */
export type Wanted = { path: string; waitMs: number; busy: () => Error };

/** Does the work while holding the lock, for which it waits; the lock's folder is made if need be. */
export async function whileLocked<T>(
  wanted: Wanted,
  processes: Processes,
  work: () => Promise<T>,
): Promise<T> {
  await mkdir(dirname(wanted.path), { recursive: true, mode: 0o700 });
  const release = await lockWithin(wanted, processes);
  try {
    return await work();
  } finally {
    await release();
  }
}

async function lockWithin(
  { path, waitMs, busy }: Wanted,
  processes: Processes,
): Promise<() => Promise<void>> {
  for (let tries = 0; tries <= waitMs / pauseMs; tries++) {
    const lock = await tryLock(path, processes);
    if ('release' in lock) return lock.release;
    await new Promise((resolve) => setTimeout(resolve, pauseMs));
  }
  throw busy();
}

async function linked(from: string, to: string): Promise<boolean> {
  try {
    await link(from, to);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw error;
  }
}

/** Only one process may clear a dead holder's lock, or it might clear its rival's living one. */
async function clearStale(path: string, processes: Processes): Promise<void> {
  const gate = `${path}.takeover`;
  try {
    await (await open(gate, 'wx', 0o600)).close();
  } catch {
    const age = await stat(gate).then(
      ({ mtimeMs }) => Date.now() - mtimeMs,
      () => 0,
    );
    if (age > takeoverStaleMs) await rm(gate, { force: true });
    return new Promise((resolve) => setTimeout(resolve, 20));
  }
  try {
    const holder = await readHolder(path);
    if (!holder || !(await isAlive(holder, processes))) await rm(path, { force: true });
  } finally {
    await rm(gate, { force: true });
  }
}

async function readHolder(path: string): Promise<Holder | undefined> {
  try {
    return JSON.parse(await readFile(path, 'utf8')) as Holder;
  } catch {
    return undefined; // released meanwhile, or no lock of ours: as good as dead
  }
}

const isAlive = async ({ pid, startedAt }: Holder, processes: Processes): Promise<boolean> =>
  (await isRunning(processes, pid)) && (await holderOf(pid)).startedAt === startedAt;

/** Linux tells when a process started; elsewhere the pid alone must do. */
const holderOf = async (pid: number): Promise<Holder> => ({
  pid,
  startedAt: (await processStat(pid))[19] ?? '',
});
