import { randomUUID } from 'node:crypto';
import { basename } from 'node:path';
import { asMediactlError, endsTheRun, MediactlError } from '../errors.ts';
import {
  type BatchDeps,
  type BatchRun,
  filesToUpload,
  type RunOptions,
  type RunResult,
} from '../upload/batch/batch-uploader.ts';
import { Channel } from '../upload/batch/channel.ts';
import { emptyPlan } from '../upload/batch/plan.ts';
import { ReadyWatch } from '../upload/batch/ready-watch.ts';
import type { FileOutcome } from '../upload/session/file-outcome.ts';
import type { Uploaded } from '../upload/session/upload-job.ts';
import { isHttpUrl } from '../upload/sources/source-url.ts';
import {
  receiptKeyOf,
  type UploadCandidate,
  userMetadataOf,
} from '../upload/sources/upload-candidate.ts';
import type { ReceiptKey } from '../upload/store/receipts.ts';
import type { Fleet } from './fleet.ts';
import { Follower } from './follower.ts';
import { retryFailed } from './jobs.ts';
import { receiptIn, thereBefore } from './results.ts';
import type { Roots } from './roots.ts';
import { shortTaskId, type TaskSource, taskId, type UploadTask } from './task.ts';

/** Number of files added to the queue in one batch. */
const batchSize = 200;
/** Number of attempts per job, with exponential backoff: 2 s, 4 s … 8.5 min, 17 min in all. */
const attempts = 10;
const firstPauseMs = 2_000;

/** States of jobs that no worker is processing. */
const renewable: ReadonlySet<string> = new Set(['failed', 'waiting', 'delayed', 'prioritized']);

/** @property path as the user typed it @property key of this machine's receipt */
type Queued = { id: string; task: UploadTask; path: string; key: ReceiptKey | undefined };

/**
 * Adds all files without a receipt to a queue; with `--wait`, waits until workers have uploaded them. Jobs are
 * deduped by file and target folder.
 */
export class QueueRun implements BatchRun {
  readonly #fleet: Fleet;
  readonly #roots: Roots;
  readonly #options: RunOptions;
  readonly #tools: BatchDeps;
  readonly #outcomes = new Channel<FileOutcome>();
  readonly #plan = emptyPlan();
  readonly #watch: ReadyWatch | undefined;
  #follower: Follower | undefined;
  readonly #followed = new Map<string, Queued>();
  #stop: MediactlError | undefined;
  #left = 0;

