import { exitCodes } from '../../error-table.ts';
import { asMediactlError, endsTheRun, type MediactlError } from '../../errors.ts';
import type { Lane } from '../../http/rate-limiter.ts';
import { toWaitingEvent } from '../session/events.ts';
import { type FileOutcome, outcomeOf, type RunDeps } from '../session/file-outcome.ts';
import { createMovedUploadFinder } from '../session/moved-upload.ts';
import { withNextStep } from '../session/next-step.ts';
import { toUploaded } from '../session/receipt-lookup.ts';
import { openUpload, type PersistResult } from '../session/upload-file.ts';
import { labelOf, type UploadJob, type UploadOptions } from '../session/upload-job.ts';
import { uploadIdOf } from '../session/upload-run.ts';
import {
  type FolderResolver,
  receiptKeyOf,
  type UploadCandidate,
  type UserMetadata,
  userMetadataOf,
} from '../sources/upload-candidate.ts';
import type { Receipt } from '../store/receipts.ts';
import { Channel } from './channel.ts';
import { FileScheduler } from './file-scheduler.ts';
import { addToPlan, type Classification, classify, emptyPlan, type Plan } from './plan.ts';
import { ReadyWatch } from './ready-watch.ts';
import { UnconfirmedCreations } from './unconfirmed-creations.ts';

/** Options for one upload run with any number of files. */
export type RunOptions = UploadOptions & {
  workspace: string;
  /** Number of concurrent uploads. */
  parallel: number;
  /** Priority of the run's requests. Default: interactive for one file, bulk for several. */
  lane?: Lane | undefined;
  /** Maximum time to wait until the assets are ready; undefined to not wait. */
  timeoutMs?: number | undefined;
  /** Default metadata for every file of the run. */
  about: Pick<UserMetadata, 'name' | 'description' | 'contentType'>;
};

/** Dependencies of a batch upload. */
export type BatchDeps = RunDeps & {
  folders: FolderResolver;
  /** Called with the plan before the first byte is sent. */
  onPlan(plan: Plan): Promise<void>;
  findMoved?: FindMoved | undefined;
  contentType(path: string): string | undefined;
};

/** Finds receipts of files already uploaded from another path, so that `--sync` recognizes a renamed directory. */
export type FindMoved = (files: readonly UploadCandidate[]) => Promise<ReadonlyMap<UploadCandidate, Receipt>>;

/** An upload run, carried out by this process or by the workers of a queue. */
export type BatchRun = {
  /** Uploads the files and yields the outcome of each as it becomes known. */
  outcomes(candidates: AsyncIterable<UploadCandidate> | Iterable<UploadCandidate>): AsyncGenerator<FileOutcome[]>;
  /** The result of the run; final once `outcomes` has ended. */
  readonly result: RunResult;
};

export type RunResult = {
  plan: Plan;
  /** The error that aborted the run early, if any. */
  stopReason: MediactlError | undefined;
  /** Number of files that were not attempted. */
  remaining: number;
};

/**
 * Uploads all files without a receipt, in a few concurrent upload slots (lanes). It can be stopped and rerun at any
 * time. A bad file fails alone, but an error that would affect every file aborts the run. If the consumer of the
 * outcomes stops reading, the uploads continue.
 */
export class BatchUploader implements BatchRun {
  readonly #options: RunOptions;
  readonly #deps: BatchDeps;
  readonly #outcomes = new Channel<FileOutcome>();
  readonly #unconfirmed: UnconfirmedCreations;
  readonly #plan = emptyPlan();
  readonly #watch: ReadyWatch | undefined;
  #stopReason: MediactlError | undefined;
  /** Pending receipt writes of complete uploads. */
  readonly #persisting = new Set<Promise<void>>();
  #remaining = 0;
  #isBatch = true;

