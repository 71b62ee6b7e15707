import type { Fleet, UploadJobOfQueue } from './fleet.ts';

/** What the engine calls the states that a job may be in. */
export type EngineState = 'failed' | 'active' | 'delayed' | 'prioritized' | 'waiting' | 'completed';

const pageSize = 200;

/**
 * The jobs of a state, in the order of their queueing; those that move meanwhile may be passed over, and
 * those that cannot be read are.
 */
export async function* jobsIn(
  { queue }: Fleet,
  state: EngineState,
): AsyncGenerator<UploadJobOfQueue[]> {
  for (let at = 0; ; at += pageSize) {
    const page = (size: number, from: number) =>
      queue.getJobs([state], from, from + size - 1, true);
    const jobs = await page(pageSize, at).catch(async (error) => {
      // One that is no JSON keeps all of its page from being read: then one by one.
      const counts = await queue.getJobCounts(state);
      const left = Math.min(pageSize, (counts[state] ?? 0) - at);
      if (!(error instanceof SyntaxError) || left <= 0) throw error;
      const each = Array.from({ length: left }, (_, n) => page(1, at + n).catch(() => []));
      return (await Promise.all(each)).map(([job]) => job);
    });
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