  /** @param options with `timeoutMs`, waits until the assets are ready */
  constructor(fleet: Fleet, roots: Roots, options: RunOptions, tools: BatchDeps) {
    this.#fleet = fleet;
    this.#roots = roots;
    this.#options = options;
    this.#tools = tools;
    const { timeoutMs } = options;
    if (timeoutMs === undefined) return;
    this.#watch = new ReadyWatch(tools, timeoutMs, {
      onResult: (outcome) => this.#outcomes.push(outcome),
      onFailed: (error) => {
        if (endsTheRun(error)) this.#stop ??= error;
      },
    });
  }

  get result(): RunResult {
    return { plan: this.#plan, stopReason: this.#stop, remaining: this.#left };
  }

  outcomes(
    wanted: AsyncIterable<UploadCandidate> | Iterable<UploadCandidate>,
  ): AsyncGenerator<FileOutcome[]> {
    return this.#outcomes.streamWhile(() => this.#all(wanted));
  }

  async #all(wanted: AsyncIterable<UploadCandidate> | Iterable<UploadCandidate>): Promise<void> {
    const done = (outcome: FileOutcome) => this.#done(outcome);
    const files = await filesToUpload(wanted, this.#plan, this.#options, this.#tools, done);
    await this.#tools.onPlan(this.#plan);
    const carry = () => this.#queueAndFollow(files);
    await (this.#watch?.runWhile(carry) ?? carry());
  }

  async #queueAndFollow(files: readonly UploadCandidate[]): Promise<void> {
    const { api, signal = new AbortController().signal, onEvent } = this.#tools;
    const { clock } = api.transport;
    if (this.#watch)
      this.#follower = await Follower.open(
        this.#fleet,
        { clock, signal },
        { onEvent, onOutcome: (outcome) => this.#came(outcome) },
      );
    for (let at = 0; at < files.length; at += batchSize) {
      if (this.#stop || signal.aborted) {
        this.#left += files.length - at;
        break;
      }
      await this.#queue(files.slice(at, at + batchSize));
    }
    try {
      await this.#follower?.untilNoneIsLeft();
    } catch (error) {
      if (!signal.aborted) throw error;
      this.#left += this.#follower?.size ?? 0; // the workers continue with them
      const { reason } = signal;
      if (reason instanceof MediactlError) this.#stop ??= reason;
    }
  }

  async #queue(files: readonly UploadCandidate[]): Promise<void> {
    const queued: Queued[] = [];
    for (const file of files) {
      if (this.#stop) this.#left++;
      else
        await this.#taskOf(file).then(
          (one) => queued.push(one),
          (thrown) => this.#failed(file, asMediactlError(thrown)),
        );
    }
    const { queue, store, patiently } = this.#fleet;
    await this.#nameAsBefore(queued);
    const receipts = await store.receipts(queued.map(({ id }) => id));
    const fresh = queued.filter((one, index) => {
      const result = receiptIn(receipts[index]);
      if (!result) return true;
      const uploaded = thereBefore(result, one.task.sizeBytes);
      const { path, task } = one;
      this.#tools.onEvent({ path, event: 'started', size_bytes: task.sizeBytes });
      this.#tools.onEvent({
        path,
        event: 'finished',
        outcome: 'there',
        asset_uid: uploaded.assetUid,
      });
      this.#keepReceipt(one, uploaded);
      this.#done({ ...outcomeOf(one), uploaded });
      return false;
    });
    for (const one of fresh) {
      this.#followed.set(one.id, one);
      this.#follower?.add(one.id, { ...one.task, path: one.path });
    }
    const states = await Promise.all(fresh.map(({ id }) => patiently(() => queue.getJobState(id))));
    const jobs = fresh.map(({ id, task }) => ({
      ...{ name: task.filename, data: task },
      opts: {
        ...{ jobId: id, attempts, stackTraceLimit: 0 },
        backoff: { type: 'exponential', delay: firstPauseMs, jitter: 0.5 },
      },
    }));
    await patiently(() => queue.addBulk(jobs)); // existing jobs are not changed
    const idle = fresh.filter((_, index) => renewable.has(states[index] as string));
    await Promise.all(idle.map((one) => this.#renew(one)));
    if (!this.#follower) for (const one of fresh) this.#done(outcomeOf(one));
  }

  /** Reuses the short ids of jobs that an earlier version queued, so that their files are not uploaded twice. */
  async #nameAsBefore(queued: Queued[]): Promise<void> {
    const { queue, store, patiently } = this.#fleet;
    const ids = queued.map(({ id }) => shortTaskId(id));
    const [receipts, states] = await Promise.all([
      store.receipts(ids),
      Promise.all(ids.map((id) => patiently(() => queue.getJobState(id)))),
    ]);
    for (const [index, id] of ids.entries())
      if (receipts[index] !== undefined || states[index] !== 'unknown')
        (queued[index] as Queued).id = id;
  }

  /** Replaces the data of a job that no worker is processing, since its URL may have a new signature, and retries it if failed. */
  async #renew({ id, task }: Queued): Promise<void> {
    const { queue, patiently } = this.#fleet;
    const job = await patiently(() => queue.getJob(id));
    if (!job) return;
    await patiently(() => job.updateData(task));
    await retryFailed(job);
  }

  async #taskOf(file: UploadCandidate): Promise<Queued> {
    const { folders, api, contentType } = this.#tools;
    const { workspace, about: all, chunkBytes, onExpired, requireChecksum, again } = this.#options;
    const { path, sizeBytes = 0, mtimeNs = '0', typedPath, sourceId = path } = file;
    const lasting = isHttpUrl(path) ? { path: sourceId } : this.#roots.sourceOf(sourceId);
    const folder = await folders.findOrCreate(file);
    const task: UploadTask = {
      ...{ version: 1, service: api.transport.baseUrl.origin, sizeBytes },
      path: isHttpUrl(path) ? path : placeOf(lasting),
      source: isHttpUrl(path) ? { path: typedPath ?? path } : lasting,
      fileVersion: mtimeNs,
      workspace,
      filename: file.filename ?? basename(path),
      ...defined({
        folder,
        ...userMetadataOf(file, all, contentType),
        again: again ? randomUUID() : undefined,
      }),
      ...{ chunkBytes, onExpired, requireChecksum },
    };
    const { service } = task;
    return {
      id: taskId(task, lasting),
      task,
      path,
      key: receiptKeyOf(file, { service, workspace, folders }),
    };
  }

  /** Handles the outcome of a tracked file. */
  #came(outcome: FileOutcome): void {
    const queued = this.#followed.get(outcome.queueId as string);
    if (queued && outcome.uploaded) this.#keepReceipt(queued, outcome.uploaded);
    this.#done(outcome);
  }

  /** Writes a local receipt for a file that a worker uploaded. */
  #keepReceipt({ key, task, path }: Queued, uploaded: Uploaded): void {
    const { receipts, api, onEvent } = this.#tools;
    if (!key) return;
    const at = new Date(api.transport.clock.now()).toISOString();
    receipts
      ?.save({ ...key, ...uploaded, mtimeNs: task.fileVersion, reason: null, at })
      .catch(({ message }: Error) =>
        onEvent({ path, event: 'notice', message: `the receipt cannot be kept: ${message}` }),
      );
  }

  #failed({ path }: UploadCandidate, error: MediactlError): void {
    if (endsTheRun(error)) this.#stop ??= error;
    const job = { path, workspace: this.#options.workspace };
    this.#outcomes.push({ job, path, requests: 0, durationMs: 0, error });
  }

  /** Waits for an uploaded asset to be ready, if requested; reports all other outcomes at once. */
  #done(outcome: FileOutcome): void {
    const { uploaded, error } = outcome;
    if (uploaded && !error) void this.#tools.onUploaded(uploaded.assetUid).catch(() => {}); // @last is optional
    if (this.#watch && uploaded && !error) this.#watch.add(outcome);
    else this.#outcomes.push(outcome);
  }
}

const outcomeOf = ({ id: queueId, task: { workspace }, path }: Queued): FileOutcome => ({
  ...{ job: { path, workspace }, path, queueId, requests: 0, durationMs: 0 },
});

/** Formats a location as workers display it. */
const placeOf = ({ root, path }: TaskSource) => (root === undefined ? path : `${root}:${path}`);

const defined = <T extends object>(fields: T): { [K in keyof T]?: NonNullable<T[K]> } =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as {
    [K in keyof T]?: NonNullable<T[K]>;
  };
