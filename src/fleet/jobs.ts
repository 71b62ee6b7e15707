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