  constructor(options: RunOptions, deps: BatchDeps) {
    this.#options = options;
    this.#unconfirmed = new UnconfirmedCreations(deps);
    this.#deps = {
      ...deps,
      ...this.#unconfirmed.tools,
      findResumable: createMovedUploadFinder(deps),
    };
    const { timeoutMs } = options;
    if (timeoutMs !== undefined)
      this.#watch = new ReadyWatch(deps, timeoutMs, {
        onResult: (outcome) => this.#report(outcome),
        onFailed: (error) => {
          if (endsTheRun(error)) this.#stopReason ??= error;
        },
      });
  }

  outcomes(candidates: AsyncIterable<UploadCandidate> | Iterable<UploadCandidate>): AsyncGenerator<FileOutcome[]> {
    return this.#outcomes.streamWhile(() => this.#run(candidates));
  }

  /** The result of the run; final once `outcomes` has ended. */
  get result(): RunResult {
    return { plan: this.#plan, stopReason: this.#stopReason, remaining: this.#remaining };
  }

  async #run(candidates: AsyncIterable<UploadCandidate> | Iterable<UploadCandidate>): Promise<void> {
    await removeLeftovers(this.#deps);
    const send = () =>
      this.#planAndUpload(candidates).catch((thrown) => {
        const error = asMediactlError(thrown);
        if (error.exitCode !== exitCodes.state) throw thrown;
        this.#stopReason ??= error; // outcomes collected so far are still reported
      });
    await (this.#watch?.runWhile(send) ?? send());
  }

  async #planAndUpload(candidates: AsyncIterable<UploadCandidate> | Iterable<UploadCandidate>): Promise<void> {
    const files = await filesToUpload(candidates, this.#plan, this.#options, this.#deps, (outcome) =>
      this.#reportOrWatch(outcome),
    );
    const { there } = this.#plan;
    this.#isBatch = files.length + there.files > 1;
    this.#unconfirmed.isBatch = this.#isBatch;
    await this.#deps.onPlan(this.#plan);
    await this.#uploadAll(files);
    while (!this.#isOver && this.#unconfirmed.deferred.length > 0)
      await this.#uploadAll(await this.#lookUpUnconfirmed());
    this.#remaining += this.#unconfirmed.deferred.length;
    await Promise.all(this.#persisting);
  }

  get #isOver(): boolean {
    return this.#stopReason !== undefined || this.#deps.signal?.aborted === true;
  }

  /** Looks up unconfirmed creations and returns the files to retry, or reports them as failed if the lookup fails. */
  async #lookUpUnconfirmed(): Promise<UploadCandidate[]> {
    const waiting = this.#unconfirmed.deferred.map(({ file }) => file);
    try {
      return await this.#unconfirmed.lookUp();
    } catch (thrown) {
      const error = asMediactlError(thrown);
      for (const file of waiting) {
        const job = { path: file.path, workspace: this.#options.workspace };
        this.#report({ job, path: file.path, requests: 0, durationMs: 0, error });
      }
      if (endsTheRun(error)) this.#stopReason ??= error;
      return [];
    }
  }

  async #uploadAll(files: UploadCandidate[]): Promise<void> {
    const { parallel } = this.#options;
    const lanes = Math.max(1, Math.min(parallel, files.length));
    const isListed = files.length > 1 && this.#deps.receipts; // without a state folder there is no journal
    const journalIds = new Set(isListed ? await this.#deps.journal.ids() : []);
    const scheduler = new FileScheduler(
      files,
      (file) => journalIds.size > 0 && this.#hasJournalEntry(file, journalIds),
      lanes,
    );
    const lane = async (_: unknown, number: number) => {
      while (!this.#isOver) {
        const file = scheduler.next(number);
        if (!file) return;
        await this.#uploadOne(file);
      }
    };
    await Promise.all(Array.from({ length: lanes }, lane));
    this.#remaining += scheduler.remaining;
  }

  #hasJournalEntry(file: UploadCandidate, journalIds: ReadonlySet<string>): boolean {
    const { folders, api } = this.#deps;
    if (file.resumable) return true;
    const folder = folders.find(file);
    if (file.sourceId === undefined || folder === null) return false;
    const job = { ...this.#jobOf(file, folder), identity: file.sourceId };
    return journalIds.has(uploadIdOf(job, api.transport.baseUrl));
  }

  async #uploadOne(file: UploadCandidate): Promise<void> {
    const { clock } = this.#deps.api.transport;
    const startedAt = clock.now();
    const outcome: FileOutcome = {
      job: { path: file.path, workspace: this.#options.workspace },
      path: file.path,
      requests: 0,
      durationMs: 0,
    };
    let persisted: PersistResult = Promise.resolve(undefined);
    try {
      ({ persisted } = await this.#upload(file, outcome));
    } catch (thrown) {
      if (this.#isBatch && this.#unconfirmed.deferIfUnconfirmed(thrown, file)) return;
      outcome.error = asMediactlError(thrown);
    }
    outcome.durationMs = clock.now() - startedAt;
    const { error } = outcome;
    if (this.#isBatch && error && this.#unconfirmed.canRetry(error) && (await this.#isUnconfirmed(outcome)))
      return this.#unconfirmed.retryLater(file);
    if (error && this.#isBatch && error.explanation.code === 'already_uploading') {
      delete outcome.error;
      outcome.isElsewhere = true;
    }
    if (error && endsTheRun(error)) this.#stopReason ??= error;
    if (outcome.error) outcome.error = await withNextStep(outcome, outcome.error, this.#options, this.#deps);
    if (this.#isBatch)
      this.#deps.onEvent({
        path: labelOf(outcome.job),
        event: 'finished',
        outcome: outcomeOf(outcome),
        asset_uid: outcome.uploaded?.assetUid ?? null,
      });
    // Report the outcome only once the receipt is on disk. The next file starts without waiting for that.
    const reported = persisted
      .then((receiptError) => {
        outcome.error ??= receiptError;
        if (receiptError && endsTheRun(receiptError)) this.#stopReason ??= receiptError;
        this.#reportOrWatch(outcome);
      })
      .finally(() => this.#persisting.delete(reported));
    this.#persisting.add(reported);
  }

  async #isUnconfirmed({ id }: FileOutcome): Promise<boolean> {
    const entry = id === undefined ? undefined : await this.#deps.journal.read(id);
    return entry !== undefined && 'state' in entry && entry.state === 'intended';
  }

  /** Uploads one file. @returns a promise that resolves once its receipt is on disk or could not be written */
  async #upload(file: UploadCandidate, outcome: FileOutcome): Promise<{ persisted: PersistResult }> {
    const { folders, onEvent, onUploaded } = this.#deps;
    const folder = file.resumable ? file.resumable.folder : await folders.findOrCreate(file);
    const job = this.#jobOf(file, folder);
    outcome.job = job;
    const previousReceipt = this.#isBatch ? undefined : this.#previousReceipt(file);
    const api = this.#deps.api.withObserver({
      lane: this.#options.lane ?? (this.#isBatch ? 'bulk' : 'interactive'),
      onNotice: (notice) => onEvent({ path: labelOf(job), ...toWaitingEvent(notice) }),
      onRequest: () => {
        outcome.requests++;
      },
    });
    const tools = { ...this.#deps, api };
    const isSpooled = job.path === '-' && !job.isSingleRead;
    const source = isSpooled ? await spoolStdin(job, tools) : job;
    outcome.path = source.path;
    const upload = await openUpload({ ...source, label: labelOf(job) }, this.#options, tools);
    outcome.id = upload.id;
    let persisted: PersistResult;
    try {
      ({ uploaded: outcome.uploaded, persisted } = await upload.run());
    } finally {
      await upload.close();
    }
    if (source.identity !== undefined)
      persisted = persisted.then(async (receiptError) => {
        return receiptError ?? this.#deps.spool.remove(source.path).then(() => undefined, asMediactlError);
      });
    if (previousReceipt && outcome.uploaded.how === 'uploaded') {
      const message = `uploaded before: asset ${previousReceipt.assetUid}, which stays`;
      onEvent({ path: labelOf(job), event: 'notice', message });
    }
    await onUploaded(outcome.uploaded.assetUid).catch((error: Error) =>
      onEvent({
        path: labelOf(job),
        event: 'notice',
        message: `@last is not kept: ${error.message}`,
      }),
    );
    return { persisted };
  }

  #jobOf(file: UploadCandidate, folder: string | undefined): UploadJob {
    const { resumable } = file;
    const { workspace, about: defaults } = this.#options;
    return {
      path: file.path,
      ...(file.filename !== undefined && { filename: file.filename }),
      ...(file.label !== undefined && { label: file.label }),
      sourceId: file.sourceId,
      isSingleRead: file.isSingleRead,
      workspace,
      ...resumable,
      folder,
      ...userMetadataOf(file, defaults, this.#deps.contentType),
    };
  }

  /** Returns the receipt from an earlier upload of this path, whatever content the file had then. */
  #previousReceipt(file: UploadCandidate) {
    const { receipts, folders, api } = this.#deps;
    const { workspace } = this.#options;
    const service = api.transport.baseUrl.origin;
    const key = receiptKeyOf(file, { service, workspace, folders });
    return key && receipts?.find(key);
  }

  /** Hands a complete upload to the ready watch, if there is one; reports every other outcome at once. */
  #reportOrWatch(outcome: FileOutcome): void {
    const { uploaded, error } = outcome;
    if (this.#watch && uploaded && !error) this.#watch.add(outcome);
    else this.#report(outcome);
  }

  #report(outcome: FileOutcome): void {
    this.#outcomes.push(outcome);
  }
}

