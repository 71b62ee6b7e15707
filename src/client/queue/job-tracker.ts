import type { QueueEvents } from 'bullmq';
import type { Clock } from '../../contract/clock.ts';
import { asNumber, asObject, asText } from '../../contract/json-values.ts';
import { MediactlError } from '../errors.ts';
import type { OnUploadEvent } from '../upload/session/events.ts';
import type { FileOutcome } from '../upload/session/upload-job.ts';
import { restartUntilAborted } from './connection-monitor.ts';
import type { QueueClient } from './queue-client.ts';
import type { TaskProgress, TaskResult } from './task.ts';
import { parseFailure, parseReceipt, parseTaskResult, uploadedFromResult } from './task-result.ts';

/** A file in the queue whose outcome is tracked. */
export type TrackedFile = { path: string; workspace: string; sizeBytes: number };

type JobTrackerListeners = {
  onEvent: OnUploadEvent;
  /** Called once for each tracked file, when it is uploaded, has failed or was removed from the queue. */
  onOutcome(outcome: FileOutcome): void;
  /** Called with the id of each untracked job that is added, started or requeued. */
  onAdded?(id: string): void;
};

/** Base interval at which all tracked jobs are polled, in case events were lost. */
const pollIntervalMs = 10_000;
const pollIntervalPerFileMs = 5;
const pollBatchSize = 100;
const restartDelayMs = 1_000;

/** Tracks the progress and outcome of jobs, whichever worker has them, through events and polls. */
export class JobTracker {
  readonly #fleet: QueueClient;
  readonly #clock: Clock;
  readonly #signal: AbortSignal;
  readonly #listeners: JobTrackerListeners;
  readonly #events: QueueEvents;
  readonly #tracked = new Map<string, TrackedFile>();
  /** Ids of active jobs, already reported as started. */
  readonly #activeIds = new Set<string>();
  #wake = () => {};

  private constructor(
    fleet: QueueClient,
    events: QueueEvents,
    { clock, signal }: { clock: Clock; signal: AbortSignal },
    hearers: JobTrackerListeners,
  ) {
    this.#fleet = fleet;
    this.#clock = clock;
    this.#signal = signal;
    this.#listeners = hearers;
    this.#events = events;
  }

  /** Creates a tracker and starts to listen for job events. */
  static async open(
    fleet: QueueClient,
    tools: { clock: Clock; signal: AbortSignal },
    hearers: JobTrackerListeners,
  ): Promise<JobTracker> {
    const events = await fleet.events();
    const follower = new JobTracker(fleet, events, tools, hearers);
    follower.#listen();
    void follower.#run(tools);
    return follower;
  }

  /** Number of tracked files without an outcome. */
  get size(): number {
    return this.#tracked.size;
  }

  has(id: string): boolean {
    return this.#tracked.has(id);
  }

  /** Tracks a file. @param progress last known progress of an active job */
  add(id: string, file: TrackedFile, progress?: TaskProgress): void {
    this.#tracked.set(id, file);
    if (progress) this.#onStarted(id, progress);
  }

