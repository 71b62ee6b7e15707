import { CodedError, partialFailure } from '../../client/errors.ts';
import type { RunResult } from '../../client/upload/batch/batch-uploader.ts';
import {
  type FileOutcome,
  isFailedBefore,
  isInterruption,
  isPlannedStop,
  outcomeOf,
} from '../../client/upload/session/file-outcome.ts';
import { shownPathOf } from '../../client/upload/sources/upload-file.ts';
import { formatBytes, formatCount, formatDuration } from '../../contract/figures.ts';
import { outcomeNames, type UploadOutcome, uploadOutcomes } from '../../contract/upload-outcomes.ts';
import { hintOf } from '../error-hints.ts';
import type { Redactor } from '../terminal/redactor.ts';

/** Hints on what to do about the files of an outcome. */
const hints: { [Outcome in UploadOutcome]?: string } = {
  duplicate: '-v lists them, --existing file uploads them',
  same_name_and_size: 'mediactl check DIRECTORY /FOLDER --download, to compare them',
};

/** Counts the outcomes of a run, and formats its summary and final error. */
export class RunSummary {
  readonly #counts = Object.fromEntries(outcomeNames.map((name) => [name, 0])) as Record<UploadOutcome, number>;
  readonly #failed: { error: CodedError; path: string }[] = [];
  readonly #startedAt: number;
  readonly #redactor: Redactor;
  #bytesSent = 0;
  #unverified = 0;
  /** Number of uploaded files whose assets were still being processed when the run was interrupted. */
  #processing = 0;
  #notUploaded = 0;
  /** Number of files that were uploaded before, and whose processing failed. */
  #failedBefore = 0;
  #files = 0;

  /** @param startedAt milliseconds since the Unix epoch */
  constructor(startedAt: number, redactor: Redactor) {
    this.#startedAt = startedAt;
    this.#redactor = redactor;
  }

  count(outcome: FileOutcome): void {
    const { uploaded, error, file } = outcome;
    this.#files++;
    this.#bytesSent += outcome.bytesSent ?? uploaded?.bytesSent ?? 0;
    if (uploaded && uploadOutcomes[uploaded.how].isCompared && uploaded.verified === null) this.#unverified++;
    if (error && !isInterruption(error)) {
      this.#counts.failed++;
      if (!uploaded) this.#notUploaded++;
      if (isFailedBefore(outcome)) this.#failedBefore++;
      this.#failed.push({ error, path: shownPathOf(file) });
      return;
    }
    const name = outcomeOf(outcome);
    this.#counts[name]++;
    // The interruption ended only the wait for the asset.
    if (error && name === 'uploaded') this.#processing++;
  }

  /** True if some files were uploaded or queued by this run. */
  get hasSent(): boolean {
    return outcomeNames.some((name) => uploadOutcomes[name].isSent && this.#counts[name] > 0);
  }

  /** Number of files whose upload was stopped before its end. */
  get interrupted(): number {
    return this.#counts.interrupted;
  }

  /** True if files failed, other than those whose processing had failed before, or another run is uploading them. */
  get hasUnsent(): boolean {
    return this.#failed.length - this.#failedBefore + this.#counts.busy > 0;
  }

  /** Formats the summary, such as "437 uploaded, 12 already uploaded; 1.2 GiB in 3:20", or `nothing`. */
  format(now: number, left: number, isWaited: boolean, nothing = 'nothing to upload'): string {
    const { uploaded, interrupted, queued } = this.#counts;
    const totals = { ...this.#counts, uploaded: uploaded - this.#processing, interrupted: interrupted + left };
    const parts = outcomeNames.flatMap((name) => {
      const words = uploadOutcomes[name].summary;
      const hint = hints[name] ? ` (${hints[name]})` : '';
      const total = countOf(totals[name], `${words}${name === 'uploaded' && isWaited ? ' and ready' : hint}`);
      return name === 'uploaded' ? [...total, ...countOf(this.#processing, `${words} and still processing`)] : total;
    });
    if (parts.length === 0) return nothing;
    const uncertainty = this.#unverified > 0 ? ` (${formatCount(this.#unverified)} not verified)` : '';
    const seconds = (now - this.#startedAt) / 1000;
    const sent = queued > 0 ? '' : `; ${formatBytes(this.#bytesSent)} sent in ${formatDuration(seconds)}`;
    return `${parts.join(', ')}${uncertainty}${sent}`;
  }

  failure({ stopReason, remaining }: RunResult): CodedError | undefined {
    const first = this.#failed[0]?.error;
    // Each error is prefixed with its file, also the first.
    const failures = this.#failed.map(({ error, path }) => error.withSubject(path));
    const isState = stopReason?.kind === 'state';
    const unfinished = remaining + this.#counts.interrupted + this.#counts.busy + (isState ? this.#notUploaded : 0);
    const files = this.#files + remaining;
    const uploaded = `${formatCount(files - unfinished)} of ${formatCount(files)} files are uploaded`;
    if (stopReason && !isPlannedStop(stopReason))
      return new CodedError(isState ? `${stopReason.message}; ${uploaded}` : stopReason.message, {
        ...stopReason.explanation,
        remedy: undefined,
        hint: [
          hintOf(stopReason),
          unfinished > 0 &&
            `${formatCount(unfinished)} ${unfinished === 1 ? 'file' : 'files'} remaining${isState ? '' : ': run the same command again to continue'}`,
        ]
          .filter(Boolean)
          .join('; '),
        details: {
          files_remaining_count: unfinished,
          failures: failures.map((failure) => this.#redactor.errorRecord(failure)),
        },
      });
    const { busy } = this.#counts;
    if (!first && busy === 0) return undefined;
    const skips = 'run the same command again: it skips the files that are already uploaded';
    const isProcessing = this.#failed.every(({ error }) => error.explanation.code === 'processing_failed');
    const failedHint = this.#failed.length > 0 && isProcessing ? processingHint : undefined;
    const afterOthers = busy > 0 ? `once the other run has finished, ${skips}` : undefined;
    return partialFailure(
      this.#problem(),
      failures,
      this.#notUploaded > 0 ? `fix the errors, then ${skips}` : (afterOthers ?? failedHint),
    );
  }

  #problem(): string {
    const counted = (count: number, words: string) =>
      `${formatCount(count)} of ${formatCount(this.#files)} files ${count === 1 ? 'was' : 'were'} ${words}`;
    const afterwards = this.#failed.length - this.#notUploaded;
    return [
      ...(this.#notUploaded > 0 ? [counted(this.#notUploaded, 'not uploaded')] : []),
      ...(this.#counts.busy > 0 ? [counted(this.#counts.busy, 'left to another run')] : []),
      ...(afterwards > 0 ? [counted(afterwards, 'uploaded but failed afterwards')] : []),
    ].join('; ');
  }
}

const processingHint =
  'check that the files play on your machine; mediactl rm ID, then the same command, sends one again';

const countOf = (count: number, words: string) => (count > 0 ? [`${formatCount(count)} ${words}`] : []);
