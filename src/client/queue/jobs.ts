import type { QueueClient, QueueJob } from './queue-client.ts';

/** Job states of BullMQ. */
export type JobState = 'failed' | 'active' | 'delayed' | 'prioritized' | 'waiting' | 'completed';

const pageSize = 200;

/** Yields the jobs in a state in batches, oldest first. Jobs that change their state meanwhile might be missed. */
export async function* listJobs({ queue, withRetry }: QueueClient, state: JobState): AsyncGenerator<QueueJob[]> {
  for (let offset = 0; ; offset += pageSize) {
    const jobs = await withRetry(() => queue.getJobs([state], offset, offset + pageSize - 1, true));
    yield jobs.filter((job) => job) as QueueJob[];
    if (jobs.length < pageSize) return;
  }
}

/** Requeues a failed job. @returns false if it is no longer failed, or was removed */
export async function retryFailed(job: QueueJob): Promise<boolean> {
  if (!(await job.isFailed())) return false;
  await job.retry('failed', { resetAttemptsMade: true }).catch(async (error) => {
    if (await job.isFailed()) throw error; // else it was retried concurrently
  });
  return true;
}

/** Counts the unfinished and failed jobs and the connected workers. */
export async function countJobs({ queue }: Pick<QueueClient, 'queue'>) {
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
