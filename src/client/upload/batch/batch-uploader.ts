import { Channel } from '../../../shared/channel.ts';
import { startAge } from '../../../shared/clock.ts';
import { asCodedError, type CodedError, endsTheRun } from '../../errors.ts';
import { isGone } from '../../http/error-response.ts';
import { findOwnReceipt } from '../decide/by-receipt.ts';
import { type Candidates, Decider } from '../decide/decide.ts';
import { type Decision, hasChange, type KeepDecision, saveRecords, sendNew } from '../decide/decision.ts';
import type { UploadSettings } from '../decide/upload-settings.ts';
import { toWaitingEvent } from '../session/events.ts';
import { createOutcome, type FileOutcome, isPlannedStop, outcomeOf } from '../session/file-outcome.ts';
import { FirstCreation } from '../session/first-creation.ts';
import type { FilePorts } from '../session/session-ports.ts';
import { spoolStream } from '../session/spool-stream.ts';
import { openUpload, type PersistResult, upload } from '../session/upload.ts';
import {
  type ContentTypeOf,
  loadContentTypes,
  receiptKeyOf,
  shownPathOf,
  type TargetedFile,
  targetFile,
  type UploadFile,
} from '../sources/upload-file.ts';
import { countFiles, decideFiles, emptyPlan, type FollowedFile, keptResult, type Plan } from './plan.ts';
import { ReadyWatch } from './ready-watch.ts';
import type { UploadPorts } from './upload-ports.ts';

/** An upload run, carried out by this process or by the workers of a queue. */
export type BatchRun = {
  /** Uploads the files and yields the outcome of each as it becomes known. */
  outcomes(candidates: Candidates): AsyncGenerator<FileOutcome[]>;
  /** The result of the run; final once `outcomes` has ended. */
  readonly result: RunResult;
};

export type RunResult = {
  plan: Plan;
  /** The error that aborted the run early, if any. */
  stopReason: CodedError | undefined;
  /** Number of files that were not attempted. */
  remaining: number;
};

/** Adds the abort of a run to its result, which no file reports if none was being uploaded. */
export const endOf = (result: RunResult, signal: AbortSignal): RunResult =>
  !result.stopReason && signal.aborted && result.remaining > 0
    ? { ...result, stopReason: asCodedError(signal.reason) }
    : result;

/**
 * Uploads all files without a receipt, in a few concurrent upload slots (lanes). It can be stopped and rerun at any
 * time. A bad file fails alone, but an error that would affect every file aborts the run. If the consumer of the
 * outcomes stops reading, the uploads continue.
 */
export class BatchUploader implements BatchRun {
  readonly #options: UploadSettings;
  readonly #deps: UploadPorts;
  readonly #decider: Decider;
  readonly #outcomes = new Channel<FileOutcome>();
  readonly #plan = emptyPlan();
  readonly #watch: { onSent(): void } | undefined;
  readonly #readyWatch: ReadyWatch;
  /** True if the run has several files. */
  #isBatch = false;
  #stopReason: CodedError | undefined;
  readonly #persisting = new Set<Promise<void>>();
  readonly #moving = new Set<Promise<void>>();
  /** Files that another process was uploading when this run came to them. */
  readonly #busy: FileOutcome[] = [];
  /** Kept files whose asset is to be changed, as was found when they were opened. */
  readonly #lateFollowed: FollowedFile[] = [];
  readonly #ageMs: () => number;
  readonly #firstCreation = new FirstCreation();
  #contentType: ContentTypeOf = () => undefined;
  #remaining = 0;

