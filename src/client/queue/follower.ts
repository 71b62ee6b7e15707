import type { QueueEvents } from 'bullmq';
import { fieldsIn, numberIn, textIn } from '../../contract/reading.ts';
import type { Clock } from '../clock.ts';
import { exitCodes, MediactlError } from '../errors.ts';
import type { OnUploadEvent } from '../upload/session/events.ts';
import type { FileOutcome } from '../upload/session/outcome.ts';
import type { Fleet } from './fleet.ts';
import { untilOver } from './patience.ts';
import { failureIn, receiptIn, resultIn, uploadedOf } from './results.ts';
import type { TaskProgress, TaskResult } from './task.ts';

/** A file of the queue, as it is told of. */
export type Followed = { path: string; workspace: string; sizeBytes: number };

type Hearers = {
  onEvent: OnUploadEvent;
  /** Told once of each file that is followed, when it is done, has failed or is gone. */
  onOutcome(outcome: FileOutcome): void;
  /** Told of files that come into the queue, or come back into it. */
  onAdded?(id: string): void;
};

/** What the queue tells may be lost; so often it is asked what became of all of them. */
const sweepEveryMs = 10_000;
const sweepPerFileMs = 5;
const askedAtOnce = 100;
const runAgainMs = 1_000;

/** Hears what becomes of files of a queue, whichever worker has them. */
export class Follower {
  readonly #fleet: Fleet;
  readonly #clock: Clock;
  readonly #signal: AbortSignal;
  readonly #hearers: Hearers;
  readonly #events: QueueEvents;
  readonly #followed = new Map<string, Followed>();
  /** Those that a worker has in hand, and that this was said of. */
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

  /** Hears all that happens from now on. */
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

  /** Files that nothing is known of yet. */
  get size(): number {
    return this.#followed.size;
  }

  has(id: string): boolean {
    return this.#followed.has(id);
  }

  /** @param progress of one that a worker has in hand */
  add(id: string, file: Followed, progress?: TaskProgress): void {
    this.#followed.set(id, file);
    if (progress) this.#started(id, progress);
  }

  /** Resolves once something became of all of them. @throws what the signal aborts with */
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

  /** Until the fleet is closed. What is missed meanwhile, a sweep finds. */
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
      this.#begun.delete(jobId); // handed back, or left by its worker
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

  /** @param told whatever stands in the store */
  #progress(id: string, told: unknown): void {
    const { worker, offset, error } = fieldsIn(told);
    const file = this.#followed.get(id);
    const bytes = numberIn(offset);
    if (!file || bytes === undefined) return;
    const { path, sizeBytes: size_bytes } = file;
    const sent = { acknowledged_bytes: bytes, sent_bytes: bytes, size_bytes };
    this.#hearers.onEvent({ path, event: 'progress', ...sent });
    if (error === undefined) return;
    const { message } = failureIn(JSON.stringify(error));
    this.#hearers.onEvent({
      path,
      event: 'notice',
      message: `${textIn(worker) ?? 'a worker'}: ${message}`,
    });
  }

  #completed(id: string, result: TaskResult | undefined): void {
    if (!result) return; // the store is asked in time
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

  /** Asks what became of each: it may have been done before anybody listened. */
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
