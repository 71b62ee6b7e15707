import { randomUUID } from 'node:crypto';
import { basename } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { asCodedError, CodedError, endsTheRun } from '../client/errors.ts';
import { type BatchRun, endOf, type RunResult } from '../client/upload/batch/batch-uploader.ts';
import { followFiles } from '../client/upload/batch/follow-files.ts';
import { decideFiles, emptyPlan, type FollowedFile } from '../client/upload/batch/plan.ts';
import { ReadyWatch } from '../client/upload/batch/ready-watch.ts';
import type { UploadPorts } from '../client/upload/batch/upload-ports.ts';
import { type Candidates, Decider } from '../client/upload/decide/decide.ts';
import { saveRecords } from '../client/upload/decide/decision.ts';
import { newMetadata, unwrittenError } from '../client/upload/decide/metadata.ts';
import type { UploadSettings } from '../client/upload/decide/upload-settings.ts';
import { createOutcome, type FileOutcome, type Uploaded } from '../client/upload/session/file-outcome.ts';
import {
  fileAt,
  type GivenMetadata,
  givenMetadataOf,
  isHttpUrl,
  loadContentTypes,
  type ReceiptKey,
  receiptKeyOf,
  type UploadFile,
  userMetadataOf,
} from '../client/upload/sources/upload-file.ts';
import { Channel } from '../shared/channel.ts';
import { startAge } from '../shared/clock.ts';
import { addTo } from '../shared/groups.ts';
import { JobTracker } from './job-tracker.ts';
import { parseReceipt, retryFailed, uploadedFromResult } from './jobs.ts';
import type { QueueClient, QueueJob } from './queue-client.ts';
import type { Roots } from './roots.ts';
import { aboutOf, formatLocation, type TaskResult, taskId, type UploadTask } from './task.ts';

const batchSize = 100;
/** Attempts of a job: each pause is twice as long as the one before it. */
const jobOptions = {
  attempts: 10,
  stackTraceLimit: 0,
  backoff: { type: 'exponential', delay: 2_000, jitter: 0.5 },
};

/**
 * @property path path or URL shown to the user
 * @property key key of this machine's receipt, if there is one
 * @property given metadata that the user gave
 */
type QueuedTask = {
  id: string;
  task: UploadTask;
  path: string;
  key: ReceiptKey | undefined;
  given: GivenMetadata;
};

/** @property wrapQueueing runs the queueing of files, of which there can be many */
type QueueRunPorts = UploadPorts & { wrapQueueing(work: () => Promise<void>): Promise<void> };

/** Adds all files without a receipt to a queue, deduped by file and folder. With `--wait`, waits for their upload. */
export class QueueRun implements BatchRun {
  readonly #client: QueueClient;
  readonly #roots: Roots;
  readonly #options: UploadSettings;
  readonly #deps: QueueRunPorts;
  readonly #outcomes = new Channel<FileOutcome>();
  readonly #contentTypes = loadContentTypes();
  readonly #plan = emptyPlan();
  readonly #decider: Decider;
  readonly #readyWatch: ReadyWatch;
  #tracker: JobTracker | undefined;
  readonly #tracked = new Map<string, QueuedTask>();
  readonly #recordedRoots = new Set<string>();
  #stopReason: CodedError | undefined;
  #remaining = 0;

