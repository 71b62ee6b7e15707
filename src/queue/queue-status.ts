import { asObject } from '../shared/json-values.ts';
import { type JobState, parseFailure } from './jobs.ts';
import { type QueueClient, type QueueJob, type RootQueue, rootOf } from './queue-client.ts';

/** Number of delayed jobs of a root that are read to find the oldest one. */
const oldestSampleSize = 200;
/** Number of jobs of a root whose errors are read to say why a queue stands still. */
const errorSampleSize = 50;

const unfinishedStates = ['waiting', 'active', 'delayed'] as const;

/**
 * Reads the state of a queue, in five requests for each root: its unfinished and failed files, whether and for how long
 * they wait, and who can take them. Rejects while the store is down.
 */
export async function queueStatus(client: Pick<QueueClient, 'queues'>) {
  const queues = await client.queues();
  const each = await Promise.all(queues.map(rootStatus));
  const counts: Record<string, number> = {};
  for (const status of each)
    for (const [state, count] of Object.entries(status.counts)) counts[state] = (counts[state] ?? 0) + count;
  const unserved = each.flatMap(({ unfinished, workers }, at) =>
    at > 0 && unfinished > 0 && workers?.length === 0 ? [[rootOf(queues[at]?.name), unfinished] as const] : [],
  );
  const times = each.flatMap(({ oldestAt }) => oldestAt ?? []);
  return {
    /** Number of files by state: `waiting`, `active`, `delayed`, `failed`. */
    counts,
    unfinished: each.reduce((sum, { unfinished }) => sum + unfinished, 0),
    failed: counts.failed ?? 0,
    isPaused: each.some(({ isPaused }) => isPaused),
    /** Time when the oldest job that waits, also for a retry, was queued, in milliseconds since the epoch. */
    oldestAt: times.length === 0 ? undefined : Math.min(...times),
    /** Names of the connected workers, each of which reads this queue; undefined for stores that do not list their clients. */
    workers: each[0]?.workers,
    /** Number of unfinished files below roots that no connected worker has, by root name. */
    unserved: new Map(unserved),
  };
}

export async function countUnfinished(client: QueueClient): Promise<number> {
  const counted = (await client.queues()).map((queue) =>
    client.withRetry(() => queue.getJobCountByTypes(...unfinishedStates)),
  );
  return (await Promise.all(counted)).reduce((sum, count) => sum + count, 0);
}

async function rootStatus(queue: RootQueue) {
  const [counts, isPaused, waiting, delayed, workers] = await Promise.all([
    queue.getJobCounts(...unfinishedStates, 'failed'),
    queue.isPaused(),
    queue.getJobs(['waiting'], 0, 0, true),
    queue.getJobs(['delayed'], 0, oldestSampleSize - 1, true),
    workerNames(queue),
  ]);
  const { failed: _, ...unfinished } = counts;
  const times = [...waiting, ...delayed].flatMap((job) => job?.timestamp ?? []);
  return {
    counts,
    unfinished: Object.values(unfinished).reduce((sum, count) => sum + count, 0),
    isPaused,
    oldestAt: times.length === 0 ? undefined : Math.min(...times),
    workers,
  };
}

/** Returns the names of the connected workers of a root; undefined for stores that do not list their clients. */
export const workerNames = (queue: RootQueue): Promise<string[] | undefined> =>
  queue.getWorkers().then(
    (workers) => workers.flatMap(({ rawname }) => /:w:(.*)/.exec(rawname ?? '')?.[1] ?? []),
    () => undefined,
  );

/** Reads the first jobs in some states of each root. */
async function sampleJobs(client: QueueClient, ...states: JobState[]): Promise<QueueJob[]> {
  const pages = (await client.queues()).map((queue) =>
    client.withRetry(() => queue.getJobs([...states], 0, errorSampleSize - 1, true)),
  );
  return (await Promise.all(pages)).flat();
}

/** Returns an error message of a job that waits in a paused queue, usually that credits or storage are used up. */
export async function pauseReason(client: QueueClient): Promise<string> {
  const errors = (await sampleJobs(client, 'waiting')).map(({ progress }) => asObject(progress).error);
  const first = errors.find(Boolean);
  return first ? parseFailure(JSON.stringify(first)).message : 'another program may have paused it';
}

/** Returns the most common error codes of jobs that failed or are to be retried, with their number in a sample. */
export async function commonErrors(client: QueueClient): Promise<[code: string, count: number][]> {
  const counts = new Map<string, number>();
  for (const { progress, failedReason } of await sampleJobs(client, 'delayed', 'failed')) {
    const { error } = asObject(progress);
    const { code } = parseFailure(error ? JSON.stringify(error) : (failedReason ?? '')).explanation;
    counts.set(code, (counts.get(code) ?? 0) + 1);
  }
  return [...counts].sort(([, a], [, b]) => b - a).slice(0, 3);
}
