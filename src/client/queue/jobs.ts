import type { Fleet, UploadJobOfQueue } from './fleet.ts';

/** What the engine calls the states that a job may be in. */
export type EngineState = 'failed' | 'active' | 'delayed' | 'prioritized' | 'waiting' | 'completed';

const pageSize = 200;

/**
 * The jobs of a state, in the order of their queueing; those that move meanwhile may be passed over.
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

/** Puts a failed file back into the queue. @returns false where it is not failed any more, or gone */
export async function retryFailed(job: UploadJobOfQueue): Promise<boolean> {
  if (!(await job.isFailed())) return false;
  await job.retry('failed', { resetAttemptsMade: true }).catch(async (error) => {
    if (await job.isFailed()) throw error; // else somebody else has done it meanwhile
  });
  return true;
}

/** How many files are to be done and have failed, and who is there to do them. */
export async function queueCounts({ queue }: Pick<Fleet, 'queue'>) {
  const { failed = 0, ...unfinished } = await queue.getJobCounts(
    ...(['waiting', 'active', 'delayed', 'prioritized', 'failed'] as const),
  );
  return {
    failed,
    unfinished: Object.values(unfinished).reduce((sum, count) => sum + count, 0),
    // Some managed stores do not tell who is connected.
    workers: (await queue.getWorkers().catch(() => undefined))?.length,
  };
}
