import type { Clock } from '../../contract/clock.ts';
import { MediactlError } from '../errors.ts';
import type { QueueClient } from './queue-client.ts';
import type { Roots } from './roots.ts';
import { parseTask, type UploadTask } from './task.ts';

/** Id of the claim that each check writes to the store and removes. */
const probeId = 'self-check';
const sampleOffsets = [0, 0.25, 0.5, 0.75];
const samplePageSize = 5;

type SelfCheckDeps = { roots: Roots; clock: Clock; leaseMs: number; warn(text: string): void };

/**
 * Checks a worker's clock, its store and its roots.
 *
 * @throws MediactlError `clock_differs` or `newer_task` (exit 2); as `Roots.assertFilesExist`; errors of the store
 */
export async function runSelfCheck(fleet: QueueClient, { roots, ...deps }: SelfCheckDeps): Promise<void> {
  await assertClock(fleet, deps);
  await fleet.store.claim(probeId);
  await fleet.store.remove([probeId]);
  await roots.assertFilesExist(await sampleTasks(fleet));
}

/** Checks that this machine's clock is within a quarter of the lease time of the store's. On Redis, only warns. */
async function assertClock(
  { store, address }: QueueClient,
  { clock, leaseMs, warn }: Omit<SelfCheckDeps, 'roots'>,
): Promise<void> {
  const before = clock.now();
  const storeNow = await store.now();
  const after = clock.now();
  const aheadMs = (before + after) / 2 - storeNow;
  if (Math.abs(aheadMs) <= leaseMs / 4 + (after - before) / 2) return;
  const seconds = (Math.abs(aheadMs) / 1_000).toFixed(1);
  const direction = aheadMs > 0 ? 'ahead of' : 'behind';
  const problem = `the clock here is ${seconds} s ${direction} that of ${address.label}`;
  const hint = 'set the clock by NTP, here or there';
  // BullMQ expires leases by the server's clock on Redis, but by the workers' clocks on PostgreSQL.
  if (address.store === 'redis') return warn(`${problem}; ${hint}`);
  throw new MediactlError(problem, {
    code: 'clock_differs',
    reason: `it would take files from other workers; ${leaseMs / 4_000} s, a quarter of --lease, do no harm`,
    hint,
  });
}

/**
 * Reads a sample of jobs that were never started, from several parts of the queue.
 *
 * @throws MediactlError `newer_task` (exit 2) if a newer version queued a job of the sample
 */
async function sampleTasks({ queue, withRetry }: QueueClient): Promise<UploadTask[]> {
  const { waiting = 0 } = await withRetry(() => queue.getJobCounts('waiting'));
  const pages = sampleOffsets.map((share) => {
    const from = Math.floor(waiting * share);
    return withRetry(() => queue.getJobs(['waiting'], from, from + samplePageSize - 1, true));
  });
  const jobs = new Map((await Promise.all(pages)).flat().map((job) => [job?.id, job]));
  return [...jobs.values()].flatMap((job) => {
    try {
      const task = parseTask(job?.data);
      return job.attemptsStarted === 0 ? [task] : [];
    } catch (error) {
      if ((error as MediactlError).explanation.code === 'newer_task') throw error;
      return [];
    }
  });
}
