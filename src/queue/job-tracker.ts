import { CodedError } from '../client/errors.ts';
import type { OnUploadEvent } from '../client/upload/session/events.ts';
import { createOutcome, type FileOutcome } from '../client/upload/session/file-outcome.ts';
import { fileAt } from '../client/upload/sources/upload-file.ts';
import type { Clock } from '../shared/clock.ts';
import { asNumber, asObject, asText, parseJsonOrUndefined } from '../shared/json-values.ts';
import { pollUntil } from '../shared/retry.ts';
import { parseFailure, parseReceipt, uploadedFromResult } from './jobs.ts';
import type { QueueClient } from './queue-client.ts';
import { countUnfinished } from './queue-status.ts';
import type { JobEvent } from './shared-store.ts';
import { parseTaskResult, type TaskProgress, type TaskResult } from './task.ts';

/** A file in the queue whose outcome is tracked. */
export type TrackedFile = { path: string; sizeBytes: number };

export type JobTrackerDeps = {
  clock: Clock;
  signal: AbortSignal;
  onEvent: OnUploadEvent;
  /** Called once for each tracked file, when it is uploaded, has failed or was removed from the queue. */
  onOutcome(outcome: FileOutcome): void;
  /**
   * Called before events are reported, with the untracked jobs that they show, to track them.
   *
   * @param hasGap true if events may have been deleted before they were read
   */
  onRead?(untracked: readonly string[], hasGap: boolean): Promise<void>;
};

const pollIntervalMs = 300;
/** Base interval at which all tracked files are looked up, in case events were lost. */
const lookupIntervalMs = 10_000;
const lookupIntervalPerFileMs = 5;
const receiptBatchSize = 1_000;
const jobBatchSize = 100;

/** Tracks the progress and outcome of jobs, whichever worker has them, by the events that BullMQ records of them. */
export class JobTracker {
  readonly #client: QueueClient;
  readonly #deps: JobTrackerDeps;
  readonly #tracked = new Map<string, TrackedFile>();
  /** Ids of active jobs, already reported as started. */
  readonly #activeIds = new Set<string>();
  /** Maps the names of BullMQ queues to the position of the last event that was read. */
  readonly #positions = new Map<string, string>();
  #hasLostEvents = false;
  #lookedUpAt: number;

  private constructor(client: QueueClient, deps: JobTrackerDeps) {
    this.#client = client;
    this.#deps = deps;
    this.#lookedUpAt = deps.clock.now();
  }

  /** Creates a tracker of the events from now on. */
  static async open(client: QueueClient, deps: JobTrackerDeps): Promise<JobTracker> {
    const tracker = new JobTracker(client, deps);
    for (const { name } of await client.queues()) {
      const { position } = await client.store.readEvents(name, undefined);
      tracker.#positions.set(name, position);
    }
    return tracker;
  }

  get size(): number {
    return this.#tracked.size;
  }

  /** Tracks a file. @param progress last known progress of an active job */
  add(id: string, file: TrackedFile, progress?: TaskProgress): void {
    this.#tracked.set(id, file);
    if (progress) this.#onStarted(id, progress);
  }

  /** Reads events until `isDone` returns true and no event is left. @throws the abort reason of the signal */
  async follow(isDone: () => boolean | Promise<boolean>): Promise<void> {
    const { clock, signal } = this.#deps;
    const poll = async () => {
      await this.#readEvents();
      await this.#lookUpIfDue();
      if (!(await isDone())) return undefined;
      await this.#readEvents();
      return (await isDone()) || undefined;
    };
    await pollUntil(signal, poll, { clock, intervalMs: pollIntervalMs });
  }

