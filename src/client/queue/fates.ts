import { endsTheRun, exitCodes, type MediactlError } from '../errors.ts';
import { isStop } from '../upload/session/file-outcome.ts';

/**
 * Classes of a failed attempt, by how the worker handles it:
 *
 * - `leaseLost`: the lease is lost, and another worker has the file.
 * - `requeue`: this worker was stopped or paused; the job is requeued.
 * - `workerFault`: this worker's key or connection is wrong; it exits, and other workers retry the file.
 * - `pauseWorker`: this worker's disk or version is wrong; it pauses, and the attempt does not count.
 * - `pauseQueue`: every other file would fail too (credits, storage); the queue is paused.
 * - `retry`: a retry may succeed.
 * - `retryElsewhere`: another worker may have the right file or account; a few try before the job fails.
 * - `permanent`: permanent; the job fails without a retry.
 */
export type Fate = 'lost' | 'back' | 'worker' | 'pause' | 'queue' | 'again' | 'elsewhere' | 'file';

const passing: number[] = [exitCodes.unreachable, exitCodes.rateLimited, exitCodes.unclassified];

/** Error codes that may be caused by this machine's disk, roots or account. */
const ofTheMachine = [
  ...['no_such_file', 'file_gone', 'file_changed'],
  ...['outside_roots', 'foreign_service'],
];

export function fateOf(error: MediactlError): Fate {
  const { exitCode, explanation } = error;
  const { code, retryable = false } = explanation;
  if (code === 'lease_lost') return 'lost';
  if (isStop(error) || code === 'worker_paused') return 'back';
  if (exitCode === exitCodes.quota) return 'queue';
  if (code === 'queue_unusable') return 'worker';
  if (['root_gone', 'newer_task'].includes(code)) return 'pause';
  if (ofTheMachine.includes(code)) return 'elsewhere';
  if (code === 'unreadable_file') return 'again'; // another machine may have the permission
  // A service that refuses connections is down for all workers: retry until it is up.
  if (passing.includes(exitCode) && !['tls', 'proxy'].includes(code)) return 'again';
  if (endsTheRun(error)) return 'worker';
  return retryable ? 'again' : 'file';
}
