import type { Clock } from '../clock.ts';
import { exitCodes, MediactlError } from '../errors.ts';
import type { Fleet } from './fleet.ts';
import type { Roots } from './roots.ts';
import { taskIn, type UploadTask } from './task.ts';

/** Id of the entry that each check writes to the store and removes. */
const trialId = 'self-check';
const sampleStarts = [0, 0.25, 0.5, 0.75];
const samplePageSize = 5;

type Checked = { roots: Roots; clock: Clock; leaseMs: number; warn(text: string): void };

/**
 * Checks a worker's clock, its store and its roots.
 *
 * @throws MediactlError `clock_differs` (2), `newer_task` (2); as `Roots.assertFilesExist`; errors of the store
 */
export async function selfCheck(fleet: Fleet, { roots, ...checked }: Checked): Promise<void> {
  await assertClock(fleet, checked);
  await fleet.store.claim(trialId);
  await fleet.store.forget([trialId]);
  await roots.assertHolds(await sampleTasks(fleet));
}

/** Compares this machine's clock with the store's, with the round trip as tolerance. */
async function assertClock(
  { store, address }: Fleet,
  { clock, leaseMs, warn }: Omit<Checked, 'roots'>,
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
  // BullMQ expires leases by the server's clock on Redis, by the workers' clocks on PostgreSQL.
  if (address.store === 'redis') return warn(`${problem}; ${hint}`);
  throw new MediactlError(problem, {
    code: 'clock_differs',
    exitCode: exitCodes.usage,
    reason: `it would take files from other workers; ${leaseMs / 4_000} s, a quarter of --lease, do no harm`,
    hint,
  });
}

/** Reads a sample of jobs that were never started, from several parts of the queue. @throws MediactlError `newer_task` */
async function sampleTasks({ queue, patiently }: Fleet): Promise<UploadTask[]> {
  const { waiting = 0 } = await patiently(() => queue.getJobCounts('waiting'));
  const pages = sampleStarts.map((share) => {
    const from = Math.floor(waiting * share);
    return patiently(() => queue.getJobs(['waiting'], from, from + samplePageSize - 1, true));
  });
  const jobs = new Map((await Promise.all(pages)).flat().map((job) => [job?.id, job]));
  return [...jobs.values()].flatMap((job) => {
    try {
      const task = taskIn(job?.data);
      return job.attemptsStarted === 0 ? [task] : [];
    } catch (error) {
      if ((error as MediactlError).explanation.code === 'newer_task') throw error;
      return [];
    }
  });
}
