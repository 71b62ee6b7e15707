import type { ErrorKind } from '../client/error-table.ts';
import { type CodedError, endsTheRun } from '../client/errors.ts';
import { isInterruption } from '../client/upload/session/file-outcome.ts';
import type { Clock } from '../shared/clock.ts';
import { asArray, asObject } from '../shared/json-values.ts';
import { backoff } from '../shared/retry.ts';
import { type QueueClient, type QueueJob, rootOf } from './queue-client.ts';
import { workerNames } from './queue-status.ts';

const transientKinds: readonly ErrorKind[] = ['unreachable', 'rateLimited', 'unclassified'];

const maxStandbyMs = 1_000;
/** Maximum delay of a foreign file, during which no worker can take it; after it, any worker may be the first again. */
const maxForeignDelayMs = 5_000;
/** Pause after each foreign file, so that thousands of them do not occupy the processor. */
const foreignPauseMs = 5;

/** Codes of errors whose cause might be this machine's disk. */
const machineSpecificCodes = ['file_unusable', 'file_changed'];
/** Codes of errors of foreign files, which are meant for other workers. */
const foreignCodes = ['outside_roots', 'queue_service_mismatch'];

/**
 * Returns the class of a failed attempt, which determines how the worker handles it:
 *
 * - `leaseLost`: the lease is lost, so another worker has the file.
 * - `requeue`: this worker was stopped or paused; the job is requeued.
 * - `workerFault`: this worker's key or connection is wrong; it exits, and other workers retry the file.
 * - `pauseWorker`: this worker's disk or version is wrong; the worker pauses, and the attempt does not count.
 * - `pauseQueue`: the account lacks credits or storage, so every file would fail; the queue is paused.
 * - `retry`: a retry might succeed.
 * - `foreign`: the file is meant for workers with other roots or another account; the attempt does not count.
 * - `retryElsewhere`: another worker might have the right file; a few workers try before the job fails.
 * - `permanent`: a retry cannot succeed; the job fails without one.
 */
export function classifyFailure(error: CodedError) {
  const { kind, explanation } = error;
  const { code, subcode, retryable = false } = explanation;
  if (code === 'taken_over') return 'leaseLost';
  if (isInterruption(error) || code === 'worker_paused') return 'requeue';
  if (kind === 'quota') return 'pauseQueue';
  if (code === 'queue_unusable') return 'workerFault';
  if (code === 'root_unusable' || subcode === 'unsupported_job') return 'pauseWorker';
  if (foreignCodes.includes(code)) return 'foreign';
  if (subcode === 'unreadable_file') return 'retry'; // another machine might have the permission
  if (subcode === 'not_a_file' || subcode === 'source_forbidden') return 'permanent';
  if (machineSpecificCodes.includes(code)) return 'retryElsewhere';
  // A service that refuses connections is down for all workers, so retry until it is up. So may their proxy be.
  const isConfiguration = subcode === 'tls_failed' || (subcode === 'proxy_failed' && !retryable);
  if (transientKinds.includes(kind) && !isConfiguration) return 'retry';
  if (endsTheRun(error)) return 'workerFault';
  return retryable ? 'retry' : 'permanent';
}

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
  client: QueueClient,
  job: QueueJob,
  token: string | undefined,
  worker: YieldingWorker,
): Promise<boolean> {
  const missing = workersMissingFile(job);
  if (!missing.includes(worker.name)) return false;
  // Some managed stores do not list their clients.
  const names = (await workerNames(await client.queueOf(rootOf(job.queueName)))) ?? [];
  if (names.every((other) => missing.includes(other))) return false;
  // Less than the interval after which BullMQ would renew the lease.
  const { leaseMs, clock, signal } = worker;
  const standbyMs = Math.min(maxStandbyMs, leaseMs / 5);
  // Randomly before or after this worker's next poll, so that another worker finds the job first.
  await delayJob(client, job, token, clock.now() + standbyMs * (0.3 + 1.7 * clock.random()));
  await clock.sleep(standbyMs, signal).catch(() => {});
  return true;
}

const delayJob = ({ withRetry }: QueueClient, job: QueueJob, token: string | undefined, until: number) =>
  withRetry(() => job.moveToDelayed(until, token));

/**
 * Puts a job back for a while, longer each time, so that other workers take it and this one gets to the files behind
 * it. The attempt does not count.
 */
export async function leaveToOtherWorkers(
  client: QueueClient,
  job: QueueJob,
  token: string | undefined,
  clock: Clock,
): Promise<void> {
  const delayMs = backoff(job.attemptsStarted - 1, { minMs: 1_000, maxMs: maxForeignDelayMs }, clock);
  await delayJob(client, job, token, clock.now() + delayMs);
  await clock.sleep(foreignPauseMs);
}
