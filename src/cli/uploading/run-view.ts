import { type FileHandle, open } from 'node:fs/promises';
import { asCodedError, type CodedError, OutputFailed } from '../../client/errors.ts';
import { createTableEncoder, type TableEncoder, tableFormatOf } from '../../client/table/format-table.ts';
import type { RunResult } from '../../client/upload/batch/batch-uploader.ts';
import { countFiles, emptyPlan } from '../../client/upload/batch/plan.ts';
import {
  type FileOutcome,
  isInterruption,
  isPlannedStop,
  outcomeOf,
} from '../../client/upload/session/file-outcome.ts';
import { shownPathOf } from '../../client/upload/sources/upload-file.ts';
import type { Context } from '../context.ts';
import { LocationNames } from '../library/name-cache.ts';
import { announce } from '../output/outcome.ts';
import type { ListResult } from '../output/result.ts';
import type { ProgressDisplay } from '../progress/progress.ts';
import { hasSent, hasUnsent, type RunState } from '../progress/run-state.ts';
import type { RunLog } from './run-log.ts';
import {
  addEmptySources,
  failureOfRun,
  formatKept,
  formatPlannedStop,
  formatSummary,
  formatUploaded,
} from './run-summary.ts';
import { formatLine, toUploadRecord, type UploadRecord, uploadColumns } from './upload-record.ts';

export type RunView = {
  /** Returns what the run has found and left so far. */
  result?: () => RunResult;
  progress: ProgressDisplay;
  /** True to show every file, not only failed files. */
  verbose?: boolean;
  /** Path of a file that each output record is also written to. */
  resultsFile?: string | undefined;
  /** Returns the outcomes of files that are no part of the run: that cannot be read, or are left out. */
  unsent?: () => readonly FileOutcome[];
  /** Returns the sources that gave no file, as the user entered them. */
  emptySources?: () => readonly string[];
  /** True if the run waits until the assets are ready. */
  waitsForReady?: boolean;
  emptyText?: string;
  /** Returns the suggested next step to print at the end, for one or several files. */
  nextStep?: (isOne: boolean) => string | undefined;
  /** True for a run without an end: a line for each file as it happens, in place of a table, and a summary once it is stopped. */
  isEndless?: boolean;
  /** Log of a run without an end, in place of lines. */
  log?: RunLog | undefined;
  onOutcome?(outcome: FileOutcome): void;
  /** Called after the last outcome, even if the output is closed early. */
  close(): Promise<void>;
  /** Called after the summary. @param hasUnsent true if files failed or another run is uploading them */
  onEnd?(isFinished: boolean, hasUnsent: boolean): Promise<void>;
};

/** Maximum number of files for which a terminal lists every file. */
const maxListedFiles = 10;

/** Prints the outcome of each file, then a summary. `failure` returns the error once the run has ended. */
export function presentRun(context: Context, outcomes: AsyncGenerator<FileOutcome[]>, view: RunView) {
  const presenter = new RunPresenter(context, outcomes, view);
  const result: ListResult = {
    kind: 'list',
    pages: presenter.pages(),
    columns: uploadColumns,
    id: ({ asset_uid, job_id }: UploadRecord) => asset_uid ?? job_id ?? '',
    empty: '',
    isLive: true,
  };
  return { result, failure: () => presenter.failure };
}

class RunPresenter {
  readonly #context: Context;
  readonly #outcomes: AsyncGenerator<FileOutcome[]>;
  readonly #view: RunView;
  readonly #state: RunState;
  readonly #startedAt: number;
  readonly #places: LocationNames;
  readonly #results: ResultsFile | undefined;
  /** Up to `maxListedFiles` uploaded files, and one more if there are more. */
  readonly #listed: UploadRecord[] = [];
  #endError: CodedError | undefined;

  constructor(context: Context, outcomes: AsyncGenerator<FileOutcome[]>, view: RunView) {
    this.#context = context;
    this.#outcomes = outcomes;
    this.#view = view;
    this.#state = view.progress.state;
    this.#startedAt = context.clock.now();
    this.#places = new LocationNames(context);
    if (view.resultsFile !== undefined) this.#results = new ResultsFile(view.resultsFile);
  }

