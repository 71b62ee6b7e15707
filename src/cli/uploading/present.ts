import { asMediactlError, type MediactlError } from '../../client/errors.ts';
import { type Plan, toSend } from '../../client/upload/batch/plan.ts';
import type { Run } from '../../client/upload/batch/run.ts';
import type { FileOutcome } from '../../client/upload/session/outcome.ts';
import type { Wanted } from '../../client/upload/sources/wanted.ts';
import type { Context } from '../context.ts';
import type { ListResult } from '../output/result.ts';
import type { Progress } from '../progress/progress.ts';
import { ManifestOut } from './manifest-out.ts';
import { recordOf, type UploadRecord, uploadColumns } from './record.ts';
import { Summary } from './summary.ts';

/** How a run is shown. */
export type RunView = {
  progress: Progress;
  /** Nothing is said but what went wrong. */
  isQuiet: boolean;
  /** Show every file, not only what failed. */
  verbose: boolean;
  /** Where each record goes too, as JSON lines. */
  manifestOut?: string | undefined;
  files: AsyncIterable<Wanted> | Iterable<Wanted>;
  /** Files that came to nothing before the run. */
  failures: readonly FileOutcome[];
  /** Whether assets are waited for until they are ready. */
  isWaited: boolean;
  /** What is said where there were none. */
  nothing?: string;
  /** What comes after the files, said at the end: of one, or of many. */
  next?: (isOne: boolean) => string | undefined;
  /** Called once all outcomes have come, whoever is left to read them. */
  close(): Promise<void>;
  /** @param isWhole every file was seen to @param isIncomplete some failed, or are being sent by others */
  ended?(isWhole: boolean, isIncomplete: boolean): Promise<void>;
};

/** So few files are all shown to a person. */
const fewFiles = 10;

/** Shows what becomes of each file as it happens. */
export function present(context: Context, run: Run, view: RunView) {
  const { terminal, clock, settings } = context;
  const summary = new Summary(clock.now());
  const manifest = new ManifestOut(view.manifestOut);
  const isPerson = settings.shape.format === 'human';
  let isOne = false;
  let afterwards: MediactlError | undefined;
  const isMany = () => !terminal.stdout.isTTY || view.verbose || filesOf(run.end.plan) > fewFiles;
  const few: UploadRecord[] = [];
  /** A few files are all shown, of many those that failed; a single failure says it all by itself. */
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
      isOne = filesOf(run.end.plan) + view.failures.length === 1;
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
      // Whoever read this may have left: the work goes on, and is counted.
      while (await next().catch(() => undefined)); // what ended it is on its way already
      view.progress.close();
      await manifest.close();
      await view.close();
    }
    const { stop, left } = run.end;
    const said = isOne
      ? summary.skipped
      : summary.line(clock.now(), left, view.isWaited, stop ? '' : view.nothing);
    if (said && !view.isQuiet) terminal.say(said);
    const after = summary.hasUploaded || summary.hasQueued ? view.next?.(isOne) : undefined;
    if (after && !view.isQuiet) terminal.say(after);
    const isWhole = !stop && left === 0 && !context.signal.aborted;
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
    const failed = summary.failure(isOne, run.end) ?? manifest.failure;
    return failed ?? afterwards ?? (signal.aborted ? (signal.reason as MediactlError) : undefined);
  };
  return { result, failure };
}

export const filesOf = (plan: Plan) => plan.there.files + toSend(plan).files;
