import type { Context } from '../../context.ts';
import { MediactlError, someFailed, usageError } from '../../errors.ts';
import { keepLastUpload } from '../../library/assets.ts';
import { openProgress, type ProgressMode } from '../../terminal/progress.ts';
import { confirm } from '../../terminal/prompt.ts';
import { listBy } from '../../terminal/result.ts';
import { type Batch, uploadBatch } from '../../upload/batch.ts';
import type { OnUploadEvent } from '../../upload/events.ts';
import { labelOf, type UploadJob, type UploadOptions } from '../../upload/job.ts';
import type { BatchTools, FileOutcome } from '../../upload/outcome.ts';
import { FileSource } from '../../upload/source.ts';
import { Spool } from '../../upload/spool.ts';
import { notUploadedRecord, type UploadRecord, uploadColumns, uploadedRecord } from './record.ts';

type UploadAllOptions = {
  /** Wait until ready, at most so many milliseconds; undefined does not wait. */
  timeoutMs: number | undefined;
  progress: ProgressMode;
  /** What cannot be uploaded, known before anything was tried: unreadable folders. */
  failures?: readonly FileOutcome[];
};

const repeatHint =
  'run the same command again once they are mended: what is uploaded is not sent twice';

/** Uploads, shows what came of each file, and forgets what is done with once that is written. */
export async function uploadAll(
  context: Context,
  jobs: readonly UploadJob[],
  options: UploadOptions,
  { timeoutMs, progress: mode, failures = [] }: UploadAllOptions,
) {
  const { terminal, clock } = context;
  const progress = await openProgress(mode, terminal, clock);
  const tools = await toolsFor(context, progress.show.bind(progress));
  try {
    const { outcomes, settle } = await uploadBatch(jobs, options, timeoutMs, tools, failures);
    return { ...resultOf(context, outcomes), written: settle };
  } finally {
    progress.close();
  }
}

async function toolsFor(context: Context, onEvent: OnUploadEvent): Promise<BatchTools> {
  const { signal, settings, terminal, stateDir } = context;
  return {
    api: await context.api(),
    journal: await context.journal(),
    spool: new Spool(stateDir),
    stdin: () => {
      if (terminal.stdin.isTTY)
        throw usageError('stdin is a terminal, not a file', 'mediactl upload - --name NAME < FILE');
      return terminal.stdin;
    },
    profile: (await context.account()).profile,
    signal,
    onEvent,
    openSource: FileSource.open,
    onUploaded: (uid) => keepLastUpload(context, uid),
    confirmNewAsset: async (refusal, assetUids) => {
      if (settings.yes) return;
      if (!terminal.isInteractive) throw refusal;
      const { reason } = refusal.explanation;
      if (reason) terminal.say(reason);
      const question = `${refusal.message}. Make a new one?`;
      await confirm(terminal, question, { yes: false, instead: '' }).catch((error) => {
        const details = { asset_uids: assetUids };
        throw error instanceof MediactlError ? error.with({ reason, details }) : error;
      });
    },
  };
}

function resultOf({ terminal, settings, signal }: Context, outcomes: Batch['outcomes']) {
  const failures = outcomes.flatMap(({ error }) => error ?? []);
  const [failure] = failures;
  const isOne = outcomes.length === 1;
  // For people, the error of a single file says it all; machines get their array in any case.
  const told = isOne && failure && settings.shape.format === 'human' ? [] : outcomes;
  const records = told.map((outcome) => ({
    ...recordOf(outcome),
    // The service's words may hold what is secret; a path is the person's own.
    error: terminal.redactor.redactRecord(outcome.error?.toJSON() ?? null),
  }));
  const result = listBy(({ asset_uid }) => asset_uid ?? '', records, uploadColumns, '');
  if (!failure || isOne || signal.aborted) return { result, failure: failures.at(-1) };
  const named = outcomes.flatMap(({ job, error }) => (error ? [error.of(labelOf(job))] : []));
  const notUploaded = outcomes.filter(({ error, uploaded }) => error && !uploaded).length;
  return {
    result,
    failure: someFailed(
      problemOf(failures.length, notUploaded, outcomes.length),
      named,
      notUploaded > 0 ? repeatHint : undefined,
    ),
  };
}

function problemOf(failed: number, notUploaded: number, files: number): string {
  const counted = (count: number, words: string) =>
    `${count} of ${files} files ${count === 1 ? 'was' : 'were'} ${words}`;
  const afterwards = failed - notUploaded;
  return [
    ...(notUploaded > 0 ? [counted(notUploaded, 'not uploaded')] : []),
    ...(afterwards > 0 ? [counted(afterwards, 'uploaded, and failed afterwards')] : []),
  ].join('; ');
}

const recordOf = (outcome: FileOutcome): Omit<UploadRecord, 'error'> => {
  const { job, uploaded, error, status, requests, durationMs } = outcome;
  return {
    ...(uploaded ? uploadedRecord(job.path, uploaded) : notUploadedRecord(job.path, error)),
    requests,
    duration_ms: durationMs,
    status: status ?? null,
  };
};
