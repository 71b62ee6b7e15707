import { fieldsIn, listIn } from '../../contract/reading.ts';
import type { Clock } from '../clock.ts';
import type { Fleet, UploadJobOfQueue } from './fleet.ts';

const longestAsideMs = 1_000;

/** Names of the workers that did not find a job's file since it was queued or retried. */
export const missedBy = ({ progress, attemptsMade }: UploadJobOfQueue): string[] =>
  attemptsMade === 0
    ? []
    : listIn(fieldsIn(progress).missedBy).filter((name) => typeof name === 'string');

type Worker = { name: string; leaseMs: number; clock: Clock; signal: AbortSignal };

/**
 * Leaves a file that this worker did not find to those that have not looked for it: puts it back for
 * later, uncounted, and stands aside for a moment.
 *
 * @returns false where there are none
 */
export async function leftToOthers(
  { queue, patiently }: Fleet,
  job: UploadJobOfQueue,
  token: string | undefined,
  { name, leaseMs, clock, signal }: Worker,
): Promise<boolean> {
  const missed = missedBy(job);
  if (!missed.includes(name)) return false;
  // Some managed stores do not tell who is connected; PostgreSQL cuts off long names.
  const workers = await patiently(() => queue.getWorkers()).catch(() => []);
  const names = workers.flatMap(({ rawname }) => rawname?.split(':w:')[1] ?? []);
  if (names.every((other) => missed.some((each) => each.startsWith(other)))) return false;
  // The engine would renew the lease of a file that was held for longer.
  const asideMs = Math.min(longestAsideMs, leaseMs / 5);
  // Before this worker is back; or after, since on PostgreSQL the file would be at the head again.
  const until = clock.now() + asideMs * (clock.random() < 0.5 ? 0.3 : 2);
  await patiently(() => job.moveToDelayed(until, token));
  await clock.sleep(asideMs, signal).catch(() => {});
  return true;
}