type FilesToUploadDeps = Pick<BatchDeps, 'receipts' | 'folders' | 'api' | 'signal' | 'findMoved'>;

/** Reports files that are already uploaded and returns those still to be uploaded. */
export async function filesToUpload(
  candidates: AsyncIterable<UploadCandidate> | Iterable<UploadCandidate>,
  plan: Plan,
  { workspace, again, chunkBytes }: Pick<RunOptions, 'workspace' | 'again' | 'chunkBytes'>,
  { receipts, folders, api, signal, findMoved }: FilesToUploadDeps,
  onAlreadyUploaded: (outcome: FileOutcome, file: UploadCandidate, receipt: Receipt) => void,
): Promise<UploadCandidate[]> {
  const service = api.transport.baseUrl.origin;
  const files: UploadCandidate[] = [];
  const add = (file: UploadCandidate, classification: Classification) => {
    addToPlan(plan, classification, file, chunkBytes);
    if (classification.kind !== 'there') return files.push(file);
    const { path } = file;
    const uploaded = toUploaded(classification.receipt, 'there');
    const outcome = { job: { path, workspace }, path, requests: 0, durationMs: 0, uploaded };
    return onAlreadyUploaded(outcome, file, classification.receipt);
  };
  const unmatched = new Map<UploadCandidate, Classification>();
  for await (const file of candidates) {
    signal?.throwIfAborted();
    const key = receiptKeyOf(file, { service, workspace, folders });
    const classification = classify(file, key, again ? undefined : receipts);
    if (findMoved && classification.kind !== 'there' && classification.kind !== 'changed')
      unmatched.set(file, classification);
    else add(file, classification);
  }
  const moved = unmatched.size > 0 ? await findMoved?.([...unmatched.keys()]) : undefined;
  for (const [file, classification] of unmatched) {
    const receipt = moved?.get(file);
    add(file, receipt ? { kind: 'there', receipt } : classification);
  }
  return files;
}

/** Removes leftovers of killed runs. Errors are ignored, because a later write to the journal reports them. */
async function removeLeftovers({ journal, spool }: RunDeps): Promise<void> {
  await Promise.all([journal.sweep(), spool.sweep()]).catch(() => {});
}

/** Spools stdin to disk. The spooled job is identified by checksum and size, since stdin has no stable path. */
async function spoolStdin(job: UploadJob, deps: RunDeps): Promise<UploadJob> {
  const { spool, stdin, signal, api } = deps;
  const spooled = await spool.write(stdin(), signal);
  const spooledJob = {
    ...job,
    identity: `${spooled.blake3} ${spooled.sizeBytes}`,
    filename: job.filename ?? job.name ?? 'stdin',
  };
  // Name the spool file by the upload id, since the journal of an earlier attempt with the same bytes refers to it.
  return {
    ...spooledJob,
    path: await spooled.saveAs(uploadIdOf(spooledJob, api.transport.baseUrl)),
  };
}
