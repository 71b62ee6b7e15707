import { asMediactlError, type MediactlError } from '../../client/errors.ts';
import type { BatchRun } from '../../client/upload/batch/batch-uploader.ts';
import { type Plan, totalToSend } from '../../client/upload/batch/plan.ts';
import type { FileOutcome } from '../../client/upload/session/file-outcome.ts';
import type { UploadCandidate } from '../../client/upload/sources/upload-candidate.ts';
import type { Context } from '../context.ts';
import type { ListResult } from '../output/result.ts';
import type { ProgressDisplay } from '../progress/progress.ts';
import { ManifestOut } from './manifest-out.ts';
import { recordOf, type UploadRecord, uploadColumns } from './record.ts';
import { Summary } from './summary.ts';

/** Files of a run, and how to display it. */
export type RunView = {
  progress: ProgressDisplay;
  /** Print only problems. */
  isQuiet: boolean;
  /** Show every file, not only what failed. */
  verbose: boolean;
  /** File that also gets each record, as JSON lines. */
  manifestOut?: string | undefined;
  files: AsyncIterable<UploadCandidate> | Iterable<UploadCandidate>;
  /** Files that failed before the run. */
  failures: readonly FileOutcome[];
  /** The run waits until the assets are ready. */
  isWaited: boolean;
  /** Summary to print if there were no files. */
  nothing?: string;
  /** Returns the suggested next step to print at the end, for one or several files. */
  next?: (isOne: boolean) => string | undefined;
  /** Called after the last outcome, even if the output is closed early. */
  close(): Promise<void>;
  /** @param isWhole the run was not interrupted @param isIncomplete files failed, or another run is uploading them */
  ended?(isWhole: boolean, isIncomplete: boolean): Promise<void>;
};

/** Maximum number of files that are all listed on a terminal. */
const fewFiles = 10;

/** Shows the outcome of each file as it happens, then a summary. @returns the records, and the error to exit with */
export function present(context: Context, run: BatchRun, view: RunView) {
  const { terminal, clock, settings } = context;
  const summary = new Summary(clock.now());
  const manifest = new ManifestOut(view.manifestOut);
  const isPerson = settings.outputOptions.format === 'human';
  let isOne = false;
  let afterwards: MediactlError | undefined;
  const isMany = () =>
    !terminal.stdout.isTTY || view.verbose || filesOf(run.result.plan) > fewFiles;
  const few: UploadRecord[] = [];
  /** Selects records for the terminal: up to `maxListedFiles` files are collected, of more only failures are shown. A single file's failure is printed as the error only. */
  const forPeople = (records: UploadRecord[]) => {
    if (!terminal.stdout.isTTY || view.verbose)
      return records.filter(({ error }) => !(isOne && error));
    const ended = records.filter(({ error }) => !error);
    if (few.length <= fewFiles) few.push(...ended.slice(0, fewFiles + 1));
    const isFailed = ({ error, outcome }: UploadRecord) => error !== null && outcome !== 'left';
    return isOne ? [] : records.filter(isFailed);
  };
  const pages = async function* (): AsyncGenerator<UploadRecord[]> {
    const outcomes = run.outcomes(view.files);
    const next = async (): Promise<UploadRecord[] | undefined> => {
      const { value: some, done } = await outcomes.next();
      if (done) return undefined;
      isOne = filesOf(run.result.plan) + view.failures.length === 1;
      for (const outcome of some) summary.count(outcome);
      const records = some.map((outcome) => recordOf(context, outcome));
      await manifest.write(records);
      return records;
    };
    try {
      for (let records = await next(); records; records = await next())
        yield isPerson ? forPeople(records) : records;
      for (const failure of view.failures) summary.count(failure);
      if (!isMany()) yield few;
      yield view.failures.map((failure) => recordOf(context, failure));
    } finally {
      // The reader may have closed the output early: finish and count the uploads.
      while (await next().catch(() => undefined)); // its error was thrown already
      view.progress.close();
      await manifest.close();
      await view.close();
    }
    const { stopReason, remaining } = run.result;
    const said = isOne
      ? summary.skipped
      : summary.line(clock.now(), remaining, view.isWaited, stopReason ? '' : view.nothing);
    if (said && !view.isQuiet) terminal.info(said);
    const after = summary.hasUploaded || summary.hasQueued ? view.next?.(isOne) : undefined;
    if (after && !view.isQuiet) terminal.info(after);
    const isWhole = !stopReason && remaining === 0 && !context.signal.aborted;
    await view.ended?.(isWhole, summary.hasFailures || summary.hasOthers).catch((error) => {
      afterwards = asMediactlError(error);
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
    const failed = summary.failure(isOne, run.result) ?? manifest.failure;
    return failed ?? afterwards ?? (signal.aborted ? (signal.reason as MediactlError) : undefined);
  };
  return { result, failure };
}

export const filesOf = (plan: Plan) => plan.there.files + totalToSend(plan).files;
