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
export type FailureClass =
  | 'leaseLost'
  | 'requeue'
  | 'workerFault'
  | 'pauseWorker'
  | 'pauseQueue'
  | 'retry'
  | 'retryElsewhere'
  | 'permanent';

const transientExitCodes: number[] = [
  exitCodes.unreachable,
  exitCodes.rateLimited,
  exitCodes.unclassified,
];

/** Error codes that may be caused by this machine's disk, roots or account. */
const machineErrorCodes = [
  ...['no_such_file', 'file_gone', 'file_changed'],
  ...['outside_roots', 'foreign_service'],
];

export function classifyFailure(error: MediactlError): FailureClass {
  const { exitCode, explanation } = error;
  const { code, retryable = false } = explanation;
  if (code === 'lease_lost') return 'leaseLost';
  if (isStop(error) || code === 'worker_paused') return 'requeue';
  if (exitCode === exitCodes.quota) return 'pauseQueue';
  if (code === 'queue_unusable') return 'workerFault';
  if (['root_gone', 'newer_task'].includes(code)) return 'pauseWorker';
  if (machineErrorCodes.includes(code)) return 'retryElsewhere';
  if (code === 'unreadable_file') return 'retry'; // another machine may have the permission
  // A service that refuses connections is down for all workers: retry until it is up.
  if (transientExitCodes.includes(exitCode) && !['tls', 'proxy'].includes(code)) return 'retry';
  if (endsTheRun(error)) return 'workerFault';
  return retryable ? 'retry' : 'permanent';
}
