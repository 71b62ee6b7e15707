import { randomUUID } from 'node:crypto';
import type { ErrorCode } from '../client/error-table.ts';
import { asCodedError, type CodedError, type Remedy, type StoredError } from '../client/errors.ts';
import type { UploadSettings } from '../client/upload/decide/upload-settings.ts';
import type { RunEvent } from '../client/upload/session/events.ts';
import { createOutcome, type FileOutcome } from '../client/upload/session/file-outcome.ts';
import { FirstCreation } from '../client/upload/session/first-creation.ts';
import { hasCredentials, parseSourceUrl } from '../client/upload/sources/source-url.ts';
import { fileAt, isHttpUrl } from '../client/upload/sources/upload-file.ts';
import { Channel } from '../shared/channel.ts';
import type { Clock } from '../shared/clock.ts';
import { pollUntil, retryUntil, withGrace, withTimeout } from '../shared/retry.ts';
import { classifyFailure, leaveToOtherWorkers, workersMissingFile, yieldToOtherWorkers } from './failure-class.ts';
import { displayPathOf, parseFailure, parseReceipt, toTaskResult } from './jobs.ts';
import { Lease } from './lease.ts';
import type { QueueClient, QueueJob } from './queue-client.ts';
import { RecentResults } from './recent-results.ts';
import { aboutOf, parseTask, type TaskProgress, type TaskResult, type UploadTask } from './task.ts';
import { UploadAttempt, type WorkerPorts } from './upload-attempt.ts';
import { pausedError, WorkerHealth } from './worker-health.ts';

export type WorkerRunOptions = {
  /** What holds for all files, also those that other machines have queued. */
  settings: UploadSettings;
  /** Name of this worker, shown to other machines. */
  name: string;
  /** Time without a heartbeat after which another worker gets the file. */
  leaseMs: number;
  /** Number of stalls, such as worker crashes, after which a job fails. */
  maxCrashes: number;
};

type QueueWorker = Awaited<ReturnType<QueueClient['worker']>>;

type WorkerRunDeps = WorkerPorts & {
  onPlanned(planned: RunEvent): void;
  warn(text: string): void;
  /** Returns the error with its cause and next step, for a log. */
  describe(error: CodedError): string;
  /** Called for each failed attempt, whether it will be retried or not, with the code of its error. */
  onFailure(code: ErrorCode): void;
  /** Redacts keys and tokens from an error before the error is written to the queue. */
  redact(record: StoredError): StoredError;
};

const progressIntervalMs = 1_000;
const restartDelayMs = 1_000;
const maxCloseMs = 10_000;
const pollIntervalMs = 1_000;
/** Number of attempts that do not find the right file or account after which the job fails. */
const maxMisses = 3;

/** Processes the jobs of a queue until it is stopped, and yields the outcome of each file. */
export class WorkerRun {
  readonly #client: QueueClient;
  readonly #options: WorkerRunOptions;
  readonly #deps: WorkerRunDeps;
  readonly #firstCreation = new FirstCreation();
  readonly #clock: Clock;
  readonly #health: WorkerHealth;
  readonly #recentResults: RecentResults;
  readonly #outcomes = new Channel<FileOutcome>();
  readonly #leases = new Map<string, Lease>();
  /** Maps job ids to the outcomes of failed attempts that the queue has not confirmed yet. */
  readonly #failedOutcomes = new Map<string, FileOutcome>();
  readonly #planned = { files: 0, bytes: 0 };
  /** Codes of the errors of files that this worker has left to others, each reported once. */
  readonly #foreignCodes = new Set<string>();
  readonly #stopped = new AbortController();
  /** Aborts when this worker pauses or stops. */
  #activeSignal = this.#stopped.signal;
  /** Error that stopped this worker, such as a rejected key. */
  failure: CodedError | undefined;
  requeuedFiles = 0;

  constructor(client: QueueClient, options: WorkerRunOptions, deps: WorkerRunDeps) {
    this.#client = client;
    this.#options = options;
    this.#deps = deps;
    const { roots, warn, describe, api } = deps;
    this.#clock = api.transport.clock;
    this.#recentResults = new RecentResults(client.store, this.#clock);
    const { leaseMs } = options;
    const service = api.transport.baseUrl.origin;
    this.#health = new WorkerHealth(client, { roots, service, warn, describe, clock: this.#clock, leaseMs });
  }

  /** Why this worker processes no files at present, if so. */
  get pausedBy(): CodedError | undefined {
    return this.#health.pausedBy;
  }

  get filesInProgress(): number {
    return this.#leases.size;
  }

