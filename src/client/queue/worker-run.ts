import { asMediactlError, type ErrorRecord, type MediactlError } from '../errors.ts';
import { Channel } from '../upload/batch/channel.ts';
import type { RunEvent } from '../upload/session/events.ts';
import type { FileOutcome } from '../upload/session/upload-job.ts';
import { hasCredentials, isHttpUrl, parseSourceUrl } from '../upload/sources/source-url.ts';
import { restartUntilAborted, waitAtMost } from './connection-monitor.ts';
import { classifyFailure } from './failure-class.ts';
import { Lease } from './lease.ts';
import { workersMissingFile, yieldToOtherWorkers } from './missing-file.ts';
import type { QueueClient, QueueJob } from './queue-client.ts';
import { parseTask, type TaskProgress, type TaskResult, type UploadTask } from './task.ts';
import { displayPathOf, parseFailure, parseReceipt, toTaskResult } from './task-result.ts';
import { type AttemptDeps, attemptUpload } from './upload-attempt.ts';
import { pausedError, WorkerHealth } from './worker-health.ts';

export type WorkerRunOptions = {
  /** Name of this worker, shown to other machines. */
  name: string;
  /** Maximum number of files uploaded at the same time. */
  concurrency: number;
  /** Time without a heartbeat after which another worker gets the file. */
  leaseMs: number;
  /** Number of stalls, such as worker crashes, after which a job fails. */
  maxStalls: number;
  idleTimeoutMs: number;
  hasMarker: boolean;
};

type WorkerRunDeps = AttemptDeps & {
  onPlanned(planned: RunEvent & { event: 'planned' }): void;
  warn(text: string): void;
};

const progressIntervalMs = 1_000;
const restartDelayMs = 1_000;
const maxCloseMs = 10_000;
const pollIntervalSeconds = 1;
/** Maximum age of results that are written again after a failover. It is longer than the lag of a replica. */
const maxRecentAgeMs = 10 * 60_000;
const maxRecentResults = 10_000;
/** Pause after a failover, during which other workers restore their results. */
const restoreGraceMs = 5_000;
/** Number of attempts that do not find the right file or account after which the job fails. */
const maxMisses = 3;

/** Processes the jobs of a queue until it is stopped, and yields the outcome of each file. */
export class WorkerRun {
  readonly #client: QueueClient;
  readonly #options: WorkerRunOptions;
  readonly #deps: WorkerRunDeps;
  /** Redacts keys and tokens from an error before the error is written to the queue. */
  readonly #redact: (record: ErrorRecord) => ErrorRecord;
  readonly #outcomes = new Channel<FileOutcome>();
  readonly #leases = new Map<string, Lease>();
  /** Maps job ids to the outcomes of failed attempts that the queue has not confirmed yet. */
  readonly #failedOutcomes = new Map<string, FileOutcome>();
  readonly #stopped = new AbortController();
  /** Maps job ids to this worker's newest results, oldest first, to restore them after a failover. */
  readonly #recentResults = new Map<string, { at: number; receipt: string }>();
  /** Number of failovers to another server. */
  #failovers = 0;
  /** Promise that resolves when recent results are restored after a failover. */
  #restoration: Promise<void> = Promise.resolve();
  readonly #planned = { files: 0, bytes: 0 };
  readonly #health: WorkerHealth;
  /** Aborts when this worker pauses or stops. */
  #activeSignal = this.#stopped.signal;
  /** Error that stopped this worker, such as a rejected key. */
  failure: MediactlError | undefined;
  /** Number of files requeued for other workers. */
  requeuedFiles = 0;

  constructor(
    client: QueueClient,
    options: WorkerRunOptions,
    deps: WorkerRunDeps,
    redact: (record: ErrorRecord) => ErrorRecord,
  ) {
    this.#client = client;
    this.#options = options;
    this.#deps = deps;
    this.#redact = redact;
    const { roots, warn, api } = deps;
    const { clock } = api.transport;
    this.#health = new WorkerHealth(client, { roots, warn, clock, leaseMs: options.leaseMs });
  }