  async #readEvents(): Promise<void> {
    const { store } = this.#client;
    for (const { name } of await this.#client.queues()) {
      for (let count = 1; count > 0; ) {
        const from = this.#positions.get(name) ?? '0'; // all events of a new root are new
        const { events, position, hasGap } = await store.readEvents(name, from);
        this.#positions.set(name, position);
        this.#hasLostEvents ||= hasGap;
        count = events.length;
        await this.#apply(events, hasGap);
      }
    }
  }

  async #apply(events: readonly JobEvent[], hasGap: boolean): Promise<void> {
    const { onRead } = this.#deps;
    const isUntracked = ({ jobId, event }: JobEvent) => shownEvents.has(event) && !this.#tracked.has(jobId);
    const untracked = onRead ? new Set(events.filter(isUntracked).map(({ jobId }) => jobId)) : [];
    await onRead?.([...untracked], hasGap);
    for (const event of events) this.#applyOne(event);
  }

  #applyOne({ jobId, event, fields }: JobEvent): void {
    const file = this.#tracked.get(jobId);
    if (!file) return;
    if (event === 'active') this.#onStarted(jobId);
    else if (event === 'progress') this.#onProgress(jobId, parseJsonOrUndefined(fields.data ?? ''));
    else if (event === 'completed') this.#onCompleted(jobId, parseReceipt(fields.returnvalue));
    else if (event === 'failed') this.#onFailed(jobId, parseFailure(fields.failedReason ?? ''));
    else if (event === 'waiting' || event === 'delayed')
      this.#activeIds.delete(jobId); // to be tried again
    else if (event === 'stalled')
      this.#deps.onEvent({
        path: file.path,
        event: 'warning',
        message: 'its worker sent no heartbeat for longer than its lease; another worker takes over',
      });
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
    if (!result || !file) return; // a lookup will find the result
    const { request_count: requests, elapsed_ms: durationMs } = result;
    const uploaded = uploadedFromResult(result, file.sizeBytes);
    const { asset_uid, blake3, verified } = result;
    this.#deps.onEvent({ path: file.path, event: 'uploaded', asset_uid, blake3, verified });
    this.#finish(id, file, { requests, durationMs, uploaded });
  }

  #onFailed(id: string, error: CodedError): void {
    const file = this.#tracked.get(id);
    if (file) this.#finish(id, file, { requests: 0, durationMs: 0, error });
  }

  #finish(id: string, file: TrackedFile, result: Partial<FileOutcome>): void {
    const { path } = file;
    this.#tracked.delete(id);
    this.#activeIds.delete(id);
    const asset_uid = result.uploaded?.assetUid ?? null;
    this.#deps.onEvent({ path, event: 'finished', outcome: result.error ? 'failed' : 'uploaded', asset_uid });
    this.#deps.onOutcome(createOutcome(fileAt(path), { jobId: id, ...result }));
  }

  /** Looks up all tracked files, in batches: receipts, and if an outcome is missing, jobs. */
  async #lookUpIfDue(): Promise<void> {
    const { clock, signal } = this.#deps;
    if (clock.now() < this.#lookedUpAt + lookupIntervalMs + lookupIntervalPerFileMs * this.#tracked.size) return;
    const { store } = this.#client;
    for (const ids of inBatches([...this.#tracked.keys()], receiptBatchSize)) {
      signal.throwIfAborted();
      for (const [at, receipt] of (await store.findReceipts(ids)).entries())
        if (receipt !== undefined) this.#onCompleted(ids[at] as string, parseReceipt(receipt));
    }
    // Without a lost event, a file without a receipt is unfinished.
    const isMissing = this.#hasLostEvents || this.#tracked.size > (await countUnfinished(this.#client));
    if (isMissing)
      for (const ids of inBatches([...this.#tracked.keys()], jobBatchSize)) {
        signal.throwIfAborted();
        await Promise.all(ids.map((id) => this.#lookUpJob(id)));
      }
    this.#hasLostEvents = false;
    this.#lookedUpAt = clock.now();
  }

  async #lookUpJob(id: string): Promise<void> {
    const job = await this.#client.findJob(id);
    if (!job) return this.#onFailed(id, removedFromQueue());
    if (!job.finishedOn) return;
    if (await this.#client.withRetry(() => job.isFailed())) this.#onFailed(id, parseFailure(job.failedReason));
    else this.#onCompleted(id, parseTaskResult(job.returnvalue));
  }
}

/** Events after which a file is shown. */
const shownEvents: ReadonlySet<string> = new Set(['active', 'completed', 'failed']);

function* inBatches<T>(items: readonly T[], size: number): Generator<T[]> {
  for (let at = 0; at < items.length; at += size) yield items.slice(at, at + size);
}

const removedFromQueue = () =>
  new CodedError('it was removed from the queue', { code: 'not_found', hint: 'queue it again' });