  outcomes(): AsyncGenerator<FileOutcome[]> {
    return this.#outcomes.streamWhile(
      () => this.#run(),
      () => this.#stopped.abort(pausedError),
    );
  }

  async #run(): Promise<void> {
    const stopSignal = AbortSignal.any([this.#deps.signal, this.#stopped.signal]);
    const { signal: fatal } = this.#client.fatal;
    fatal.addEventListener('abort', () => this.#stopWith(fatal.reason));
    if (fatal.aborted) this.#stopWith(fatal.reason);
    this.#client.onReconnect = (isOther) =>
      this.#recentResults.onReconnect(isOther, stopSignal, (error) => this.#stopWith(asCodedError(error)));
    while (!stopSignal.aborted) {
      this.#activeSignal = await this.#health.waitUntilHealthy(stopSignal);
      if (!stopSignal.aborted) await this.#processJobs(this.#activeSignal);
    }
  }

  /** Processes jobs until the signal aborts. BullMQ renews the locks of running jobs: each renewal is a heartbeat that extends the lease. */
  async #processJobs(signal: AbortSignal): Promise<void> {
    const clock = this.#clock;
    const workers: QueueWorker[] = [];
    // Fails if this worker is stopped before the store is up.
    for (const root of ['', ...this.#deps.roots.names]) {
      const created = await this.#createWorker(root).catch((thrown) => {
        if (!signal.aborted) throw thrown;
      });
      if (created) workers.push(created);
    }
    const restarted = { clock, delayAfter: () => restartDelayMs };
    for (const worker of workers) retryUntil(signal, () => worker.start(), restarted).catch(() => {}); // stopped
    void this.#health.checkPeriodically(signal);
    pollUntil(signal, () => this.#revokeExpired(), { clock, intervalMs: this.#options.leaseMs / 4 }).catch(() => {}); // stopped
    const running = new Set<Promise<void>>();
    await this.#fetchJobs(workers, running, signal).catch(() => {}); // stopped
    // If the store is down or rejects BullMQ, do not wait; the jobs become available when their leases expire.
    const isUnusable = this.#client.isDisconnected || this.#client.fatal.signal.aborted;
    const idle = Promise.all([...running, ...workers.map((worker) => worker.pause(true))]);
    await withTimeout(isUnusable ? 0 : maxCloseMs, () => idle, { clock }).catch(() => {});
    for (const worker of workers) void worker.close(true).catch(() => {}); // closing the queue client awaits it
  }

  async #createWorker(root: string) {
    const { name, leaseMs, maxCrashes } = this.#options;
    const processJob = (job: QueueJob, token?: string) => this.#processJob(job, token);
    const worker = await this.#client.worker(root, processJob, {
      name,
      lockDuration: leaseMs,
      maxStalledCount: maxCrashes,
      // BullMQ detects a stalled job at the second check, so check twice per lease time.
      stalledInterval: Math.max(500, Math.floor(leaseMs / 2)),
      runRetryDelay: restartDelayMs,
    });
    worker.on('locksRenewed', ({ jobIds }) => {
      for (const id of jobIds) this.#leases.get(id)?.renew();
    });
    worker.on('lockRenewalFailed', (ids) => {
      for (const id of ids) this.#leases.get(id)?.revoke();
    });
    worker.on('completed', () => this.#health.onSuccess());
    worker.on('failed', (job, error) => {
      if (job) this.#onJobFailed(job, error);
    });
    return worker;
  }

  /** Fetches jobs of all roots in turn while upload slots are free. @throws the abort reason of the signal */
  async #fetchJobs(workers: readonly QueueWorker[], running: Set<Promise<void>>, signal: AbortSignal): Promise<void> {
    const clock = this.#clock;
    let turn = 0;
    let emptyInRow = 0;
    for (;;) {
      signal.throwIfAborted();
      const slots = this.#health.isHalfOpen ? 1 : this.#options.settings.transfers;
      if (running.size >= slots) {
        await withGrace(Promise.race(running), { clock, signal });
        continue;
      }
      const worker = workers[turn++ % workers.length] as QueueWorker;
      // Left running after an abort: a job that arrives then is put back by `#processJob`.
      const fetched = worker.getNextJob(randomUUID(), { block: false }).catch((error) => {
        worker.emit('error', error);
        return undefined;
      });
      const isFound = fetched.then((job) => {
        if (!job) return false;
        const done = worker.process(job).finally(() => running.delete(done));
        running.add(done);
        return true;
      });
      emptyInRow = (await withGrace(isFound, { clock, signal })) ? 0 : emptyInRow + 1;
      if (emptyInRow < workers.length) continue;
      // At random times, so that no worker always finds a job before another one.
      await clock.sleep(pollIntervalMs * (0.5 + clock.random()), signal);
      emptyInRow = 0;
    }
  }

  #revokeExpired(): undefined {
    for (const lease of this.#leases.values()) if (!lease.isHeld) lease.revoke();
  }

  #stopWith(failure: CodedError): void {
    this.failure ??= failure;
    this.#stopped.abort(pausedError);
  }

  /** @returns the result for the queue @throws an error that makes the queue retry, requeue or fail the job */
  async #processJob(job: QueueJob, token: string | undefined): Promise<TaskResult> {
    const clock = this.#clock;
    const startedAt = clock.now();
    const id = job.id as string;
    const signal = this.#activeSignal;
    // The job was fetched while this worker was stopped or paused.
    if (signal.aborted) throw await this.#requeue(job, token);
    if (await yieldToOtherWorkers(this.#client, job, token, { ...this.#options, clock, signal }))
      throw await requeueSignal();
    let lease: Lease | undefined;
    try {
      const task = parseTask(job.data);
      lease = new Lease(clock, this.#options.leaseMs, task.path);
      this.#leases.get(id)?.revoke(); // lease of an earlier attempt by this process, which lost it
      this.#leases.set(id, lease);
      const result = await this.#uploadOnce(job, task, lease, signal);
      await removeUrlSecrets(job, task);
      return result;
    } catch (thrown) {
      const outcome = { ...outcomeOf(job), durationMs: clock.now() - startedAt };
      throw await this.#handleFailure(job, token, outcome, asCodedError(thrown));
    } finally {
      if (lease && this.#leases.get(id) === lease) this.#leases.delete(id);
    }
  }

  /** Uploads a job's file and stores its receipt, unless the store has one already. @returns the result for the queue */
  async #uploadOnce(job: QueueJob, task: UploadTask, lease: Lease, signal: AbortSignal): Promise<TaskResult> {
    const id = job.id as string;
    const { store } = this.#client;
    const startedAt = this.#clock.now();
    const recent = this.#recentResults;
    await recent.restored;
    lease.assertHeld();
    const { failovers } = recent;
    const claim = await store.claim(id);
    // The file is already uploaded, but its worker died before it updated the queue.
    const previousResult = parseReceipt(claim.receipt);
    if (previousResult) return previousResult;
    // The totals of the progress display do not include the rest of the queue.
    this.#planned.files++;
    this.#planned.bytes += task.sizeBytes;
    const { files, bytes } = this.#planned;
    this.#deps.onPlanned({ event: 'planned', files_total: files, bytes_total: bytes, files_skipped: 0 });
    const claimed = { job, task, claim, lease, firstCreation: this.#firstCreation };
    const deps = { ...this.#deps, onEvent: this.#progressListener(job), signal };
    const attempt = new UploadAttempt(this.#client, claimed, this.#options.settings, deps);
    const { uploaded, requests } = await attempt.run();
    const durationMs = this.#clock.now() - startedAt;
    const result = toTaskResult(uploaded, {
      worker: this.#options.name,
      request_count: requests,
      elapsed_ms: durationMs,
      about: aboutOf(task),
    });
    const receipt = JSON.stringify(result);
    recent.add(id, receipt);
    if (!lease.isHeld || !(await store.finish(id, claim.fence, receipt))) {
      await recent.restored;
      if (failovers === recent.failovers) throw lease.revoke();
      await store.restoreReceipt(id, receipt); // after a failover, the server might lack the claim
    }
    this.#report({ ...outcomeOf(job), uploaded, requests, durationMs });
    return result;
  }

  /** Retries, requeues or fails a job, depending on its error's class. @returns the error for the job processor to throw */
  async #handleFailure(job: QueueJob, token: string | undefined, outcome: FileOutcome, error: CodedError) {
    const record = this.#deps.redact(error.toJSON());
    const recordJson = JSON.stringify(record);
    let failureClass = classifyFailure(error);
    if (failureClass === 'leaseLost') {
      const problem = 'the store confirmed no heartbeat of this worker for longer than its lease';
      this.#notice(outcome.file, `${problem}, or this worker was suspended; another worker may take over`);
      return new Error(recordJson);
    }
    if (failureClass !== 'requeue' && failureClass !== 'foreign') this.#deps.onFailure(error.explanation.code);
    const { name: worker } = this.#options;
    const { withRetry } = this.#client;
    if (failureClass === 'foreign') return this.#leave(job, token, error, { worker, offset: 0, error: record });
    const missing = workersMissingFile(job);
    if (failureClass === 'retryElsewhere' || failureClass === 'retry') this.#health.onFailure(error);
    if (failureClass === 'retryElsewhere') {
      missing.push(worker);
      failureClass = missing.length < maxMisses || error.explanation.retryable ? 'retry' : 'permanent';
    }
    const progress: TaskProgress = { worker, offset: 0, error: record, missedBy: missing };
    if (failureClass !== 'requeue') await withRetry(() => job.updateProgress(progress));
    if (failureClass === 'workerFault') this.#stopWith(error);
    if (failureClass === 'pauseWorker') this.#health.pause(error);
    // Count an attempt that stops this worker, since otherwise one file could stop all workers in turn.
    if (failureClass === 'retry' || failureClass === 'permanent' || failureClass === 'workerFault') {
      this.#failedOutcomes.set(job.id as string, { ...outcome, error });
      return failureClass === 'permanent' ? await permanentFailure(recordJson) : new Error(recordJson);
    }
    if (failureClass === 'pauseQueue') {
      await this.#client.setPaused(true);
      this.#notice(outcome.file, `${error.message}; the queue is paused`, ['retry_all']);
    }
    const requeued = await this.#requeue(job, token);
    this.requeuedFiles++;
    return requeued;
  }

  /** Leaves a file to workers with other roots or another account. Reports the first one of each kind. */
  async #leave(job: QueueJob, token: string | undefined, error: CodedError, progress: TaskProgress): Promise<Error> {
    const { code } = error.explanation;
    if (!this.#foreignCodes.has(code))
      this.#notice({ path: displayPathOf(job) }, `${error.message}; such files are left to other workers`);
    this.#foreignCodes.add(code);
    if (job.progress === 0) await this.#client.withRetry(() => job.updateProgress(progress)); // shown by `uploads ls`
    await leaveToOtherWorkers(this.#client, job, token, this.#clock);
    return requeueSignal();
  }

  async #requeue(job: QueueJob, token: string | undefined): Promise<Error> {
    await this.#client.withRetry(() => job.moveToWait(token));
    return requeueSignal();
  }

  /** Reports a failed attempt once the queue has recorded that the job will be retried or has failed. */
  #onJobFailed(job: QueueJob, { message }: Error): void {
    const id = job.id as string;
    const outcome = this.#failedOutcomes.get(id);
    this.#failedOutcomes.delete(id);
    const error = outcome?.error ?? parseFailure(message);
    if (job.finishedOn) this.#report({ ...outcomeOf(job), ...outcome, error });
    else this.#notice({ path: displayPathOf(job) }, `${error.message}; will retry later`);
  }

  #report(outcome: FileOutcome): void {
    const { file, uploaded, error } = outcome;
    const asset_uid = uploaded?.assetUid ?? null;
    this.#deps.onEvent({ path: file.path, event: 'finished', outcome: error ? 'failed' : 'uploaded', asset_uid });
    this.#outcomes.push(outcome);
  }

  #notice({ path }: { path: string }, message: string, remedy?: Remedy): void {
    this.#deps.onEvent({ path, event: 'warning', message, remedy });
  }

  /** Returns a listener that forwards a job's events, and writes its progress to the queue at most once a second. */
  #progressListener(job: QueueJob): WorkerPorts['onEvent'] {
    const clock = this.#clock;
    const { name: worker } = this.#options;
    let reportedAt = clock.now();
    return (event) => {
      this.#deps.onEvent(event);
      if (event.event !== 'progress' || clock.now() - reportedAt < progressIntervalMs) return;
      reportedAt = clock.now();
      const progress: TaskProgress = { worker, offset: event.bytes_sent };
      job.updateProgress(progress).catch(() => {}); // the next update includes it
    };
  }
}

const outcomeOf = (job: QueueJob): FileOutcome =>
  createOutcome(fileAt(displayPathOf(job)), { jobId: job.id as string });

/** Creates the error that a job processor throws after requeueing the job, so that the job does not count as failed. */
const requeueSignal = async () => new (await import('./engine.lazy.ts')).WaitingError();

/** Creates the error that a job processor throws to fail a job without a retry. */
const permanentFailure = async (message: string) => new (await import('./engine.lazy.ts')).UnrecoverableError(message);

/** Removes the query and credentials from a job's URL once they are no longer needed. */
async function removeUrlSecrets(job: QueueJob, task: UploadTask): Promise<void> {
  const { path } = task.source;
  if (!isHttpUrl(path) || !hasCredentials(path)) return;
  await job.updateData({ ...task, source: { path: parseSourceUrl(path).path } });
}