  async *pages(): AsyncGenerator<UploadRecord[]> {
    const { unsent = () => [], verbose, progress, isEndless, close } = this.#view;
    const next = async () => {
      const { value, done } = await this.#outcomes.next();
      return done ? undefined : this.#record(value);
    };
    try {
      for (let records = await next(); records; records = await next()) yield this.#select(records);
      const left = unsent();
      this.#count(left);
      const isListed = !verbose && !isEndless && countFiles(this.#result.plan) <= maxListedFiles;
      if (isListed && this.#context.isHumanOutput && !this.#isTold) yield this.#listed;
      const isShown = ({ leftBy }: FileOutcome) => this.#context.isMachineReadable || verbose || leftBy === undefined;
      yield left.filter(isShown).map((outcome) => toUploadRecord(this.#context, outcome));
    } finally {
      await this.#drain(next);
      progress.close();
      await this.#results?.close();
      await close();
    }
    await this.#end();
  }

  get #result(): RunResult {
    return this.#view.result?.() ?? { plan: emptyPlan(), stopReason: undefined, remaining: 0 };
  }

  /** Outcome of the only file, until more files are found. A run of several files has a summary instead. */
  get #only(): FileOutcome | undefined {
    const isOne = !this.#view.isEndless && countFiles(this.#result.plan) === 1;
    return isOne && !this.#view.unsent?.().some(({ error }) => error) ? this.#state.first : undefined;
  }

  /** Returns the error to exit with: a file's own error if there is one, else that of the run. */
  get failure(): CodedError | undefined {
    const { signal, terminal } = this.#context;
    const only = this.#only;
    const result = this.#result;
    const ofRun = only ? (only.error ?? result.stopReason) : failureOfRun(this.#state, result, terminal.redactor);
    const failed = isPlannedStop(ofRun) ? undefined : ofRun;
    const interruption = signal.aborted ? (signal.reason as CodedError) : undefined;
    const error = failed ?? this.#results?.failure ?? this.#endError ?? interruption;
    const isOfFile = only?.error && !isInterruption(only.error) && !result.stopReason;
    return addEmptySources(error, this.#view.emptySources?.() ?? [], isOfFile ? shownPathOf(only.file) : undefined);
  }

  async #record(outcomes: readonly FileOutcome[]): Promise<UploadRecord[]> {
    this.#count(outcomes);
    const records: UploadRecord[] = [];
    for (const outcome of outcomes) {
      const record = toUploadRecord(this.#context, outcome);
      if (record.outcome === 'duplicate') record.duplicate_of = await this.#placeOf(outcome);
      records.push(record);
      this.#view.log?.outcome(record);
    }
    await this.#results?.write(records);
    return records;
  }

  #count(outcomes: readonly FileOutcome[]): void {
    const { changesMade } = this.#context;
    this.#view.progress.show({ event: 'outcomes', outcomes });
    for (const outcome of outcomes) {
      this.#view.onOutcome?.(outcome);
      const name = outcomeOf(outcome);
      if (name === 'uploaded' || name === 'queued') changesMade.add('file', name, 1);
      else if (name === 'failed' || name === 'interrupted') changesMade.add('file', 'uploaded', 0, 1);
    }
  }

  /** Finishes and counts the remaining uploads after the reader closed the output early. */
  async #drain(next: () => Promise<unknown>): Promise<void> {
    try {
      while (await next());
    } catch (error) {
      this.#endError = asCodedError(error);
    }
  }

  /**
   * Selects records to print now. On a terminal, collects the first files in `#listed`; beyond these, only failures are shown.
   * A single file's failure is printed as the error only.
   */
  #select(records: UploadRecord[]): UploadRecord[] {
    const { terminal, isMachineReadable, isHumanOutput } = this.#context;
    const { isEndless, log, verbose } = this.#view;
    if (isEndless && !isMachineReadable && (log || isHumanOutput)) {
      // No table: it would appear only after the run has stopped.
      if (!log) for (const each of records) if (each.left_by === null) terminal.info(formatLine(each));
      return [];
    }
    if (isMachineReadable) return records;
    const only = this.#only;
    if (!isHumanOutput || verbose) return records.filter(({ error }) => !(only && error));
    const succeeded = records.filter(({ error }) => !error);
    if (this.#listed.length <= maxListedFiles) this.#listed.push(...succeeded.slice(0, maxListedFiles + 1));
    const isFailed = ({ error, outcome }: UploadRecord) => error !== null && outcome !== 'interrupted';
    return only ? [] : records.filter(isFailed);
  }

  /** True if one line tells the outcome of the only file, in place of its record. */
  get #isTold(): boolean {
    const { error, uploaded } = this.#only ?? {};
    const hasLine = this.#context.canUseSentences && !this.#view.progress.hidesSummary;
    return hasLine && uploaded !== undefined && !error;
  }

  async #end(): Promise<void> {
    const { terminal, signal } = this.#context;
    const { isEndless, nextStep, onEnd } = this.#view;
    const { stopReason, remaining } = this.#result;
    const hidesSummary = this.#view.progress.hidesSummary && !isEndless;
    const line = hidesSummary ? undefined : await this.#summaryLine();
    if (line && this.#isTold) announce(this.#context, line);
    else if (line) terminal.info(line);
    const next = hasSent(this.#state) && !hidesSummary ? nextStep?.(this.#only !== undefined) : undefined;
    if (next) terminal.info(next);
    if (stopReason && isPlannedStop(stopReason)) this.#reportPlannedStop(stopReason);
    const isFinished = !stopReason && remaining === 0 && !signal.aborted;
    await onEnd?.(isFinished, hasUnsent(this.#state)).catch((error) => {
      this.#endError = asCodedError(error);
    });
  }

  /** Returns the summary of the run; of the only file, what was done with it, unless its record or its error says it. */
  async #summaryLine(): Promise<string | undefined> {
    const only = this.#only;
    const { waitsForReady = false, emptyText, isEndless } = this.#view;
    const { remaining, stopReason } = this.#result;
    if (!only)
      return formatSummary(this.#state, {
        ...{ startedAt: this.#startedAt, now: this.#context.clock.now(), remaining, waitsForReady },
        nothing: isEndless ? 'nothing was uploaded' : stopReason ? undefined : emptyText,
      });
    if (!only.uploaded) return undefined;
    const { how, assetUid } = only.uploaded;
    const path = shownPathOf(only.file);
    if (how !== 'uploaded')
      return formatKept(path, how, { uid: assetUid, place: await this.#placeOf(only) }, only.movedTo);
    if (!this.#isTold) return undefined;
    const record = toUploadRecord(this.#context, only);
    const uid = record.asset_uid ?? '';
    const short = await (await this.#context.shortUids())?.shorten('asset', [uid]);
    const folder = await this.#places.folderPath(only.file.target?.folder);
    return formatUploaded(record, { path, folder, asset: short?.(uid) ?? uid });
  }

  /** Says on stderr how many files a planned stop has left, which is no failure: as one JSON line if JSON is asked for. */
  #reportPlannedStop(stop: CodedError): void {
    const { terminal, settings } = this.#context;
    const error = this.#only?.error;
    const hint = error && terminal.redactor.hintOf(error);
    const { text, ...stopped } = formatPlannedStop(stop, this.#state, this.#result, hint);
    if (settings.outputOptions.format.startsWith('json')) terminal.emitJson(JSON.stringify({ stopped }));
    else if (!this.#view.progress.hidesSummary) terminal.info(text);
  }

  /** Returns the path of the asset that has the content of a file already. */
  async #placeOf({ uploaded }: FileOutcome): Promise<string> {
    return uploaded?.how === 'duplicate' ? this.#places.pathOf(uploaded.folder, uploaded.name) : '';
  }
}

/** Writes the --results file, with the outcome of each file as it finishes: CSV or TSV by its extension, or JSON lines. */
class ResultsFile {
  readonly #path: string;
  #encoder: TableEncoder | undefined;
  #handle: FileHandle | undefined;
  /** Error that left the file incomplete, if any. The uploads continue without the file. */
  failure: CodedError | undefined;

  constructor(path: string) {
    this.#path = path;
  }

  async write(records: readonly UploadRecord[]): Promise<void> {
    if (this.failure) return;
    try {
      const columns = Object.keys(records[0] ?? {});
      this.#encoder ??= createTableEncoder(tableFormatOf(this.#path), columns, ['path', 'asset_name']);
      const head = this.#handle ? '' : await this.#encoder.head();
      this.#handle ??= await open(this.#path, 'w');
      await this.#handle.appendFile(head + (await this.#encoder.rows(records)));
    } catch (error) {
      const { message } = error as Error;
      const hint = 'free some disk space, then run the same command again; it uploads nothing twice';
      const explanation = { code: 'write_failed', reason: message, hint, underlying: error } as const;
      this.failure = new OutputFailed(`${this.#path} is incomplete`, explanation);
    }
  }

  async close(): Promise<void> {
    await this.#handle?.close();
  }
}
