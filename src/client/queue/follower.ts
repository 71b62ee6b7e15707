import type { QueueEvents } from 'bullmq';
import { asNumber, asObject, asText } from '../../contract/json-values.ts';
import type { Clock } from '../clock.ts';
import { exitCodes, MediactlError } from '../errors.ts';
import type { OnUploadEvent } from '../upload/session/events.ts';
import type { FileOutcome } from '../upload/session/file-outcome.ts';
import type { Fleet } from './fleet.ts';
import { untilOver } from './patience.ts';
import { failureIn, receiptIn, resultIn, uploadedOf } from './results.ts';
import type { TaskProgress, TaskResult } from './task.ts';

/** A file of the queue whose outcome is tracked. */
export type Followed = { path: string; workspace: string; sizeBytes: number };

type Hearers = {
  onEvent: OnUploadEvent;
  /** Called once for each tracked file, when it is uploaded, has failed or was removed. */
  onOutcome(outcome: FileOutcome): void;
  /** Called for untracked jobs that are added or requeued. */
  onAdded?(id: string): void;
};

/** Poll interval for all tracked jobs, since events may be lost. */
const sweepEveryMs = 10_000;
const sweepPerFileMs = 5;
const askedAtOnce = 100;
const runAgainMs = 1_000;

/** Tracks the progress and outcome of jobs of any worker, by events and polls. */
export class Follower {
  readonly #fleet: Fleet;
  readonly #clock: Clock;
  readonly #signal: AbortSignal;
  readonly #hearers: Hearers;
  readonly #events: QueueEvents;
  readonly #followed = new Map<string, Followed>();
  /** Ids of active jobs, already reported as started. */
  readonly #begun = new Set<string>();
  #wake = () => {};

  private constructor(
    fleet: Fleet,
    events: QueueEvents,
    { clock, signal }: { clock: Clock; signal: AbortSignal },
    hearers: Hearers,
  ) {
    this.#fleet = fleet;
    this.#clock = clock;
    this.#signal = signal;
    this.#hearers = hearers;
    this.#events = events;
  }

  /** Starts to listen for job events. */
  static async open(
    fleet: Fleet,
    tools: { clock: Clock; signal: AbortSignal },
    hearers: Hearers,
  ): Promise<Follower> {
    const events = await fleet.events();
    const follower = new Follower(fleet, events, tools, hearers);
    follower.#listen();
    void follower.#run(tools);
    return follower;
  }

  /** Number of tracked files without an outcome. */
  get size(): number {
    return this.#followed.size;
  }

  has(id: string): boolean {
    return this.#followed.has(id);
  }

  /** Tracks a file. @param progress last progress, if the job is active */
  add(id: string, file: Followed, progress?: TaskProgress): void {
    this.#followed.set(id, file);
    if (progress) this.#started(id, progress);
  }

