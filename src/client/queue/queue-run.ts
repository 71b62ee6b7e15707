import { randomUUID } from 'node:crypto';
import { basename } from 'node:path';
import { asMediactlError, endsTheRun, MediactlError } from '../errors.ts';
import type { BatchDeps, BatchRun, RunOptions, RunResult } from '../upload/batch/batch-uploader.ts';
import { Channel } from '../upload/batch/channel.ts';
import { emptyPlan, filesToUpload } from '../upload/batch/plan.ts';
import { ReadyWatch } from '../upload/batch/ready-watch.ts';
import type { FileOutcome, Uploaded } from '../upload/session/upload-job.ts';
import {
  isHttpUrl,
  loadContentTypes,
  type ReceiptKey,
  receiptKeyOf,
  type UploadCandidate,
  userMetadataOf,
} from '../upload/sources/upload-candidate.ts';
import { JobTracker } from './job-tracker.ts';
import { parseReceipt, retryFailed, uploadedFromResult } from './jobs.ts';
import type { QueueClient } from './queue-client.ts';
import type { Roots } from './roots.ts';
import { formatLocation, taskId, type UploadTask } from './task.ts';

const batchSize = 200;
/** Number of attempts per job, with exponential backoff: 2 s, 4 s … 8.5 min, 17 min in total. */
const maxAttempts = 10;
const initialBackoffMs = 2_000;

/** States of jobs that no worker is processing. */
const inactiveStates: ReadonlySet<string> = new Set(['failed', 'waiting', 'delayed', 'prioritized']);

/** @property path path or URL shown to the user @property key key of this machine's receipt, if there is one */
type QueuedTask = { id: string; task: UploadTask; path: string; key: ReceiptKey | undefined };

/** Adds all files without a receipt to a queue, deduped by file and folder. With `--wait`, waits for their upload. */
export class QueueRun implements BatchRun {
  readonly #client: QueueClient;
  readonly #roots: Roots;
  readonly #options: RunOptions;
  readonly #deps: BatchDeps;
  readonly #outcomes = new Channel<FileOutcome>();
  readonly #contentTypes = loadContentTypes();
  readonly #plan = emptyPlan();
  readonly #readyWatch: ReadyWatch | undefined;
  #tracker: JobTracker | undefined;
  readonly #tracked = new Map<string, QueuedTask>();
  #stopReason: MediactlError | undefined;
  #remaining = 0;

