import { asCodedError, CodedError } from '../client/errors.ts';
import type { Clock } from '../shared/clock.ts';
import { pollUntil, withGrace } from '../shared/retry.ts';
import type { QueueClient, QueueJob } from './queue-client.ts';
import type { Roots } from './roots.ts';
import { parseTask, serviceMismatch, type UploadTask } from './task.ts';

const maxCheckIntervalMs = 60_000;
/** Number of consecutive failures with the same error code after which a worker pauses. */
const maxConsecutiveFailures = 10;

/** Id of the claim that each check writes to the store and removes. */
const probeId = 'self-check';
const sampleOffsets = [0, 0.25, 0.5, 0.75];
const samplePageSize = 5;

/** Abort reason of attempts when their worker pauses or stops itself. */
export const pausedError = new CodedError('this worker paused', { code: 'worker_paused' });

type WorkerHealthDeps = {
  roots: Roots;
  /** Origin of the service to which this worker uploads. */
  service: string;
  clock: Clock;
  leaseMs: number;
  warn(text: string): void;
  describe(error: CodedError): string;
};

/** Circuit breaker that pauses a worker, with a warning, if a self-check fails or too many files fail in succession. */
export class WorkerHealth {
  readonly #client: QueueClient;
  readonly #deps: WorkerHealthDeps;
  readonly #checkIntervalMs: number;
  /** Aborts when the worker pauses; replaced when it continues. */
  #active = new AbortController();
  /** Number of consecutive failures, and their common code. */
  #failureStreak = { cause: '', count: 0 };
  /** Why the worker processes no files at present, if so. */
  pausedBy: CodedError | undefined;
  /** True after a pause, when the worker processes one file at a time until a file succeeds. */
  isHalfOpen = false;

  constructor(client: QueueClient, deps: WorkerHealthDeps) {
    this.#client = client;
    this.#deps = deps;
    this.#checkIntervalMs = Math.min(maxCheckIntervalMs, 2 * deps.leaseMs);
  }

  /** Runs the self-check until it succeeds. @returns a signal that aborts with `signal`, or when the worker pauses */
  async waitUntilHealthy(signal: AbortSignal): Promise<AbortSignal> {
    const { clock } = this.#deps;
    await withGrace(this.#waitWhileUnhealthy(signal), { clock, signal }).catch(() => {}); // stopped
    this.pausedBy = undefined;
    this.#failureStreak.count = 0;
    this.#active = new AbortController();
    return AbortSignal.any([signal, this.#active.signal]);
  }

  async #waitWhileUnhealthy(signal: AbortSignal): Promise<void> {
    const { warn, clock } = this.#deps;
    let warned: string | undefined;
    let reason = this.pausedBy;
    const isHealthy = async () => {
      const problem = reason ?? (await this.#check());
      reason = undefined;
      this.pausedBy = problem;
      if (!problem) return true;
      const { message } = problem;
      const nextCheck = `checking again every ${this.#checkIntervalMs / 1_000} s`;
      if (message !== warned) warn(`this worker is paused: ${this.#deps.describe(problem)}; ${nextCheck}`);
      warned = message;
      this.isHalfOpen = true;
      return undefined;
    };
    await pollUntil(signal, isHealthy, { clock, intervalMs: this.#checkIntervalMs });
    if (warned !== undefined) warn('this worker has resumed');
  }

  /** Runs the self-check. @returns its error, or undefined if it succeeds */
  #check(): Promise<CodedError | undefined> {
    return runSelfCheck(this.#client, this.#deps).then(() => undefined, asCodedError);
  }

  /** Runs the self-check at intervals until the signal aborts, and pauses the worker if the check fails. */
  async checkPeriodically(signal: AbortSignal): Promise<void> {
    const { clock } = this.#deps;
    const intervalMs = this.#checkIntervalMs;
    const pauseIfUnhealthy = async () => {
      const problem = await this.#check();
      if (problem && !signal.aborted) this.pause(problem);
    };
    await clock
      .sleep(intervalMs, signal)
      .then(() => pollUntil(signal, pauseIfUnhealthy, { clock, intervalMs }))
      .catch(() => {}); // stopped or paused
  }

  /** Pauses the worker, which requeues its jobs and fetches no others until a self-check succeeds. */
  pause(reason: CodedError): void {
    this.pausedBy ??= reason;
    this.#active.abort(pausedError);
  }

  onSuccess(): void {
    this.#failureStreak.count = 0;
    this.isHalfOpen = false;
  }

  /** Counts a failure that might be this worker's fault. Pauses the worker after too many of the same cause. */
  onFailure(error: CodedError): void {
    const { code, subcode } = error.explanation;
    const { cause: previous, count } = this.#failureStreak;
    const cause = subcode ?? code;
    this.#failureStreak = { cause, count: previous === cause ? count + 1 : 1 };
    if (!this.isHalfOpen && this.#failureStreak.count < maxConsecutiveFailures) return;
    const problem = this.isHalfOpen
      ? `the file that this worker tried after its pause failed with ${code}`
      : `${maxConsecutiveFailures} files in a row failed with ${code}`;
    this.pause(new CodedError(problem, { code, subcode, reason: error.message, failures: [error] }));
  }
}

/**
 * @throws CodedError `invalid_job` or `queue_service_mismatch` (exit 2); as `Roots.assertFilesExist` and
 *   `QueueClient.assertSettings`; errors of the store
 */
async function runSelfCheck(client: QueueClient, { roots, service }: WorkerHealthDeps): Promise<void> {
  await client.store.claim(probeId);
  await client.store.remove([probeId]);
  await client.assertSettings();
  const tasks = await sampleTasks(client, roots);
  assertService(tasks, service);
  await roots.assertFilesExist(tasks);
}

/** @throws CodedError `queue_service_mismatch` (exit 2) if all sampled files are for another service */
function assertService(tasks: readonly UploadTask[], own: string): void {
  const [first] = tasks;
  if (!first || tasks.some(({ service }) => service === own)) return;
  throw serviceMismatch('the queued files are', first.service, own);
}

/**
 * Samples jobs of this worker's roots that were never started.
 *
 * @throws CodedError `invalid_job` (exit 2) if a newer version queued one
 */
async function sampleTasks(client: QueueClient, roots: Roots): Promise<UploadTask[]> {
  const tasks: UploadTask[] = [];
  for (const root of ['', ...roots.names]) {
    const queue = await client.queueOf(root);
    const { waiting = 0 } = await client.withRetry(() => queue.getJobCounts('waiting'));
    const pages = sampleOffsets.map((share) => {
      const from = Math.floor(waiting * share);
      return client.withRetry(() => queue.getJobs(['waiting'], from, from + samplePageSize - 1, true));
    });
    const jobs = new Map((await Promise.all(pages)).flat().map((job) => [job?.id, job]));
    tasks.push(...[...jobs.values()].flatMap((job) => newTaskOf(job) ?? []));
  }
  return tasks;
}

/** @throws CodedError `invalid_job` (exit 2) if a newer version queued the job */
function newTaskOf(job: QueueJob | undefined): UploadTask | undefined {
  try {
    const task = parseTask(job?.data);
    return job?.attemptsStarted === 0 ? task : undefined;
  } catch (error) {
    if ((error as CodedError).explanation.subcode === 'unsupported_job') throw error;
    return undefined;
  }
}
