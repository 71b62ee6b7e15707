import { CodedError, partialFailure, usageError } from '../../client/errors.ts';
import type { RunResult } from '../../client/upload/batch/batch-uploader.ts';
import { isPlannedStop } from '../../client/upload/session/file-outcome.ts';
import { shownPathOf } from '../../client/upload/sources/upload-file.ts';
import { formatBytes, formatCount, formatDuration, pluralize } from '../../shared/figures.ts';
import { escapeControls } from '../../shared/sanitize.ts';
import { type KeptOutcome, outcomeNames, type UploadOutcome, uploadOutcomes } from '../../shared/upload-outcomes.ts';
import { hintOf } from '../error-hints.ts';
import type { RunState } from '../progress/run-state.ts';
import type { Redactor } from '../terminal/redactor.ts';
import { formatResult, type UploadRecord } from './upload-record.ts';

/** Hints on what to do about the files of an outcome. */
const hints: { [Outcome in UploadOutcome]?: string } = {
  duplicate: '-v lists them, --existing file uploads them',
  same_name_and_size: 'mediactl check DIRECTORY /FOLDER --download, to compare them',
};

/** Text after the outcome of a single file that was not sent: its asset, and how to send the file anyway. */
const keptAs: Record<KeptOutcome, (assetUid: string, place: string) => string> = {
  skipped: (uid) => ` as asset ${uid}; --existing upload uploads it again`,
  moved: (uid) => `, and asset ${uid} with it`,
  updated: (uid) => `: asset ${uid} now has the given metadata`,
  duplicate: (uid, place) => ` ${place} (asset ${uid}); --existing file uploads it anyway`,
  same_name_and_size: (uid) => ` (asset ${uid}); ${hints.same_name_and_size}; --existing upload uploads the file`,
  exists: (uid) => ` as asset ${uid}`,
};

/**
 * Describes the only file of a run, which was not sent.
 *
 * @param asset `place` is the path of the asset that the file is a duplicate of
 * @param movedTo where the file was moved to on this machine
 */
export const formatKept = (path: string, how: KeptOutcome, asset: { uid: string; place: string }, movedTo = '') =>
  `${path}: ${uploadOutcomes[how].result}${keptAs[how](asset.uid, asset.place)}${movedTo && `; moved to ${escapeControls(movedTo)}`}`;

/** Describes the only file of a run, which was sent. */
export function formatUploaded(record: UploadRecord, shown: { path: string; folder: string; asset: string }): string {
  const parts = [`asset ${shown.asset}`, formatBytes(record.size_bytes ?? 0), formatResult(record)];
  return `${uploadOutcomes.uploaded.summary} ${escapeControls(shown.path)} to ${escapeControls(shown.folder)}: ${parts.filter(Boolean).join(', ')}`;
}

type SummaryOptions = {
  now: number;
  /** Start of the run in milliseconds since the epoch, if no file was started. */
  startedAt: number;
  /** Files that were not attempted. */
  remaining: number;
  waitsForReady: boolean;
  /** Summary of a run without files. */
  nothing: string | undefined;
};

/** Formats the summary of a run of several files, such as "437 uploaded, 12 already uploaded; 1.2 GiB sent in 3:20". */
export function formatSummary(
  { outcomes, stillProcessing, unverified, bytesSent, startedAt }: RunState,
  { now, remaining, waitsForReady, nothing = 'nothing to upload', ...run }: SummaryOptions,
): string {
  const counted = (count: number, words: string) => (count > 0 ? [`${formatCount(count)} ${words}`] : []);
  const { uploaded, interrupted, queued } = outcomes;
  const totals = { ...outcomes, uploaded: uploaded - stillProcessing, interrupted: interrupted + remaining };
  const parts = outcomeNames.flatMap((name) => {
    const words = uploadOutcomes[name].summary;
    const hint = hints[name] ? ` (${hints[name]})` : '';
    const total = counted(totals[name], `${words}${name === 'uploaded' && waitsForReady ? ' and ready' : hint}`);
    return name === 'uploaded' ? [...total, ...counted(stillProcessing, `${words} and still processing`)] : total;
  });
  if (parts.length === 0) return nothing;
  const uncertainty = unverified > 0 ? ` (${formatCount(unverified)} not verified)` : '';
  const seconds = (now - (startedAt ?? run.startedAt)) / 1000;
  const sent = queued > 0 ? '' : `; ${formatBytes(bytesSent)} sent in ${formatDuration(seconds)}`;
  return `${parts.join(', ')}${uncertainty}${sent}`;
}

