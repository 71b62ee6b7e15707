import type { QueueEvents } from 'bullmq';
import type { Clock } from '../../contract/clock.ts';
import { asNumber, asObject, asText } from '../../contract/json-values.ts';
import { pollUntil, retryUntil } from '../../contract/retry.ts';
import { MediactlError } from '../errors.ts';
import type { OnUploadEvent } from '../upload/session/events.ts';
import type { FileOutcome } from '../upload/session/upload-job.ts';
import { parseFailure, parseReceipt, parseTaskResult, uploadedFromResult } from './jobs.ts';
import type { QueueClient } from './queue-client.ts';
import type { TaskProgress, TaskResult } from './task.ts';

/** A file in the queue whose outcome is tracked. */
export type TrackedFile = { path: string; workspace: string; sizeBytes: number };

export type JobTrackerDeps = {
  clock: Clock;
  signal: AbortSignal;
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
  readonly #client: QueueClient;
  readonly #deps: JobTrackerDeps;
  readonly #tracked = new Map<string, TrackedFile>();
  /** Ids of active jobs, already reported as started. */
  readonly #activeIds = new Set<string>();
  #onAllDone = () => {};

  private constructor(client: QueueClient, deps: JobTrackerDeps) {
    this.#client = client;
    this.#deps = deps;
  }

  /** Creates a tracker, and receives job events until the queue client is closed. Polls make up for missed events. */
  static async open(client: QueueClient, deps: JobTrackerDeps): Promise<JobTracker> {
    const { clock, signal } = deps;
    const tracker = new JobTracker(client, deps);
    const events = await client.events();
    tracker.#listen(events);
    const run = async () => (events.closing ? undefined : events.run());
    retryUntil(signal, run, { clock, delayAfter: () => restartDelayMs }).catch(() => {}); // interrupted
    return tracker;
  }

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
    const { clock, signal } = this.#deps;
    const done = new AbortController();
    this.#onAllDone = () => done.abort();
    const intervalMs = () => pollIntervalMs + pollIntervalPerFileMs * this.#tracked.size;
    await pollUntil(AbortSignal.any([signal, done.signal]), () => this.#poll(), { clock, intervalMs }).catch(
      (error) => {
        if (signal.aborted || !done.signal.aborted) throw error;
      },
    );
  }

  #listen(events: QueueEvents): void {
    const reportUntracked = (id: string) => {
      if (!this.#tracked.has(id)) this.#deps.onAdded?.(id);
    };
    events.on('active', ({ jobId }) => {
      reportUntracked(jobId);
      this.#onStarted(jobId);
    });
    events.on('progress', ({ jobId, data }) => this.#onProgress(jobId, data));
    events.on('completed', ({ jobId, returnvalue }) => this.#onCompleted(jobId, parseTaskResult(returnvalue)));
    events.on('failed', ({ jobId, failedReason }) => this.#onFailed(jobId, parseFailure(failedReason)));
    events.on('stalled', ({ jobId }) => {
      const message = 'its worker sent no heartbeat for longer than its lease; another worker takes over';
      const file = this.#tracked.get(jobId);
      if (file) this.#deps.onEvent({ path: file.path, event: 'warning', message });
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
    this.#deps.onEvent({ path: file.path, event: 'started', size_bytes: file.sizeBytes });
    if (progress) this.#onProgress(id, progress);
  }

  /** Reports the progress of a job. @param data unvalidated data from the store */
  #onProgress(id: string, data: unknown): void {
    const { worker, offset, error } = asObject(data);
    const file = this.#tracked.get(id);
    const bytes = asNumber(offset);
    if (!file || bytes === undefined) return;
    const { path, sizeBytes: size_bytes } = file;
    const { onEvent } = this.#deps;
    onEvent({ path, event: 'progress', offset_bytes: bytes, bytes_sent: bytes, size_bytes });
    if (error === undefined) return;
    const { message } = parseFailure(JSON.stringify(error));
    onEvent({ path, event: 'warning', message: `${asText(worker) ?? 'a worker'}: ${message}` });
  }

  #onCompleted(id: string, result: TaskResult | undefined): void {
    const file = this.#tracked.get(id);
    if (!result || !file) return; // a poll will find the result
    const { request_count: requests, elapsed_ms: durationMs } = result;
    const uploaded = uploadedFromResult(result, file.sizeBytes);
    const { asset_uid, blake3, verified } = result;
    this.#deps.onEvent({ path: file.path, event: 'uploaded', asset_uid, blake3, verified });
    this.#finish(id, file, { requests, durationMs, uploaded });
  }

  #onFailed(id: string, error: MediactlError): void {
    const file = this.#tracked.get(id);
    if (file) this.#finish(id, file, { requests: 0, durationMs: 0, error });
  }

  #finish(id: string, file: TrackedFile, result: Omit<FileOutcome, 'job' | 'path'>): void {
    const { path, workspace } = file;
    this.#tracked.delete(id);
    this.#activeIds.delete(id);
    const asset_uid = result.uploaded?.assetUid ?? null;
    this.#deps.onEvent({ path, event: 'finished', outcome: result.error ? 'failed' : 'uploaded', asset_uid });
    this.#deps.onOutcome({ job: { path, workspace }, path, queueId: id, ...result });
    if (this.#tracked.size === 0) this.#onAllDone();
  }

  /** Polls the states of all tracked jobs, in batches. @returns true if all are done */
  async #poll(): Promise<true | undefined> {
    const ids = [...this.#tracked.keys()];
    for (let at = 0; at < ids.length; at += pollBatchSize) {
      this.#deps.signal.throwIfAborted();
      await Promise.all(ids.slice(at, at + pollBatchSize).map((id) => this.#pollJob(id)));
    }
    return this.#tracked.size === 0 || undefined;
  }

  async #pollJob(id: string): Promise<void> {
    const { queue, withRetry, store } = this.#client;
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
    else this.#onFailed(id, removedFromQueue());
  }
}

const removedFromQueue = () =>
  new MediactlError('it was removed from the queue', { code: 'not_found', hint: 'queue it again' });
