import { exitCodes } from '../error-table.ts';
import { endsTheRun, type MediactlError } from '../errors.ts';
import { isInterruption } from '../upload/session/upload-job.ts';

/**
 * Class of a failed attempt, which determines how the worker handles it:
 *
 * - `leaseLost`: the lease is lost, so another worker has the file.
 * - `requeue`: this worker was stopped or paused; the job is requeued.
 * - `workerFault`: this worker's key or connection is wrong; it exits, and other workers retry the file.
 * - `pauseWorker`: this worker's disk or version is wrong; the worker pauses, and the attempt does not count.
 * - `pauseQueue`: the account lacks credits or storage, so every file would fail; the queue is paused.
 * - `retry`: a retry might succeed.
 * - `retryElsewhere`: another worker might have the right file or account; a few workers try before the job fails.
 * - `permanent`: a retry cannot succeed; the job fails without one.
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

const transientExitCodes: number[] = [exitCodes.unreachable, exitCodes.rateLimited, exitCodes.unclassified];

/** Codes of errors whose cause might be this machine's disk, roots or account. */
const machineSpecificCodes = [
  ...['no_such_file', 'file_gone', 'file_changed'],
  ...['outside_roots', 'foreign_service'],
];

export function classifyFailure(error: MediactlError): FailureClass {
  const { exitCode, explanation } = error;
  const { code, retryable = false } = explanation;
  if (code === 'lease_lost') return 'leaseLost';
  if (isInterruption(error) || code === 'worker_paused') return 'requeue';
  if (exitCode === exitCodes.quota) return 'pauseQueue';
  if (code === 'queue_unusable') return 'workerFault';
  if (['root_gone', 'newer_task'].includes(code)) return 'pauseWorker';
  if (machineSpecificCodes.includes(code)) return 'retryElsewhere';
  if (code === 'unreadable_file') return 'retry'; // another machine might have the permission
  // A service that refuses connections is down for all workers, so retry until it is up.
  if (transientExitCodes.includes(exitCode) && !['tls', 'proxy'].includes(code)) return 'retry';
  if (endsTheRun(error)) return 'workerFault';
  return retryable ? 'retry' : 'permanent';
}