/** Says how many files a planned stop has left. */
export function formatPlannedStop(
  { message }: CodedError,
  { outcomes }: RunState,
  { remaining, plan: { isComplete } }: RunResult,
  hint = 'run the same command again to continue',
) {
  const count = remaining + outcomes.interrupted;
  const left = isComplete ? `${pluralize(count, 'file')} remaining` : 'before all files were found';
  const text = count > 0 || !isComplete ? `${message}, ${left}; ${hint}` : message;
  return { message, files_remaining_count: isComplete ? count : null, hint, text };
}

export function failureOfRun(
  { outcomes: { busy, interrupted }, failures: failed, files: known }: RunState,
  { stopReason, remaining }: RunResult,
  redactor: Redactor,
): CodedError | undefined {
  // Each error is prefixed with its file, also the first.
  const failures = failed.flatMap(({ error, file }) => error?.withSubject(shownPathOf(file)) ?? []);
  const notUploaded = failed.filter(({ uploaded }) => !uploaded).length;
  if (stopReason && !isPlannedStop(stopReason)) {
    const isState = stopReason.kind === 'state';
    const unfinished = remaining + interrupted + busy + (isState ? notUploaded : 0);
    const files = known + remaining;
    const uploaded = `${formatCount(files - unfinished)} of ${formatCount(files)} files are uploaded`;
    const left = `${pluralize(unfinished, 'file')} remaining${isState ? '' : ': run the same command again to continue'}`;
    return new CodedError(isState ? `${stopReason.message}; ${uploaded}` : stopReason.message, {
      ...stopReason.explanation,
      remedy: undefined,
      hint: [hintOf(stopReason), unfinished > 0 && left].filter(Boolean).join('; '),
      details: {
        files_remaining_count: unfinished,
        failures: failures.map((failure) => redactor.errorRecord(failure)),
      },
    });
  }
  if (failures.length + busy === 0) return undefined;
  const counted = (count: number, words: string) =>
    count > 0 ? [`${formatCount(count)} of ${formatCount(known)} files ${count === 1 ? 'was' : 'were'} ${words}`] : [];
  const problem = [
    ...counted(notUploaded, 'not uploaded'),
    ...counted(busy, 'left to another run'),
    ...counted(failed.length - notUploaded, 'uploaded but failed afterwards'),
  ].join('; ');
  const skips = 'run the same command again: it skips the files that are already uploaded';
  const afterOthers = busy > 0 ? `once the other run has finished, ${skips}` : undefined;
  const isProcessing =
    failures.length > 0 && failures.every(({ explanation: { code } }) => code === 'processing_failed');
  const ofProcessing = isProcessing ? processingHint : undefined;
  return partialFailure(
    problem,
    failures,
    notUploaded > 0 ? `fix the errors, then ${skips}` : (afterOthers ?? ofProcessing),
  );
}

const processingHint =
  'check that the files play on your machine; mediactl rm ID, then the same command, sends one again';

/**
 * Adds the sources that gave no file, beside others that did, to the error of a run. An error that ended the run stays
 * as it is: the next run names the sources.
 *
 * @param error of the run; undefined if it succeeded
 * @param onlyFile path of the only file, if the error is about it
 */
export function addEmptySources(
  error: CodedError | undefined,
  sources: readonly string[],
  onlyFile?: string,
): CodedError | undefined {
  if (sources.length === 0) return error;
  const isOfFiles = error?.explanation.code === 'partial_failure';
  if (error && !isOfFiles && onlyFile === undefined) return error;
  const empty = sources.map((path) => usageError('no files found', 'check the path').withSubject(escapeControls(path)));
  const problem = `${pluralize(sources.length, 'source')} gave no files`;
  if (!error) return partialFailure(problem, empty, 'check the paths');
  const { failures = [], hint } = error.explanation;
  return isOfFiles
    ? partialFailure(`${error.message}; ${problem}`, [...failures, ...empty], hint)
    : partialFailure(problem, [error.withSubject(onlyFile ?? ''), ...empty], hint);
}
