import { type FileHandle, open } from 'node:fs/promises';
import { asCodedError, type CodedError } from '../../client/errors.ts';
import { createTableEncoder, type TableEncoder, tableFormatOf } from '../../client/table/format-table.ts';
import { countFiles } from '../../client/upload/batch/plan.ts';
import type { StartedRun } from '../../client/upload/batch/start-uploads.ts';
import {
  type FileOutcome,
  isFailedBefore,
  isInterruption,
  isPlannedStop,
  outcomeOf,
} from '../../client/upload/session/file-outcome.ts';
import { shownPathOf } from '../../client/upload/sources/upload-file.ts';
import { formatBytes, pluralize } from '../../contract/figures.ts';
import { escapeControls } from '../../contract/sanitize.ts';
import { type KeptOutcome, type UploadOutcome, uploadOutcomes } from '../../contract/upload-outcomes.ts';
import type { Context } from '../context.ts';
import type { LocationNames } from '../library/name-cache.ts';
import { announce } from '../output/outcome.ts';
import type { ListResult } from '../output/result.ts';
import type { ProgressDisplay } from '../progress/progress.ts';
import { OutputFailed } from '../terminal/terminal.ts';
import { addEmptySources } from './empty-sources.ts';
import type { RunSummary } from './run-summary.ts';
import { formatResult, toUploadRecord, type UploadRecord, uploadColumns, uploadFields } from './upload-record.ts';

export type RunView = {
  progress: ProgressDisplay;
  /** True to show every file, not only failed files. */
  verbose: boolean;
  /** Path of a file that each output record is also written to. */
  resultsFile?: string | undefined;
  /** Outcomes of files that could not be read, and so are not part of the run. */
  failures: readonly FileOutcome[];
  /** Returns the sources that gave no file, as the user entered them. */
  emptySources?: () => readonly string[];
  /** True if the run waits until the assets are ready. */
  waitsForReady: boolean;
  /** Summary to print if there were no files. */
  emptyText?: string;
  /** Returns the suggested next step to print at the end, for one or several files. */
  nextStep?: (isOne: boolean) => string | undefined;
  /** Called after the last outcome, even if the output is closed early. */
  close(): Promise<void>;
  /** Called after the summary. @param hasUnsent true if files failed or another run is uploading them */
  onEnd?(isFinished: boolean, hasUnsent: boolean): Promise<void>;
};

/** A run that was started. */
type RunOutcomes = Pick<StartedRun, 'outcomes' | 'result'>;

/** Maximum number of files for which a terminal lists every file. */
const maxListedFiles = 10;

