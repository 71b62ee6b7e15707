import type { Clock } from '../../contract/clock.ts';
import { asArray, asObject } from '../../contract/json-values.ts';
import type { QueueClient, QueueJob } from './queue-client.ts';

const maxStandbyMs = 1_000;

/** Returns the names of the workers that have not found a job's file since the job was queued or retried. */
export const workersMissingFile = ({ progress, attemptsMade }: QueueJob): string[] =>
  attemptsMade === 0 ? [] : asArray(asObject(progress).missedBy).filter((name) => typeof name === 'string');

type YieldingWorker = { name: string; leaseMs: number; clock: Clock; signal: AbortSignal };

/**
 * Requeues a job whose file this worker did not find, so that a worker that has not tried yet takes the job. The
 * attempt does not count. Pauses this worker for a moment.
 *
 * @returns false, without requeueing, if all connected workers have tried or this worker has not
 */
export async function yieldToOtherWorkers(
  { queue, withRetry }: QueueClient,
  job: QueueJob,
  token: string | undefined,
  { name, leaseMs, clock, signal }: YieldingWorker,
): Promise<boolean> {
  const missing = workersMissingFile(job);
  if (!missing.includes(name)) return false;
  // Some managed stores do not list their clients; PostgreSQL truncates long names.
  const workers = await withRetry(() => queue.getWorkers()).catch(() => []);
  const names = workers.flatMap(({ rawname }) => rawname?.split(':w:')[1] ?? []);
  if (names.every((other) => missing.some((each) => each.startsWith(other)))) return false;
  // Less than the interval after which BullMQ would renew the lease.
  const standbyMs = Math.min(maxStandbyMs, leaseMs / 5);
  // Randomly before or after this worker's next poll, as PostgreSQL puts the job back at the head of the queue.
  const until = clock.now() + standbyMs * (clock.random() < 0.5 ? 0.3 : 2);
  await withRetry(() => job.moveToDelayed(until, token));
  await clock.sleep(standbyMs, signal).catch(() => {});
  return true;
}