  /** Resolves when all tracked files have an outcome. @throws the abort reason of the signal */
  async untilNoneIsLeft(): Promise<void> {
    while (this.#followed.size > 0) {
      await this.#sweep();
      if (this.#followed.size === 0) return;
      const woken = new AbortController();
      this.#wake = () => woken.abort();
      const either = AbortSignal.any([this.#signal, woken.signal]);
      const delayMs = sweepEveryMs + sweepPerFileMs * this.#followed.size;
      await this.#clock.sleep(delayMs, either).catch(() => this.#signal.throwIfAborted());
    }
  }

  /** Receives events until the queue client is closed; restarts after errors. Polls find missed events. */
  #run(tools: { clock: Clock; signal: AbortSignal }): Promise<void> {
    const run = () => (this.#events.closing ? Promise.resolve() : this.#events.run());
    return untilOver(run, runAgainMs, tools);
  }

  #listen(): void {
    const { onEvent, onAdded = () => {} } = this.#hearers;
    const events = this.#events;
    const unknown = (id: string) => {
      if (!this.#followed.has(id)) onAdded(id);
    };
    events.on('active', ({ jobId }) => {
      unknown(jobId);
      this.#started(jobId);
    });
    events.on('progress', ({ jobId, data }) => this.#progress(jobId, data));
    events.on('completed', ({ jobId, returnvalue }) =>
      this.#completed(jobId, resultIn(returnvalue)),
    );
    events.on('failed', ({ jobId, failedReason }) => this.#failed(jobId, failureIn(failedReason)));
    events.on('stalled', ({ jobId }) => {
      const message = 'its worker was not heard of for longer than its --lease; left to the next';
      const file = this.#followed.get(jobId);
      if (file) onEvent({ path: file.path, event: 'notice', message });
    });
    events.on('added', ({ jobId }) => unknown(jobId));
    events.on('waiting', ({ jobId }) => {
      unknown(jobId);
      this.#begun.delete(jobId); // requeued, or stalled
    });
    events.on('delayed', ({ jobId }) => this.#begun.delete(jobId));
  }

  #started(id: string, progress?: TaskProgress): void {
    const file = this.#followed.get(id);
    if (!file || this.#begun.has(id)) return;
    this.#begun.add(id);
    this.#hearers.onEvent({ path: file.path, event: 'started', size_bytes: file.sizeBytes });
    if (progress) this.#progress(id, progress);
  }

  /** Reports the progress of a job. @param data unvalidated data from the store */
  #progress(id: string, told: unknown): void {
    const { worker, offset, error } = asObject(told);
    const file = this.#followed.get(id);
    const bytes = asNumber(offset);
    if (!file || bytes === undefined) return;
    const { path, sizeBytes: size_bytes } = file;
    const sent = { acknowledged_bytes: bytes, sent_bytes: bytes, size_bytes };
    this.#hearers.onEvent({ path, event: 'progress', ...sent });
    if (error === undefined) return;
    const { message } = failureIn(JSON.stringify(error));
    this.#hearers.onEvent({
      path,
      event: 'notice',
      message: `${asText(worker) ?? 'a worker'}: ${message}`,
    });
  }

  #completed(id: string, result: TaskResult | undefined): void {
    if (!result) return; // a poll will get it
    const { requests, duration_ms: durationMs } = result;
    this.#settle(id, ({ sizeBytes }) => ({
      ...{ requests, durationMs, uploaded: uploadedOf(result, sizeBytes) },
    }));
  }

  #failed(id: string, error: MediactlError): void {
    this.#settle(id, () => ({ requests: 0, durationMs: 0, error }));
  }

  #settle(
    id: string,
    what: (file: Followed) => Pick<FileOutcome, 'requests' | 'durationMs' | 'uploaded' | 'error'>,
  ): void {
    const file = this.#followed.get(id);
    if (!file) return;
    this.#followed.delete(id);
    this.#begun.delete(id);
    const { path, workspace } = file;
    const outcome: FileOutcome = { job: { path, workspace }, path, queueId: id, ...what(file) };
    const asset_uid = outcome.uploaded?.assetUid ?? null;
    const word = outcome.error ? 'failed' : 'uploaded';
    if (outcome.uploaded) {
      const { blake3, verified, assetUid } = outcome.uploaded;
      this.#hearers.onEvent({ path, event: 'uploaded', asset_uid: assetUid, blake3, verified });
    }
    this.#hearers.onEvent({ path, event: 'finished', outcome: word, asset_uid });
    this.#hearers.onOutcome(outcome);
    if (this.#followed.size === 0) this.#wake();
  }

  /** Polls all tracked jobs, in batches: some may have finished before the listener started. */
  async #sweep(): Promise<void> {
    const ids = [...this.#followed.keys()];
    for (let at = 0; at < ids.length; at += askedAtOnce) {
      this.#signal.throwIfAborted();
      await Promise.all(ids.slice(at, at + askedAtOnce).map((id) => this.#look(id)));
    }
  }

  async #look(id: string): Promise<void> {
    const { queue, patiently, store } = this.#fleet;
    const state = await patiently(() => queue.getJobState(id));
    if (state === 'completed' || state === 'failed') {
      const job = await patiently(() => queue.getJob(id));
      if (state === 'failed') return this.#failed(id, failureIn(job?.failedReason ?? ''));
      const result = resultIn(job?.returnvalue);
      if (result) return this.#completed(id, result);
    } else if (state !== 'unknown') return;
    const [receipt] = await store.receipts([id]);
    const result = receiptIn(receipt);
    if (result) this.#completed(id, result);
    else this.#failed(id, forgotten());
  }
}

const forgotten = () =>
  new MediactlError('somebody took it out of the queue', {
    code: 'forgotten',
    exitCode: exitCodes.notFound,
    hint: 'queue it again',
  });
