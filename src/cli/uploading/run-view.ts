import { asMediactlError, type MediactlError } from '../../client/errors.ts';
import type { BatchRun } from '../../client/upload/batch/batch-uploader.ts';
import { type Plan, totalToSend } from '../../client/upload/batch/plan.ts';
import type { FileOutcome } from '../../client/upload/session/upload-job.ts';
import type { UploadCandidate } from '../../client/upload/sources/upload-candidate.ts';
import type { Context } from '../context.ts';
import type { ListResult } from '../output/result.ts';
import type { ProgressDisplay } from '../progress/progress.ts';
import { ManifestWriter } from './manifest-writer.ts';
import { RunSummary } from './run-summary.ts';
import { toUploadRecord, type UploadRecord, uploadColumns } from './upload-record.ts';

/** Describes the files of a run, and how to display it. */
export type RunView = {
  progress: ProgressDisplay;
  /** True to print only problems. */
  isQuiet: boolean;
  /** True to show every file, not only failed files. */
  verbose: boolean;
  /** Path of a file that each output record is also written to, as JSON lines. */
  manifestOut?: string | undefined;
  files: AsyncIterable<UploadCandidate> | Iterable<UploadCandidate>;
  /** Outcomes of files that could not be read, and so are not part of the run. */
  failures: readonly FileOutcome[];
  /** True if the run waits until the assets are ready. */
  waitsForReady: boolean;
  /** Summary to print if there were no files. */
  emptyText?: string;
  /** Returns the suggested next step to print at the end, for one or several files. */
  nextStep?: (isOne: boolean) => string | undefined;
  /** Called after the last outcome, even if the output is closed early. */
  close(): Promise<void>;
  /**
   * Called after the summary was printed.
   *
   * @param isFinished true if the run was not interrupted
   * @param hasUnsent true if files failed or another run is uploading them
   */
  onEnd?(isFinished: boolean, hasUnsent: boolean): Promise<void>;
};

/** Maximum number of files for which a terminal lists every file. */
const maxListedFiles = 10;

/**
 * Prints the outcome of each file as it finishes, then a summary.
 *
 * @returns one output record per file, and a function that returns the error to exit with once the run has ended
 */
export function presentRun(context: Context, run: BatchRun, view: RunView) {
  const { terminal, clock, settings } = context;
  const summary = new RunSummary(clock.now());
  const manifest = new ManifestWriter(view.manifestOut);
  const isHuman = settings.outputOptions.format === 'human';
  let isSingleFile = false;
  let endError: MediactlError | undefined;
  const isSummarized = () => !terminal.stdout.isTTY || view.verbose || countFiles(run.result.plan) > maxListedFiles;
  const listed: UploadRecord[] = [];
  /**
   * Selects records for the terminal. Collects up to `maxListedFiles` files in `listed`; beyond that number, only
   * failures are shown. A single file's failure is printed as the error only.
   */
  const selectForTerminal = (records: UploadRecord[]) => {
    if (!terminal.stdout.isTTY || view.verbose) return records.filter(({ error }) => !(isSingleFile && error));
    const succeeded = records.filter(({ error }) => !error);
    if (listed.length <= maxListedFiles) listed.push(...succeeded.slice(0, maxListedFiles + 1));
    const isFailed = ({ error, outcome }: UploadRecord) => error !== null && outcome !== 'left';
    return isSingleFile ? [] : records.filter(isFailed);
  };
  const pages = async function* (): AsyncGenerator<UploadRecord[]> {
    const outcomes = run.outcomes(view.files);
    const next = async (): Promise<UploadRecord[] | undefined> => {
      const { value: some, done } = await outcomes.next();
      if (done) return undefined;
      isSingleFile = countFiles(run.result.plan) + view.failures.length === 1;
      for (const outcome of some) summary.count(outcome);
      const records = some.map((outcome) => toUploadRecord(context, outcome));
      await manifest.write(records);
      return records;
    };
    try {
      for (let records = await next(); records; records = await next())
        yield isHuman ? selectForTerminal(records) : records;
      for (const failure of view.failures) summary.count(failure);
      if (!isSummarized()) yield listed;
      yield view.failures.map((failure) => toUploadRecord(context, failure));
    } finally {
      // If the reader closed the output early, finish and count the remaining uploads.
      while (await next().catch(() => undefined)); // its error was thrown already
      view.progress.close();
      await manifest.close();
      await view.close();
    }
    const { stopReason, remaining } = run.result;
    const summaryLine = isSingleFile
      ? summary.skippedReason
      : summary.format(clock.now(), remaining, view.waitsForReady, stopReason ? '' : view.emptyText);
    if (summaryLine && !view.isQuiet) terminal.info(summaryLine);
    const nextStep = summary.hasUploaded || summary.hasQueued ? view.nextStep?.(isSingleFile) : undefined;
    if (nextStep && !view.isQuiet) terminal.info(nextStep);
    const isFinished = !stopReason && remaining === 0 && !context.signal.aborted;
    await view.onEnd?.(isFinished, summary.hasFailures || summary.isSharedWithOtherRun).catch((error) => {
      endError = asMediactlError(error);
    });
  };
  const result: ListResult = {
    kind: 'list',
    pages: pages(),
    columns: uploadColumns,
    id: ({ asset_uid, queue_id }: UploadRecord) => asset_uid ?? queue_id ?? '',
    empty: '',
    isLive: true,
  };
  const failure = () => {
    const { signal } = context;
    const failed = summary.failure(isSingleFile, run.result) ?? manifest.failure;
    return failed ?? endError ?? (signal.aborted ? (signal.reason as MediactlError) : undefined);
  };
  return { result, failure };
}

export const countFiles = (plan: Plan) => plan.there.files + totalToSend(plan).files;