  /** @param options if `timeoutMs` is set, the run waits until the assets are ready */
  constructor(client: QueueClient, roots: Roots, options: UploadSettings, deps: QueueRunPorts) {
    this.#client = client;
    this.#roots = roots;
    this.#options = options;
    this.#deps = deps;
    // The unfinished uploads of this machine are not those of the workers.
    this.#decider = new Decider(options, { ...deps, store: undefined }, false);
    this.#readyWatch = new ReadyWatch(deps, options.timeoutMs, {
      onResult: (outcome) => this.#outcomes.push(outcome),
      onFailed: (error) => this.#stopIfFatal(error),
    });
  }

  get result(): RunResult {
    return endOf({ plan: this.#plan, stopReason: this.#stopReason, remaining: this.#remaining }, this.#deps.signal);
  }

  outcomes(candidates: Candidates): AsyncGenerator<FileOutcome[]> {
    return this.#outcomes.streamWhile(() => this.#run(candidates));
  }

  async #run(candidates: Candidates): Promise<void> {
    const queueAll = () => this.#deps.wrapQueueing(() => this.#queueAll(candidates));
    const isWaiting = this.#options.timeoutMs !== undefined;
    await this.#readyWatch.runWhile(isWaiting ? () => this.#followWhile(queueAll) : queueAll);
  }

  /** Reports the outcome of each queued file, while `queueAll` runs and until all files have one. */
  async #followWhile(queueAll: () => Promise<void>): Promise<void> {
    const { api, signal, onEvent } = this.#deps;
    const { clock } = api.transport;
    const onOutcome = (outcome: FileOutcome) => {
      const queued = this.#tracked.get(outcome.jobId as string);
      if (queued && outcome.uploaded) this.#saveReceipt(queued, outcome.uploaded, aboutOf(queued.task));
      this.#tracked.delete(outcome.jobId as string);
      this.#reportOrWatch(outcome);
    };
    const failed = new AbortController();
    const ended = AbortSignal.any([signal, failed.signal]);
    const tracker = await JobTracker.open(this.#client, { clock, signal: ended, onEvent, onOutcome });
    this.#tracker = tracker;
    let isQueued = false;
    const queued = queueAll().finally(() => {
      isQueued = true;
    });
    queued.catch((error) => failed.abort(error));
    try {
      await tracker.follow(() => isQueued && tracker.size === 0);
      await queued;
    } catch (error) {
      await queued.catch(() => {}); // the same error, or less important
      if (!signal.aborted) throw error;
      this.#remaining += tracker.size; // the workers continue with these files
      const { reason } = signal;
      if (reason instanceof CodedError) this.#stopReason ??= reason;
    }
  }

  /** Queues the files in batches while the directories are still read, so that memory does not grow with the files. */
  async #queueAll(candidates: Candidates): Promise<void> {
    // A sync finds moved files by comparing all of them.
    const size = this.#deps.mirror === undefined ? batchSize : Number.POSITIVE_INFINITY;
    const batch: UploadFile[] = [];
    for await (const file of candidates) {
      batch.push(file);
      if (this.#isOver) break;
      if (batch.length >= size) await this.#queueBatch(batch.splice(0));
    }
    this.#plan.isComplete = !this.#isOver;
    await this.#queueBatch(batch);
    await this.#deps.onPlan?.(this.#plan, true);
  }

  get #isOver(): boolean {
    return this.#stopReason !== undefined || this.#deps.signal.aborted;
  }

  async #queueBatch(batch: readonly UploadFile[]): Promise<void> {
    if (this.#isOver) {
      this.#remaining += batch.length;
      return;
    }
    const done = (outcome: FileOutcome) => this.#reportOrWatch(outcome);
    const ageMs = startAge(this.#deps.api.transport.clock);
    const unknown = await this.#reportKnown(batch);
    const decided = await decideFiles(unknown, this.#plan, this.#decider, this.#options, undefined, done);
    await saveRecords(this.#deps, decided.records);
    if (batch.length > 0) await this.#deps.onPlan?.(this.#plan, false);
    const files = [...decided.files.keys(), ...(await this.#follow(decided.followed, ageMs))];
    for (let at = 0; at < files.length; at += batchSize)
      if (this.#isOver) this.#remaining += Math.min(batchSize, files.length - at);
      else await this.#enqueue(files.slice(at, at + batchSize));
  }

  /** Changes the assets of files. @returns files to be queued, since the service refuses to move their assets */
  async #follow(files: readonly FollowedFile[], ageMs: () => number): Promise<readonly UploadFile[]> {
    if (files.length === 0) return [];
    if (this.#isOver) {
      this.#remaining += files.length;
      return [];
    }
    const { outcomes, toSend } = await followFiles(files, this.#deps, this.#options, ageMs);
    for (const outcome of outcomes) {
      if (outcome.error) this.#stopIfFatal(outcome.error);
      this.#reportOrWatch(outcome);
    }
    return toSend;
  }

  /**
   * Reports the files that the queue has uploaded, before the others are compared with their folder, which has the assets
   * of all. A file whose folder does not exist yet is looked for when it is queued.
   *
   * @returns the other files
   */
  async #reportKnown(batch: readonly UploadFile[]): Promise<UploadFile[]> {
    if (this.#options.existing === 'upload') return [...batch];
    const known = new Set<UploadFile>();
    for (let at = 0; at < batch.length && !this.#isOver; at += batchSize) {
      const tasks: [UploadFile, QueuedTask][] = [];
      for (const file of batch.slice(at, at + batchSize)) {
        if (this.#deps.folders.find(file) === null) continue;
        const queued = await this.#createTask(file).catch(() => undefined); // the error is reported when it is queued
        if (queued) tasks.push([file, queued]);
      }
      const receipts = await this.#client.store.findReceipts(tasks.map(([, { id }]) => id));
      for (const [index, [file, queued]] of tasks.entries()) {
        const result = parseReceipt(receipts[index]);
        if (!result || (await this.#wasRenamed(queued, result))) continue;
        known.add(file);
        this.#plan.totals.skipped.files++;
        this.#plan.totals.skipped.bytes += queued.task.sizeBytes;
        this.#reportUploaded(queued, result);
      }
    }
    return batch.filter((file) => !known.has(file));
  }

  /** Returns true if a sync has moved the asset of a file on, since it was renamed. The queue does not know that. */
  async #wasRenamed({ key }: QueuedTask, { asset_uid: assetUid }: TaskResult): Promise<boolean> {
    const { mirror, receipts } = this.#deps;
    const receipt = mirror === undefined ? undefined : await receipts?.findByAsset(assetUid);
    return receipt !== undefined && (receipt.realPath !== key?.realPath || receipt.folder !== key.folder);
  }

  async #enqueue(files: readonly UploadFile[]): Promise<void> {
    const tasks = await this.#createTasks(files);
    const receipts = await this.#client.store.findReceipts(tasks.map(({ id }) => id));
    const fresh = new Map<string, QueuedTask[]>(); // by root
    for (const [index, queued] of tasks.entries()) {
      const result = parseReceipt(receipts[index]);
      const { root = '' } = queued.task.source;
      if (result) this.#reportUploaded(queued, result);
      else addTo(fresh, root, queued);
    }
    for (const [root, queued] of fresh) await this.#addJobs(root, queued);
  }

  /** Adds the jobs that the queue of a root does not have yet, and updates the others. */
  async #addJobs(root: string, tasks: readonly QueuedTask[]): Promise<void> {
    const { store, withRetry } = this.#client;
    if (this.#tracker)
      for (const queued of tasks) {
        this.#tracked.set(queued.id, queued);
        this.#tracker.add(queued.id, { ...queued.task, path: queued.path });
      }
    if (root !== '' && !this.#recordedRoots.has(root)) await store.addRoot(root);
    this.#recordedRoots.add(root);
    const queue = await this.#client.queueOf(root);
    const existing = await withRetry(() => Promise.all(tasks.map(({ id }) => queue.getJob(id))));
    const jobs = tasks.flatMap(({ id, task }, at) =>
      existing[at] ? [] : [{ name: task.filename, data: task, opts: { ...jobOptions, jobId: id } }],
    );
    if (jobs.length > 0) await withRetry(() => queue.addBulk(jobs)); // does not change jobs that were added meanwhile
    await Promise.all(existing.map((job, at) => job && this.#updateAndRetry(job, (tasks[at] as QueuedTask).task)));
    if (!this.#tracker) for (const queued of tasks) this.#reportQueued(queued);
  }

  #reportQueued(queued: QueuedTask): void {
    const { path, task } = queued;
    const { onEvent } = this.#deps;
    onEvent({ path, event: 'started', size_bytes: task.sizeBytes });
    onEvent({ path, event: 'finished', outcome: 'queued', asset_uid: null });
    this.#reportOrWatch(outcomeOf(queued));
  }

  /** Creates the tasks of some files, and reports the files that cannot be queued. */
  async #createTasks(files: readonly UploadFile[]): Promise<QueuedTask[]> {
    const tasks: QueuedTask[] = [];
    for (const file of files) {
      if (this.#stopReason) this.#remaining++;
      else
        await this.#createTask(file).then(
          (queued) => tasks.push(queued),
          (thrown) => this.#reportFailure(file, asCodedError(thrown)),
        );
    }
    return tasks;
  }

  /** Reports a file that an earlier job has uploaded. */
  #reportUploaded(queued: QueuedTask, result: TaskResult): void {
    const { path, task, given } = queued;
    const earlier = uploadedFromResult(result, task.sizeBytes);
    const { onEvent } = this.#deps;
    const uploaded: Uploaded = { ...earlier, how: 'skipped', bytesSent: 0, resumedFrom: null };
    onEvent({ path, event: 'started', size_bytes: task.sizeBytes });
    onEvent({ path, event: 'finished', outcome: 'skipped', asset_uid: uploaded.assetUid });
    this.#saveReceipt(queued, uploaded, result.about);
    const error = unwrittenError('skipped', uploaded.assetUid, newMetadata(given, result.about));
    this.#reportOrWatch({ ...outcomeOf(queued), uploaded, ...(error && { error }) });
  }

  /** Replaces the data of a job that no worker has, since its URL might have a new signature. Retries a failed job. */
  async #updateAndRetry(job: QueueJob, task: UploadTask): Promise<void> {
    const { withRetry } = this.#client;
    const isSame = isDeepStrictEqual(job.data, JSON.parse(JSON.stringify(task)));
    const isFixed = isSame || job.returnvalue || (await withRetry(() => job.isActive()));
    if (!isFixed) await withRetry(() => job.updateData(task));
    if (job.finishedOn) await withRetry(() => retryFailed(job));
  }

  async #createTask(file: UploadFile): Promise<QueuedTask> {
    const { folders, api, workspace } = this.#deps;
    const contentType = await this.#contentTypes;
    const { about: defaults, chunkBytes, requireChecksum, existing } = this.#options;
    const { path, sizeBytes = 0, mtimeNs = '0', typedPath, realPath = path } = file;
    const stableSource = isHttpUrl(path) ? { path: realPath } : this.#roots.toTaskSource(realPath);
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
      forceId: existing === 'upload' ? randomUUID() : undefined,
      chunkBytes,
      requireChecksum,
    };
    const key = receiptKeyOf(file, this.#deps);
    return { id: taskId(task, stableSource), task, path, key, given: givenMetadataOf(file, defaults) };
  }

  #saveReceipt({ key, task, path }: QueuedTask, uploaded: Uploaded, about: GivenMetadata | null): void {
    const { receipts, api, onEvent } = this.#deps;
    if (!key) return;
    const at = new Date(api.transport.clock.now()).toISOString();
    receipts
      ?.save({ ...key, ...uploaded, mtimeNs: task.fileVersion, ctimeNs: null, reason: null, about, at })
      .catch(({ message }: Error) =>
        onEvent({ path, event: 'warning', message: `cannot save the receipt: ${message}` }),
      );
  }

  #stopIfFatal(error: CodedError): void {
    if (endsTheRun(error)) this.#stopReason ??= error;
  }

  #reportFailure(file: UploadFile, error: CodedError): void {
    this.#stopIfFatal(error);
    this.#outcomes.push(createOutcome(file, { error }));
  }

  /** Reports an outcome. If requested, the outcome of an uploaded file is reported only once its asset is ready. */
  #reportOrWatch(outcome: FileOutcome): void {
    const { uploaded, error } = outcome;
    if (uploaded && !error) void this.#deps.onUploaded?.(uploaded.assetUid).catch(() => {}); // @last is optional
    this.#readyWatch.add(outcome);
  }
}

const outcomeOf = ({ id: jobId, path }: QueuedTask): FileOutcome => createOutcome(fileAt(path), { jobId });
