import { asArray, asObject } from '../../contract/json-values.ts';
import type { Clock } from '../clock.ts';
import type { Fleet, UploadJobOfQueue } from './fleet.ts';

const longestAsideMs = 1_000;

/** Returns the names of the workers that did not find a job's file since it was queued or retried. */
export const missedBy = ({ progress, attemptsMade }: UploadJobOfQueue): string[] =>
  attemptsMade === 0
    ? []
    : asArray(asObject(progress).missedBy).filter((name) => typeof name === 'string');

type Worker = { name: string; leaseMs: number; clock: Clock; signal: AbortSignal };

/**
 * Requeues a job whose file this worker did not find, so that a worker that has not tried yet takes it.
 * The attempt does not count. Pauses this worker for a moment.
 *
 * @returns false if all connected workers have tried, or this one has not
 */
export async function leftToOthers(
  { queue, patiently }: Fleet,
  job: UploadJobOfQueue,
  token: string | undefined,
  { name, leaseMs, clock, signal }: Worker,
): Promise<boolean> {
  const missed = missedBy(job);
  if (!missed.includes(name)) return false;
  // Some managed stores do not list their clients; PostgreSQL truncates long names.
  const workers = await patiently(() => queue.getWorkers()).catch(() => []);
  const names = workers.flatMap(({ rawname }) => rawname?.split(':w:')[1] ?? []);
  if (names.every((other) => missed.some((each) => each.startsWith(other)))) return false;
  // Less than the interval after which the engine would renew the lease.
  const asideMs = Math.min(longestAsideMs, leaseMs / 5);
  // At random before or after this worker polls again: on PostgreSQL the job returns to the head of the queue.
  const until = clock.now() + asideMs * (clock.random() < 0.5 ? 0.3 : 2);
  await patiently(() => job.moveToDelayed(until, token));
  await clock.sleep(asideMs, signal).catch(() => {});
  return true;
}