  outcomes(): AsyncGenerator<FileOutcome[]> {
    return this.#outcomes.streamWhile(
      () => this.#run(),
      () => this.#stopped.abort(pausedError),
    );
  }

  async #run(): Promise<void> {
    const stopSignal = AbortSignal.any([this.#deps.signal, this.#stopped.signal]);
    const { fatalSignal } = this.#client;
    fatalSignal.addEventListener('abort', () => this.#stopWith(fatalSignal.reason));
    if (fatalSignal.aborted) this.#stopWith(fatalSignal.reason);
    this.#client.onReconnect((isOther) => {
      const previous = this.#restoration;
      this.#restoration = isOther
        .then((is) => (is ? this.#restoreRecent(stopSignal) : undefined))
        .catch(() => {}) // the store is down again; the next reconnect restores the results
        .then(() => previous);
    });
    while (!stopSignal.aborted) {
      this.#activeSignal = await this.#health.waitUntilHealthy(stopSignal);
      if (!stopSignal.aborted) await this.#processJobs(this.#activeSignal);
    }
  }

  /** Processes jobs until the signal aborts. BullMQ renews the locks of running jobs: each renewal is a heartbeat that extends the lease. */
  async #processJobs(signal: AbortSignal): Promise<void> {
    const { name, concurrency, leaseMs, maxStalls } = this.#options;
    const processJob = (job: QueueJob, token?: string) => this.#processJob(job, token);
    const engine = this.#client.worker(processJob, {
      ...{ name, lockDuration: leaseMs, maxStalledCount: maxStalls },
      concurrency: this.#health.isHalfOpen ? 1 : concurrency,
      // BullMQ detects a stalled job at the second check, so check twice per lease time.
      stalledInterval: Math.max(500, Math.floor(leaseMs / 2)),
      runRetryDelay: restartDelayMs,
      // A suspended worker might consume the notification of a new job, so the other workers poll.
      drainDelay: pollIntervalSeconds,
    });
    const worker = await engine.catch((thrown) => {
      if (signal.aborted) return undefined; // stopped before the store was up
      throw thrown;
    });
    if (!worker) return;
    worker.on('locksRenewed', ({ jobIds }) => {
      for (const id of jobIds) this.#leases.get(id)?.renew();
    });
    worker.on('lockRenewalFailed', (ids) => {
      for (const id of ids) this.#leases.get(id)?.revoke();
    });
    worker.on('completed', () => {
      this.#health.onSuccess();
      worker.concurrency = concurrency;
    });
    worker.on('failed', (job, error) => {
      if (job) this.#onJobFailed(job, error);
    });
    const { clock } = this.#deps.api.transport;
    void restartUntilAborted(() => worker.run(), restartDelayMs, { clock, signal });
    void this.#health.checkPeriodically(signal);
    await this.#watchLeases(signal);
    // If the store is down, do not wait; the jobs become available when their leases expire.
    const idle = worker.pause().catch(() => {});
    await waitAtMost(this.#client.isDisconnected ? 0 : maxCloseMs, clock, idle);
    void worker.close(true).catch(() => {}); // does not wait for running jobs; closing the queue client awaits it
  }

  #stopWith(failure: MediactlError): void {
    this.failure ??= failure;
    this.#stopped.abort(pausedError);
  }

  /** Restores recent results after a failover to a server that might lack them, and waits while other workers do the same. */
  async #restoreRecent(signal: AbortSignal): Promise<void> {
    this.#failovers++;
    const { clock } = this.#deps.api.transport;
    const since = clock.now() - maxRecentAgeMs;
    try {
      for (const [id, { at, receipt }] of this.#recentResults)
        if (at > since) await this.#client.store.restoreReceipt(id, receipt);
      await clock.sleep(restoreGraceMs, signal);
    } catch (error) {
      if (!signal.aborted) this.#stopWith(asMediactlError(error));
    }
  }

  /** Aborts uploads whose lease has expired, at intervals until the signal aborts. */
  async #watchLeases(signal: AbortSignal): Promise<void> {
    const { clock } = this.#deps.api.transport;
    while (!signal.aborted) {
      await clock.sleep(this.#options.leaseMs / 4, signal).catch(() => {});
      for (const lease of this.#leases.values()) if (!lease.isHeld) lease.revoke();
    }
  }

  /**
   * Processes one job.
   *
   * @returns the result for the queue
   * @throws an error that makes the queue retry, requeue or fail the job
   */
  async #processJob(job: QueueJob, token: string | undefined): Promise<TaskResult> {
    const { clock } = this.#deps.api.transport;
    const startedAt = clock.now();
    const id = job.id as string;
    const signal = this.#activeSignal;
    // The job was fetched while this worker was stopped or paused.
    if (signal.aborted) throw await this.#requeue(job, token);
    const { name, leaseMs } = this.#options;
    if (await yieldToOtherWorkers(this.#client, job, token, { name, leaseMs, clock, signal }))
      throw this.#client.requeueSignal();
    const outcome: FileOutcome = {
      ...{ job: { path: id, workspace: '' }, path: id, queueId: id, requests: 0, durationMs: 0 },
    };
    let lease: Lease | undefined;
    try {
      const task = parseTask(job.data);
      outcome.job = { path: task.path, workspace: task.workspace };
      outcome.path = task.path;
      lease = new Lease(clock, this.#options.leaseMs, task.path);
      this.#leases.get(id)?.revoke(); // lease of an earlier attempt by this process, which lost it
      this.#leases.set(id, lease);
      await this.#restoration;
      lease.assertHeld();
      const failovers = this.#failovers;
      const claim = await this.#client.store.claim(id);
      // The file is already uploaded, but its worker died before it updated the queue.
      const previousResult = parseReceipt(claim.receipt);
      if (previousResult) {
        await removeUrlSecrets(job, task);
        return previousResult;
      }
      this.#addPlanned(task);
      const attempted = await attemptUpload(
        id,
        task,
        { claim, lease, store: this.#client.store, label: this.#client.address.label },
        {
          idleTimeoutMs: this.#options.idleTimeoutMs,
          hasMarker: this.#options.hasMarker,
          isRetry: job.attemptsStarted > 1,
          queuedAt: job.timestamp,
        },
        { ...this.#deps, onEvent: this.#progressListener(job), signal },
      );
      const durationMs = clock.now() - startedAt;
      const { uploaded, requests, removed } = attempted;
      const { name: worker } = this.#options;
      const result = toTaskResult(uploaded, { worker, requests, duration_ms: durationMs, removed });
      const receipt = JSON.stringify(result);
      this.#recentResults.set(id, { at: clock.now(), receipt });
      const [[oldest = ''] = []] = this.#recentResults;
      if (this.#recentResults.size > maxRecentResults) this.#recentResults.delete(oldest);
      const { store } = this.#client;
      if (!lease.isHeld || !(await store.finish(id, claim.fence, receipt))) {
        await this.#restoration;
        if (failovers === this.#failovers) throw lease.revoke();
        await store.restoreReceipt(id, receipt); // after a failover, the server might lack the claim
      }
      await removeUrlSecrets(job, task);
      this.#report({ ...outcome, uploaded, requests, durationMs });
      return result;
    } catch (thrown) {
      outcome.durationMs = clock.now() - startedAt;
      throw await this.#handleFailure(job, token, outcome, asMediactlError(thrown));
    } finally {
      if (lease && this.#leases.get(id) === lease) this.#leases.delete(id);
    }
  }

  /** Retries, requeues or fails a job, depending on its error's class. @returns the error for the job processor to throw */
  async #handleFailure(
    job: QueueJob,
    token: string | undefined,
    outcome: FileOutcome,
    error: MediactlError,
  ): Promise<Error> {
    const record = this.#redact(error.toJSON());
    const recordJson = JSON.stringify(record);
    let failureClass = classifyFailure(error);
    if (failureClass === 'leaseLost') {
      this.#notice(outcome, 'this worker was not heard of for longer than --lease: left to the next');
      return new Error(recordJson);
    }
    const { name: worker } = this.#options;
    const { queue, withRetry } = this.#client;
    const missing = workersMissingFile(job);
    if (failureClass === 'retryElsewhere') missing.push(worker);
    if (failureClass === 'retryElsewhere' || failureClass === 'retry') this.#health.onFailure(error);
    if (failureClass === 'retryElsewhere')
      failureClass = missing.length < maxMisses || error.explanation.retryable ? 'retry' : 'permanent';
    const progress: TaskProgress = { worker, offset: 0, error: record, missedBy: missing };
    if (failureClass !== 'requeue') await withRetry(() => job.updateProgress(progress));
    if (failureClass === 'workerFault') this.#stopWith(error);
    if (failureClass === 'pauseWorker') this.#health.pause(error);
    // Count an attempt that stops this worker, since otherwise one file could stop all workers in turn.
    if (failureClass === 'retry' || failureClass === 'permanent' || failureClass === 'workerFault') {
      this.#failedOutcomes.set(job.id as string, { ...outcome, error });
      return failureClass === 'permanent' ? this.#client.permanentFailure(recordJson) : new Error(recordJson);
    }
    if (failureClass === 'pauseQueue') {
      await withRetry(() => queue.pause());
      this.#notice(outcome, `${error.message}: the queue is paused until mediactl uploads retry --all`);
    }
    const requeued = await this.#requeue(job, token);
    this.requeuedFiles++;
    return requeued;
  }

  async #requeue(job: QueueJob, token: string | undefined): Promise<Error> {
    await this.#client.withRetry(() => job.moveToWait(token));
    return this.#client.requeueSignal();
  }

  /** Reports a failed attempt once the queue has recorded that the job will be retried or has failed. */
  #onJobFailed(job: QueueJob, { message }: Error): void {
    const id = job.id as string;
    const outcome = this.#failedOutcomes.get(id);
    this.#failedOutcomes.delete(id);
    const path = displayPathOf(job);
    const error = outcome?.error ?? parseFailure(message);
    if (!job.finishedOn) {
      this.#notice({ path }, `${error.message}; it is tried again later`);
      return;
    }
    const nothing = { requests: 0, durationMs: 0 };
    this.#report({
      job: { path, workspace: '' },
      path,
      queueId: id,
      ...nothing,
      ...outcome,
      error,
    });
  }

  #report(outcome: FileOutcome): void {
    const { path, uploaded, error } = outcome;
    this.#deps.onEvent({
      path,
      event: 'finished',
      outcome: error ? 'failed' : 'uploaded',
      asset_uid: uploaded?.assetUid ?? null,
    });
    this.#outcomes.push(outcome);
  }

  #notice({ path }: { path: string }, message: string): void {
    this.#deps.onEvent({ path, event: 'notice', message });
  }

  /** Adds a started file to the totals of the progress display, which do not include the rest of the queue. */
  #addPlanned({ sizeBytes }: UploadTask): void {
    this.#planned.files++;
    this.#planned.bytes += sizeBytes;
    this.#deps.onPlanned({ event: 'planned', ...this.#planned, there: 0 });
  }

  /** Returns a listener that forwards a job's events, and writes its progress to the queue at most once a second. */
  #progressListener(job: QueueJob): AttemptDeps['onEvent'] {
    const { clock } = this.#deps.api.transport;
    const { name: worker } = this.#options;
    let reportedAt = clock.now();
    return (event) => {
      this.#deps.onEvent(event);
      if (event.event !== 'progress' || clock.now() - reportedAt < progressIntervalMs) return;
      reportedAt = clock.now();
      const progress: TaskProgress = { worker, offset: event.sent_bytes };
      job.updateProgress(progress).catch(() => {}); // the next update includes it
    };
  }
}

/** Removes the query and credentials from a job's URL once they are no longer needed. */
async function removeUrlSecrets(job: QueueJob, task: UploadTask): Promise<void> {
  const { path } = task.source;
  if (!isHttpUrl(path) || !hasCredentials(path)) return;
  await job.updateData({ ...task, source: { path: parseSourceUrl(path).path } });
}
