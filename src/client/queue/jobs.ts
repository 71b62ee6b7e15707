import type { Fleet, UploadJobOfQueue } from './fleet.ts';

/** Job states of BullMQ. */
export type EngineState = 'failed' | 'active' | 'delayed' | 'prioritized' | 'waiting' | 'completed';

const pageSize = 200;

/**
 * Lists the jobs in a state page by page, oldest first. Jobs that change their state meanwhile may be missed.
 */
export async function* jobsIn(
  { queue, patiently }: Fleet,
  state: EngineState,
): AsyncGenerator<UploadJobOfQueue[]> {
  for (let at = 0; ; at += pageSize) {
    const jobs = await patiently(() => queue.getJobs([state], at, at + pageSize - 1, true));
    yield jobs.filter((job) => job) as UploadJobOfQueue[];
    if (jobs.length < pageSize) return;
  }
}

/** Requeues a failed job. @returns false if it is no longer failed, or was removed */
export async function retryFailed(job: UploadJobOfQueue): Promise<boolean> {
  if (!(await job.isFailed())) return false;
  await job.retry('failed', { resetAttemptsMade: true }).catch(async (error) => {
    if (await job.isFailed()) throw error; // else it was retried concurrently
  });
  return true;
}

/** Counts the unfinished and failed jobs and the connected workers. */
export async function queueCounts({ queue }: Pick<Fleet, 'queue'>) {
  const { failed = 0, ...unfinished } = await queue.getJobCounts(
    ...(['waiting', 'active', 'delayed', 'prioritized', 'failed'] as const),
  );
  return {
    failed,
    unfinished: Object.values(unfinished).reduce((sum, count) => sum + count, 0),
    // Undefined for managed stores that do not list their clients.
    workers: (await queue.getWorkers().catch(() => undefined))?.length,
  };
}