  /** Resolves when all tracked files have an outcome. @throws the abort reason of the signal */
  async waitUntilDone(): Promise<void> {
    while (this.#tracked.size > 0) {
      await this.#poll();
      if (this.#tracked.size === 0) return;
      const woken = new AbortController();
      this.#wake = () => woken.abort();
      const interrupted = AbortSignal.any([this.#signal, woken.signal]);
      const delayMs = pollIntervalMs + pollIntervalPerFileMs * this.#tracked.size;
      await this.#clock.sleep(delayMs, interrupted).catch(() => this.#signal.throwIfAborted());
    }
  }

  /** Receives events until the queue client is closed, and restarts after errors. Polls make up for missed events. */
  #run(tools: { clock: Clock; signal: AbortSignal }): Promise<void> {
    const run = () => (this.#events.closing ? Promise.resolve() : this.#events.run());
    return restartUntilAborted(run, restartDelayMs, tools);
  }

  #listen(): void {
    const { onEvent, onAdded = () => {} } = this.#listeners;
    const events = this.#events;
    const reportUntracked = (id: string) => {
      if (!this.#tracked.has(id)) onAdded(id);
    };
    events.on('active', ({ jobId }) => {
      reportUntracked(jobId);
      this.#onStarted(jobId);
    });
    events.on('progress', ({ jobId, data }) => this.#onProgress(jobId, data));
    events.on('completed', ({ jobId, returnvalue }) => this.#onCompleted(jobId, parseTaskResult(returnvalue)));
    events.on('failed', ({ jobId, failedReason }) => this.#onFailed(jobId, parseFailure(failedReason)));
    events.on('stalled', ({ jobId }) => {
      const message = 'its worker was not heard of for longer than its --lease; left to the next';
      const file = this.#tracked.get(jobId);
      if (file) onEvent({ path: file.path, event: 'notice', message });
    });
    events.on('added', ({ jobId }) => reportUntracked(jobId));
    events.on('waiting', ({ jobId }) => {
      reportUntracked(jobId);
      this.#activeIds.delete(jobId); // requeued, or stalled
    });
    events.on('delayed', ({ jobId }) => this.#activeIds.delete(jobId));
  }

  #onStarted(id: string, progress?: TaskProgress): void {
    const file = this.#tracked.get(id);
    if (!file || this.#activeIds.has(id)) return;
    this.#activeIds.add(id);
    this.#listeners.onEvent({ path: file.path, event: 'started', size_bytes: file.sizeBytes });
    if (progress) this.#onProgress(id, progress);
  }

  /** Reports the progress of a job. @param data unvalidated data from the store */
  #onProgress(id: string, data: unknown): void {
    const { worker, offset, error } = asObject(data);
    const file = this.#tracked.get(id);
    const bytes = asNumber(offset);
    if (!file || bytes === undefined) return;
    const { path, sizeBytes: size_bytes } = file;
    const sent = { acknowledged_bytes: bytes, sent_bytes: bytes, size_bytes };
    this.#listeners.onEvent({ path, event: 'progress', ...sent });
    if (error === undefined) return;
    const { message } = parseFailure(JSON.stringify(error));
    this.#listeners.onEvent({
      path,
      event: 'notice',
      message: `${asText(worker) ?? 'a worker'}: ${message}`,
    });
  }

  #onCompleted(id: string, result: TaskResult | undefined): void {
    if (!result) return; // a poll will find the result
    const { requests, duration_ms: durationMs } = result;
    this.#finish(id, ({ sizeBytes }) => ({
      ...{ requests, durationMs, uploaded: uploadedFromResult(result, sizeBytes) },
    }));
  }

  #onFailed(id: string, error: MediactlError): void {
    this.#finish(id, () => ({ requests: 0, durationMs: 0, error }));
  }

  #finish(
    id: string,
    toOutcome: (file: TrackedFile) => Pick<FileOutcome, 'requests' | 'durationMs' | 'uploaded' | 'error'>,
  ): void {
    const file = this.#tracked.get(id);
    if (!file) return;
    this.#tracked.delete(id);
    this.#activeIds.delete(id);
    const { path, workspace } = file;
    const outcome: FileOutcome = {
      job: { path, workspace },
      path,
      queueId: id,
      ...toOutcome(file),
    };
    const asset_uid = outcome.uploaded?.assetUid ?? null;
    const result = outcome.error ? 'failed' : 'uploaded';
    if (outcome.uploaded) {
      const { blake3, verified, assetUid } = outcome.uploaded;
      this.#listeners.onEvent({ path, event: 'uploaded', asset_uid: assetUid, blake3, verified });
    }
    this.#listeners.onEvent({ path, event: 'finished', outcome: result, asset_uid });
    this.#listeners.onOutcome(outcome);
    if (this.#tracked.size === 0) this.#wake();
  }

  /** Polls the states of all tracked jobs, in batches. Some might have finished before the listener started. */
  async #poll(): Promise<void> {
    const ids = [...this.#tracked.keys()];
    for (let at = 0; at < ids.length; at += pollBatchSize) {
      this.#signal.throwIfAborted();
      await Promise.all(ids.slice(at, at + pollBatchSize).map((id) => this.#pollJob(id)));
    }
  }

  async #pollJob(id: string): Promise<void> {
    const { queue, withRetry, store } = this.#fleet;
    const state = await withRetry(() => queue.getJobState(id));
    if (state === 'completed' || state === 'failed') {
      const job = await withRetry(() => queue.getJob(id));
      if (state === 'failed') return this.#onFailed(id, parseFailure(job?.failedReason ?? ''));
      const result = parseTaskResult(job?.returnvalue);
      if (result) return this.#onCompleted(id, result);
    } else if (state !== 'unknown') return;
    const [receipt] = await store.findReceipts([id]);
    const result = parseReceipt(receipt);
    if (result) this.#onCompleted(id, result);
    else this.#onFailed(id, jobRemovedError());
  }
}

const jobRemovedError = () =>
  new MediactlError('somebody took it out of the queue', {
    code: 'forgotten',
  });