  /**
   * @param watch the watch that the run is a part of, which looks at moved files itself, and whose log names the earlier
   *   asset of a changed file. `onSent` is called once a file needs no lane any more: it was sent, or has failed
   */
  constructor(options: UploadSettings, deps: UploadPorts, watch?: { onSent(): void }) {
    this.#options = options;
    this.#deps = deps;
    this.#watch = watch;
    this.#decider = new Decider(options, deps);
    this.#ageMs = startAge(deps.api.transport.clock);
    this.#readyWatch = new ReadyWatch(deps, options.timeoutMs, {
      onResult: (outcome) => this.#report(outcome),
      onFailed: (error) => this.#stopIfFatal(error),
    });
  }

  outcomes(candidates: Candidates): AsyncGenerator<FileOutcome[]> {
    return this.#outcomes.streamWhile(() => this.#run(candidates).finally(() => this.#deps.onEnd?.()));
  }

  get result(): RunResult {
    return endOf({ plan: this.#plan, stopReason: this.#stopReason, remaining: this.#remaining }, this.#deps.signal);
  }

  async #run(candidates: Candidates): Promise<void> {
    const send = () =>
      this.#planAndUpload(candidates).catch((thrown) => {
        const error = asCodedError(thrown);
        if (error.kind !== 'state' && !isPlannedStop(error)) throw thrown;
        this.#stopReason ??= error; // outcomes collected so far are still reported
      });
    await this.#lookAtMoved(this.#deps.onEvent);
    await this.#readyWatch.runWhile(send);
    await Promise.all(this.#moving);
    await this.#lookAtMoved();
  }

  async #lookAtMoved(onEvent?: UploadPorts['onEvent']): Promise<void> {
    const { mover } = this.#deps;
    if (mover && !this.#watch) for (const outcome of await mover.lookAtMoved(onEvent)) this.#outcomes.push(outcome);
  }

  async #planAndUpload(candidates: Candidates): Promise<void> {
    this.#contentType = await loadContentTypes();
    const onKept = (kept: FileOutcome) => this.#readyWatch.add(kept);
    const { signal } = this.#deps;
    const { files, followed, records } = await decideFiles(
      candidates,
      this.#plan,
      this.#decider,
      this.#options,
      signal,
      onKept,
    );
    this.#isBatch = countFiles(this.#plan) > 1;
    this.#plan.isComplete = true;
    await this.#deps.onPlan?.(this.#plan, true);
    await saveRecords(this.#deps, records);
    for (const file of await this.#follow(followed)) files.set(file, sendNew);
    await this.#uploadAll(files);
    await Promise.all(this.#persisting);
    for (const outcome of this.#busy) await this.#lookAgain(outcome);
    const refused = await this.#follow(this.#lateFollowed);
    await this.#uploadAll(new Map(refused.map((file) => [file, sendNew])));
    await Promise.all(this.#persisting);
    const { receipts } = this.#deps;
    if (!receipts) return;
    const { nameEmptyAssets } = await import('../session/lost-creations.ts');
    await nameEmptyAssets({ ...this.#deps, receipts }, this.#deps.workspace, () => this.#isOver);
  }

  /** Changes the assets of files. @returns files to be sent, since the service refuses to move their assets */
  async #follow(files: readonly FollowedFile[]): Promise<readonly UploadFile[]> {
    if (files.length === 0) return [];
    if (this.#isOver) {
      this.#remaining += files.length;
      return [];
    }
    const { followFiles } = await import('./follow-files.ts');
    const { outcomes, toSend } = await followFiles(files, this.#deps, this.#options, this.#ageMs);
    for (const outcome of outcomes) {
      this.#stopIfFatal(outcome.error);
      this.#emitFinished(outcome);
      this.#readyWatch.add(outcome);
    }
    return toSend;
  }

  get #isOver(): boolean {
    return this.#stopReason !== undefined || this.#deps.signal.aborted;
  }

  #stopIfFatal(error: CodedError | undefined): void {
    if (error && endsTheRun(error)) this.#stopReason ??= error;
  }

  async #uploadAll(decided: ReadonlyMap<UploadFile, Decision>): Promise<void> {
    const files = [...decided.keys()];
    const [file] = files;
    if (file && files.length === 1) {
      if (this.#isOver) this.#remaining++;
      else await this.#uploadOne(file);
      return;
    }
    const { FileScheduler } = await import('./file-scheduler.ts');
    const lanes = Math.max(1, Math.min(this.#options.transfers, files.length));
    const isResumable = (file: UploadFile) => file.id !== undefined || hasEntry(decided.get(file));
    const scheduler = new FileScheduler(files, isResumable, lanes);
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

  async #uploadOne(file: UploadFile): Promise<void> {
    const { clock } = this.#deps.api.transport;
    const startedAt = clock.now();
    const outcome = createOutcome(file);
    let persisted: PersistResult | undefined;
    try {
      const { isLate, ...uploaded } = await this.#upload(file, outcome);
      if (isLate) return;
      ({ persisted } = uploaded);
    } catch (thrown) {
      outcome.error = asCodedError(thrown);
    }
    outcome.durationMs = clock.now() - startedAt;
    this.#watch?.onSent();
    await this.#finish(outcome, persisted);
  }

  /** Reports an outcome once its receipt is on disk. The next file starts without waiting for that. */
  async #finish(outcome: FileOutcome, persisted: PersistResult = Promise.resolve(undefined)): Promise<void> {
    const { error } = outcome;
    this.#stopIfFatal(error);
    if (this.#isBatch && error?.explanation.code === 'upload_in_progress') {
      delete outcome.error;
      outcome.isBusy = true;
      this.#busy.push(outcome);
      return;
    }
    if (error) {
      const { withNextStep } = await import('../session/next-step.ts');
      outcome.error = await withNextStep(outcome, error, this.#options, this.#deps);
    }
    this.#emitFinished(outcome);
    const reported = persisted
      .then((receiptError) => {
        outcome.error ??= receiptError;
        this.#stopIfFatal(receiptError);
        this.#readyWatch.add(outcome);
      })
      .finally(() => this.#persisting.delete(reported));
    this.#persisting.add(reported);
  }

  #emitFinished(outcome: FileOutcome): void {
    if (!this.#isBatch) return;
    const asset_uid = outcome.uploaded?.assetUid ?? null;
    const path = shownPathOf(outcome.file);
    this.#deps.onEvent({ path, event: 'finished', outcome: outcomeOf(outcome), asset_uid });
  }

  /** Reports a file that another process was uploading. If that has finished meanwhile, the file is uploaded. */
  async #lookAgain(outcome: FileOutcome): Promise<void> {
    try {
      const decision = await this.#decider.decideAgain(outcome.file);
      if (decision.action === 'keep' && this.#isFinal(decision, outcome)) outcome.isBusy = false;
      else if (decision.action === 'keep') return;
    } catch (thrown) {
      Object.assign(outcome, { isBusy: false, error: asCodedError(thrown) });
      this.#stopIfFatal(outcome.error);
    }
    this.#emitFinished(outcome);
    this.#readyWatch.add(outcome);
  }

  /** Completes the outcome of a kept file, unless its asset is to be changed at the end of the run. */
  #isFinal(decision: KeepDecision, outcome: FileOutcome): boolean {
    if (hasChange(decision)) this.#lateFollowed.push([outcome.file, decision]);
    else Object.assign(outcome, keptResult(decision, this.#options));
    return !hasChange(decision);
  }

  /** Uploads one file. @returns a promise that resolves once its receipt is on disk or could not be written */
  async #upload(file: UploadFile, outcome: FileOutcome): Promise<{ persisted: PersistResult; isLate?: boolean }> {
    const { folders, onUploaded, receipts, stdin } = this.#deps;
    const isBatch = this.#isBatch;
    const folder = file.target ? file.target.folder : await folders.findOrCreate(file);
    const path = shownPathOf(file);
    const key = isBatch && !this.#watch ? undefined : receiptKeyOf(file, this.#deps);
    const previousReceipt = key && (await findOwnReceipt(receipts, key, file)); // also if the file had other content at that time
    const notice = (message: string) => this.#deps.onEvent({ path, event: 'warning', message });
    const api = this.#deps.api.withObserver({
      lane: this.#options.lane ?? (isBatch ? 'bulk' : 'interactive'),
      onNotice: (wait) => this.#deps.onEvent({ path, ...toWaitingEvent(wait) }),
      onRequest: () => {
        outcome.requests++;
      },
    });
    const { about } = this.#options;
    const { workspace } = this.#deps;
    const targeted = targetFile(file, { workspace, folder, about, contentType: this.#contentType });
    const isUnread = file.stream && file.stream.spoolPath === undefined;
    const spooled = isUnread ? await spoolStream(targeted, this.#deps) : targeted;
    outcome.file = spooled;
    const found = isUnread ? await this.#keepSpooled(spooled, file) : undefined;
    if (found) return { persisted: Promise.resolve(undefined), isLate: !this.#isFinal(found, outcome) };
    const decide: FilePorts['decide'] = (subject, counted) => this.#decider.decide(subject, file, counted);
    const own = { api, decide, orphans: receipts, firstCreation: this.#firstCreation };
    const run = await openUpload(spooled, this.#options, { ...this.#deps, ...own });
    outcome.id = run.id;
    let isLate = false;
    let persisted: PersistResult;
    try {
      const { kept, ...sent } = await upload(run).catch((thrown) => {
        const isMissingFolder = folder !== undefined && run.assetUid === undefined && isGone(thrown);
        throw isMissingFolder ? thrown.withSubject(`folder ${folders.pathOf?.(file) ?? folder}`) : thrown;
      });
      ({ uploaded: outcome.uploaded, persisted } = sent);
      if (kept) isLate = !this.#isFinal(kept, outcome);
    } finally {
      outcome.bytesSent = run.bytesSent;
      outcome.assetUid = run.assetUid;
      await run.source.close();
    }
    const { spoolPath } = spooled.stream ?? {};
    if (spoolPath !== undefined)
      persisted = persisted.then(
        (error) => error ?? stdin?.spool.remove(spoolPath).then(() => undefined, asCodedError),
      );
    if (previousReceipt && outcome.uploaded.how === 'uploaded')
      notice(`previously uploaded as asset ${previousReceipt.assetUid}, which is kept`);
    await onUploaded?.(outcome.uploaded.assetUid).catch((error: Error) =>
      notice(`cannot save @last: ${error.message}`),
    );
    return { persisted, isLate };
  }

  /** Returns the asset of the folder that has a spooled stream already, whose copy is then removed. */
  async #keepSpooled(file: TargetedFile, found: UploadFile): Promise<KeepDecision | undefined> {
    const { stdin } = this.#deps;
    const decision = await this.#decider.decideSpooled(file, found);
    const records = this.#decider.takeRecords();
    if (decision.action !== 'keep') {
      await saveRecords(this.#deps, records);
      return undefined;
    }
    await saveRecords(this.#deps, hasChange(decision) ? records : [...records, ...decision.records]);
    const { spoolPath } = file.stream ?? {};
    if (spoolPath !== undefined) await stdin?.spool.remove(spoolPath);
    return decision;
  }

  /** Reports an outcome; with a mover, once its file was moved. */
  #report(outcome: FileOutcome): void {
    const { mover } = this.#deps;
    if (!mover || outcome.error || !outcome.uploaded) {
      this.#outcomes.push(outcome);
      return;
    }
    const moving = mover.move(outcome).then(() => {
      this.#stopIfFatal(outcome.error);
      this.#outcomes.push(outcome);
      this.#moving.delete(moving);
    });
    this.#moving.add(moving);
  }
}

/** Returns true for a file with an unfinished upload. */
const hasEntry = (decision: Decision | undefined) =>
  decision !== undefined && 'entry' in decision && decision.entry !== undefined;