/** Prints the outcome of each file, then a summary. `failure` returns the error once the run has ended. */
export function presentRun(context: Context, run: RunOutcomes, view: RunView) {
  const presenter = new RunPresenter(context, run, view);
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
  readonly #run: RunOutcomes;
  readonly #view: RunView;
  readonly #startedAt: number;
  /** Outcome of the only file. A run of several files has a summary instead. */
  #only: FileOutcome | undefined;
  #summary: RunSummary | undefined;
  readonly #results: ResultsFile | undefined;
  /** Up to `maxListedFiles` uploaded files, and one more if there are more. */
  readonly #listed: UploadRecord[] = [];
  #endError: CodedError | undefined;
  #places: LocationNames | undefined;

  constructor(context: Context, run: RunOutcomes, view: RunView) {
    this.#context = context;
    this.#run = run;
    this.#view = view;
    this.#startedAt = context.clock.now();
    if (view.resultsFile !== undefined) this.#results = new ResultsFile(view.resultsFile);
  }

  async *pages(): AsyncGenerator<UploadRecord[]> {
    const view = this.#view;
    const isHuman = !this.#context.isMachineReadable;
    const { outcomes } = this.#run;
    const next = async () => {
      const { value, done } = await outcomes.next();
      return done ? undefined : this.#record(value);
    };
    try {
      for (let records = await next(); records; records = await next())
        yield isHuman ? this.#selectForTerminal(records) : records;
      await this.#count(view.failures);
      const isListed = !view.verbose && countFiles(this.#run.result.plan) <= maxListedFiles;
      if (isHuman && isListed && this.#context.terminal.stdout.isTTY && !this.#isTold) yield this.#listed;
      yield view.failures.map((failure) => toUploadRecord(this.#context, failure));
    } finally {
      await this.#drain(next);
      view.progress.close();
      await this.#results?.close();
      await view.close();
    }
    await this.#end();
  }

  /** Returns the error to exit with: a file's own error if there is one, else that of the run. */
  get failure(): CodedError | undefined {
    const { signal } = this.#context;
    const { result } = this.#run;
    const { file, error: ofOnlyFile } = this.#only ?? {};
    const ofRun = this.#only ? (ofOnlyFile ?? result.stopReason) : this.#summary?.failure(result);
    const failed = isPlannedStop(ofRun) ? undefined : ofRun;
    const interruption = signal.aborted ? (signal.reason as CodedError) : undefined;
    const error = failed ?? this.#results?.failure ?? this.#endError ?? interruption;
    const isOfFile = ofOnlyFile && !isInterruption(ofOnlyFile) && !result.stopReason;
    return addEmptySources(error, this.#view.emptySources?.() ?? [], isOfFile && file ? shownPathOf(file) : undefined);
  }

  async #record(outcomes: readonly FileOutcome[]): Promise<UploadRecord[]> {
    await this.#count(outcomes);
    const records: UploadRecord[] = [];
    for (const outcome of outcomes) {
      const record = toUploadRecord(this.#context, outcome);
      const { how, folder, name } = outcome.uploaded ?? {};
      records.push(
        how === 'duplicate'
          ? { ...record, duplicate_of: await (await this.#locations()).pathOf(folder, name ?? '') }
          : record,
      );
    }
    await this.#results?.write(records);
    return records;
  }

  /** Counts outcomes. That of an only file is kept instead, until more files are found. */
  async #count(outcomes: readonly FileOutcome[]): Promise<void> {
    for (const outcome of outcomes) this.#countChange(outcomeOf(outcome));
    const isOne = countFiles(this.#run.result.plan) === 1 && this.#view.failures.length === 0;
    const uncounted = this.#only ? [this.#only, ...outcomes] : outcomes;
    this.#only = isOne ? uncounted[0] : undefined;
    if (this.#only) return;
    this.#summary ??= new (await import('./run-summary.ts')).RunSummary(
      this.#startedAt,
      this.#context.terminal.redactor,
    );
    for (const outcome of uncounted) this.#summary.count(outcome);
  }

  #countChange(outcome: UploadOutcome): void {
    const { changesMade } = this.#context;
    if (outcome === 'uploaded' || outcome === 'queued') changesMade.add('file', outcome, 1);
    else if (outcome === 'failed' || outcome === 'interrupted') changesMade.add('file', 'uploaded', 0, 1);
  }

  /** Finishes and counts the remaining uploads after the reader closed the output early. */
  async #drain(next: () => Promise<unknown>): Promise<void> {
    try {
      while (await next());
      await this.#count([]);
    } catch (error) {
      this.#endError = asCodedError(error);
    }
  }

  /**
   * Selects records for the terminal. Collects the first files in `#listed`; beyond these, only failures are shown.
   * A single file's failure is printed as the error only.
   */
  #selectForTerminal(records: UploadRecord[]): UploadRecord[] {
    const { terminal } = this.#context;
    if (!terminal.stdout.isTTY || this.#view.verbose) return records.filter(({ error }) => !(this.#only && error));
    const succeeded = records.filter(({ error }) => !error);
    if (this.#listed.length <= maxListedFiles) this.#listed.push(...succeeded.slice(0, maxListedFiles + 1));
    const isFailed = ({ error, outcome }: UploadRecord) => error !== null && outcome !== 'interrupted';
    return this.#only ? [] : records.filter(isFailed);
  }

  /** True if one line tells the outcome of the only file, in place of its record. */
  get #isTold(): boolean {
    const { error, uploaded } = this.#only ?? {};
    const hasLine = this.#context.canUseSentences && !this.#view.progress.hidesSummary;
    return hasLine && uploaded !== undefined && !error;
  }

  async #end(): Promise<void> {
    const { terminal, clock, signal } = this.#context;
    const { progress, waitsForReady, emptyText, nextStep, onEnd } = this.#view;
    const { stopReason, remaining } = this.#run.result;
    const outcome = this.#only && !this.#only.error ? outcomeOf(this.#only) : undefined;
    const summaryLine = this.#only
      ? ((await this.#skippedReason(this.#only)) ?? (this.#isTold ? await this.#uploadedLine(this.#only) : ''))
      : this.#summary?.format(clock.now(), remaining, waitsForReady, stopReason ? '' : emptyText);
    if (summaryLine && !progress.hidesSummary) {
      if (this.#isTold) announce(this.#context, summaryLine);
      else terminal.info(summaryLine);
    }
    const hasSent = this.#only ? outcome && uploadOutcomes[outcome].isSent : this.#summary?.hasSent;
    const next = hasSent ? nextStep?.(this.#only !== undefined) : undefined;
    if (next && !progress.hidesSummary) terminal.info(next);
    if (stopReason && isPlannedStop(stopReason)) this.#reportPlannedStop(stopReason);
    const isFinished = !stopReason && remaining === 0 && !signal.aborted;
    const isUnsent = (only: FileOutcome) => only.error !== undefined && !isFailedBefore(only);
    const hasUnsent = this.#only ? isUnsent(this.#only) : this.#summary?.hasUnsent;
    await onEnd?.(isFinished, hasUnsent ?? false).catch((error) => {
      this.#endError = asCodedError(error);
    });
  }

  /** Says on stderr how many files a planned stop has left, which is no failure: as one JSON line if JSON is asked for. */
  #reportPlannedStop({ message }: CodedError): void {
    const { terminal, settings } = this.#context;
    const { remaining, plan } = this.#run.result;
    const interrupted = this.#only
      ? Number(outcomeOf(this.#only) === 'interrupted')
      : (this.#summary?.interrupted ?? 0);
    const count = remaining + interrupted;
    const hint =
      (this.#only?.error && terminal.redactor.hintOf(this.#only.error)) ?? 'run the same command again to continue';
    const stopped = { message, files_remaining_count: plan.isComplete ? count : null, hint };
    const left = plan.isComplete ? `${pluralize(count, 'file')} remaining` : 'before all files were found';
    const text = count > 0 || !plan.isComplete ? `${message}, ${left}; ${hint}` : message;
    if (settings.outputOptions.format.startsWith('json')) terminal.emitJson(JSON.stringify({ stopped }));
    else if (!this.#view.progress.hidesSummary) terminal.info(text);
  }

  async #locations(): Promise<LocationNames> {
    const { LocationNames: Opened } = await import('../library/name-cache.ts');
    this.#places ??= new Opened(this.#context);
    return this.#places;
  }

  /** Describes the only file, which was uploaded: its folder, asset, size and result. */
  async #uploadedLine(only: FileOutcome): Promise<string> {
    const record = toUploadRecord(this.#context, only);
    const uid = record.asset_uid ?? '';
    const short = await (await this.#context.shortUids())?.shorten('asset', [uid]);
    const folder = await (await this.#locations()).folderPath(only.file.target?.folder);
    const parts = [`asset ${short?.(uid) ?? uid}`, formatBytes(record.size_bytes ?? 0), formatResult(record)];
    return `uploaded ${escapeControls(shownPathOf(only.file))} to ${escapeControls(folder)}: ${parts.filter(Boolean).join(', ')}`;
  }

  /** Returns the reason why a single file was not sent, and how to send it; undefined if it was sent. */
  async #skippedReason({ uploaded, file }: FileOutcome): Promise<string | undefined> {
    if (!uploaded || uploaded.how === 'uploaded') return undefined;
    const { assetUid, folder, name, how } = uploaded;
    const place = how === 'duplicate' ? await (await this.#locations()).pathOf(folder, name) : '';
    return `${shownPathOf(file)}: ${keptReasons[how](assetUid, place)}`;
  }
}

/** Reasons why a file was not sent, and how to send it. */
const keptReasons: Record<KeptOutcome, (assetUid: string, place: string) => string> = {
  moved: (uid) => `renamed, and asset ${uid} with it`,
  updated: (uid) => `uploaded before; asset ${uid} now has the given metadata`,
  skipped: (uid) => `already uploaded as asset ${uid}; --existing upload uploads it again`,
  duplicate: (uid, place) => `skipped, a duplicate of ${place} (asset ${uid}); --existing file uploads it anyway`,
  same_name_and_size: (uid) =>
    `asset ${uid} has its name and size, but was not compared; mediactl check DIRECTORY /FOLDER --download, to compare it; --existing upload uploads the file`,
  exists: (uid) => `skipped, because asset ${uid} has its name`,
};

/** Writes the --results file, with the outcome of each file as it finishes: CSV or TSV by its extension, or JSON lines. */
class ResultsFile {
  readonly #path: string;
  readonly #encoder: TableEncoder;
  #handle: FileHandle | undefined;
  /** Error that left the file incomplete, if any. The uploads continue without the file. */
  failure: CodedError | undefined;

  constructor(path: string) {
    this.#path = path;
    this.#encoder = createTableEncoder(tableFormatOf(path), uploadFields, ['path', 'asset_name']);
  }

  async write(records: readonly UploadRecord[]): Promise<void> {
    if (this.failure) return;
    try {
      const isNew = this.#handle === undefined;
      this.#handle ??= await open(this.#path, 'w', 0o600);
      await this.#handle.appendFile((isNew ? await this.#encoder.head() : '') + (await this.#encoder.rows(records)));
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