  /** @param options if `timeoutMs` is set, the run waits until the assets are ready */
  constructor(client: QueueClient, roots: Roots, options: RunOptions, deps: BatchDeps) {
    this.#client = client;
    this.#roots = roots;
    this.#options = options;
    this.#deps = deps;
    if (options.timeoutMs === undefined) return;
    this.#readyWatch = new ReadyWatch(deps, options.timeoutMs, {
      onResult: (outcome) => this.#outcomes.push(outcome),
      onFailed: (error) => this.#stopIfFatal(error),
    });
  }

  get result(): RunResult {
    return { plan: this.#plan, stopReason: this.#stopReason, remaining: this.#remaining };
  }

  outcomes(candidates: AsyncIterable<UploadCandidate> | Iterable<UploadCandidate>): AsyncGenerator<FileOutcome[]> {
    return this.#outcomes.streamWhile(() => this.#run(candidates));
  }

  async #run(candidates: AsyncIterable<UploadCandidate> | Iterable<UploadCandidate>): Promise<void> {
    const done = (outcome: FileOutcome) => this.#reportOrWatch(outcome);
    const files = await filesToUpload(candidates, this.#plan, { ...this.#options, ...this.#deps }, done);
    await this.#deps.onPlan?.(this.#plan);
    const upload = () => this.#queueAndFollow([...files.keys()]);
    await (this.#readyWatch?.runWhile(upload) ?? upload());
  }

  async #queueAndFollow(files: readonly UploadCandidate[]): Promise<void> {
    const { api, signal = new AbortController().signal, onEvent } = this.#deps;
    const { clock } = api.transport;
    const onOutcome = (outcome: FileOutcome) => {
      const queued = this.#tracked.get(outcome.queueId as string);
      if (queued && outcome.uploaded) this.#saveReceipt(queued, outcome.uploaded);
      this.#reportOrWatch(outcome);
    };
    if (this.#readyWatch) this.#tracker = await JobTracker.open(this.#client, { clock, signal, onEvent, onOutcome });
    for (let at = 0; at < files.length; at += batchSize) {
      if (this.#stopReason || signal.aborted) {
        this.#remaining += files.length - at;
        break;
      }
      await this.#enqueue(files.slice(at, at + batchSize));
    }
    try {
      await this.#tracker?.waitUntilDone();
    } catch (error) {
      if (!signal.aborted) throw error;
      this.#remaining += this.#tracker?.size ?? 0; // the workers continue with these files
      const { reason } = signal;
      if (reason instanceof MediactlError) this.#stopReason ??= reason;
    }
  }

  async #enqueue(files: readonly UploadCandidate[]): Promise<void> {
    const tasks = await this.#createTasks(files);
    const { queue, store, withRetry } = this.#client;
    const receipts = await store.findReceipts(tasks.map(({ id }) => id));
    const fresh: QueuedTask[] = [];
    for (const [index, queued] of tasks.entries()) {
      const result = parseReceipt(receipts[index]);
      if (result) this.#reportUploaded(queued, uploadedFromResult(result, queued.task.sizeBytes));
      else fresh.push(queued);
    }
    for (const queued of fresh) {
      this.#tracked.set(queued.id, queued);
      this.#tracker?.add(queued.id, { ...queued.task, path: queued.path });
    }
    const states = await Promise.all(fresh.map(({ id }) => withRetry(() => queue.getJobState(id))));
    const jobs = fresh.map(({ id, task }) => ({
      name: task.filename,
      data: task,
      opts: {
        jobId: id,
        attempts: maxAttempts,
        stackTraceLimit: 0,
        backoff: { type: 'exponential', delay: initialBackoffMs, jitter: 0.5 },
      },
    }));
    await withRetry(() => queue.addBulk(jobs)); // existing jobs are not changed
    const inactive = fresh.filter((_, index) => inactiveStates.has(states[index] as string));
    await Promise.all(inactive.map((queued) => this.#updateAndRetry(queued)));
    if (!this.#tracker) for (const queued of fresh) this.#reportOrWatch(outcomeOf(queued));
  }

  /** Creates the tasks of some files, and reports the files that cannot be queued. */
  async #createTasks(files: readonly UploadCandidate[]): Promise<QueuedTask[]> {
    const tasks: QueuedTask[] = [];
    for (const file of files) {
      if (this.#stopReason) this.#remaining++;
      else
        await this.#createTask(file).then(
          (queued) => tasks.push(queued),
          (thrown) => this.#reportFailure(file, asMediactlError(thrown)),
        );
    }
    return tasks;
  }

  /** Reports a file that an earlier job has uploaded. */
  #reportUploaded(queued: QueuedTask, earlier: Uploaded): void {
    const { path, task } = queued;
    const { onEvent } = this.#deps;
    const uploaded: Uploaded = { ...earlier, how: 'skipped', bytesSent: 0, resumedFrom: null };
    onEvent({ path, event: 'started', size_bytes: task.sizeBytes });
    onEvent({ path, event: 'finished', outcome: 'skipped', asset_uid: uploaded.assetUid });
    this.#saveReceipt(queued, uploaded);
    this.#reportOrWatch({ ...outcomeOf(queued), uploaded });
  }

  /** Replaces the data of an inactive job, since its URL might have a new signature. Retries the job if it has failed. */
  async #updateAndRetry({ id, task }: QueuedTask): Promise<void> {
    const { queue, withRetry } = this.#client;
    const job = await withRetry(() => queue.getJob(id));
    if (!job) return;
    await withRetry(() => job.updateData(task));
    await retryFailed(job);
  }

  async #createTask(file: UploadCandidate): Promise<QueuedTask> {
    const { folders, api } = this.#deps;
    const contentType = await this.#contentTypes;
    const { workspace, about: defaults, chunkBytes, onSessionExpired, requireChecksum, force } = this.#options;
    const { path, sizeBytes = 0, mtimeNs = '0', typedPath, sourceId = path } = file;
    const stableSource = isHttpUrl(path) ? { path: sourceId } : this.#roots.toTaskSource(sourceId);
    const folder = await folders.findOrCreate(file);
    const task: UploadTask = {
      version: 1,
      service: api.transport.baseUrl.origin,
      sizeBytes,
      path: isHttpUrl(path) ? path : formatLocation(stableSource),
      source: isHttpUrl(path) ? { path: typedPath ?? path } : stableSource,
      fileVersion: mtimeNs,
      workspace,
      filename: file.filename ?? basename(path),
      folder,
      ...userMetadataOf(file, defaults, contentType),
      forceId: force ? randomUUID() : undefined,
      chunkBytes,
      onSessionExpired,
      requireChecksum,
    };
    const { service } = task;
    const key = receiptKeyOf(file, { service, workspace, folders });
    return { id: taskId(task, stableSource), task, path, key };
  }

  #saveReceipt({ key, task, path }: QueuedTask, uploaded: Uploaded): void {
    const { receipts, api, onEvent } = this.#deps;
    if (!key) return;
    const at = new Date(api.transport.clock.now()).toISOString();
    receipts
      ?.save({ ...key, ...uploaded, mtimeNs: task.fileVersion, ctimeNs: null, reason: null, at })
      .catch(({ message }: Error) =>
        onEvent({ path, event: 'warning', message: `cannot save the receipt: ${message}` }),
      );
  }

  #stopIfFatal(error: MediactlError): void {
    if (endsTheRun(error)) this.#stopReason ??= error;
  }

  #reportFailure({ path }: UploadCandidate, error: MediactlError): void {
    this.#stopIfFatal(error);
    const job = { path, workspace: this.#options.workspace };
    this.#outcomes.push({ job, path, requests: 0, durationMs: 0, error });
  }

  /** Reports an outcome. If requested, the outcome of an uploaded file is reported only once its asset is ready. */
  #reportOrWatch(outcome: FileOutcome): void {
    const { uploaded, error } = outcome;
    if (uploaded && !error) void this.#deps.onUploaded?.(uploaded.assetUid).catch(() => {}); // @last is optional
    if (this.#readyWatch && uploaded && !error) this.#readyWatch.add(outcome);
    else this.#outcomes.push(outcome);
  }
}

const outcomeOf = ({ id: queueId, task: { workspace }, path }: QueuedTask): FileOutcome => ({
  job: { path, workspace },
  path,
  queueId,
  requests: 0,
  durationMs: 0,
});
