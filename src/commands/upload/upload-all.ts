import { rm } from 'node:fs/promises';
import type { TransportNotice } from '../../api/transport.ts';
import type { Context } from '../../context.ts';
import { asMediactlError, exitCodes, MediactlError, someFailed } from '../../errors.ts';
import { openProgress } from '../../terminal/progress.ts';
import { confirm } from '../../terminal/prompt.ts';
import { listBy } from '../../terminal/result.ts';
import type { OnUploadEvent, UploadEvent } from '../../upload/events.ts';
import type { Uploaded, UploadOptions } from '../../upload/job.ts';
import { type CorruptEntry, hashKey, isCorrupt, type JournalEntry } from '../../upload/journal.ts';
import { uploadFile } from '../../upload/upload-file.ts';
import { waitForAssets } from '../../upload/wait.ts';
import { keepLastUpload } from '../assets/resolve.ts';
import { type FileToUpload, isSpooled, spoolStdin } from './files.ts';
import { notUploadedRecord, type UploadRecord, uploadColumns, uploadedRecord } from './record.ts';

export type Job = Omit<FileToUpload, 'below'> & {
  workspace: string;
  filename?: string | undefined;
  folder?: string | undefined;
  name?: string | undefined;
  description?: string | undefined;
};

type Following = {
  /** Wait until ready, at most so many milliseconds. */
  timeoutMs: number | undefined;
  progress: Parameters<typeof openProgress>[0];
};

const mendAndRepeat =
  'run the same command again once they are mended: what is uploaded is not sent twice';

/** What a file is called in events: a spool's own path says nothing to people. */
const labelOf = ({ path }: Job) => (path === '-' ? 'stdin' : path);

/** What became of one file. */
type Fate = {
  job: Job;
  /** Where its bytes are; for stdin, the spool. */
  path: string;
  uploaded?: Uploaded;
  requests: number;
  durationMs: number;
  status?: string | undefined;
  error?: MediactlError;
};

const succeeded = ({ error }: Fate) => !error;

/** Uploads file after file, then waits for all. One bad file fails itself alone; exit 11 names it. */
export async function uploadAll(
  context: Context,
  jobs: readonly Job[],
  options: UploadOptions,
  { timeoutMs, progress: mode }: Following,
) {
  const { terminal, clock, signal } = context;
  const progress = await openProgress(mode, terminal, clock);
  const onEvent = progress.show.bind(progress);
  const fates: Fate[] = [];
  try {
    for (const job of jobs) {
      fates.push(await uploadOne(context, job, options, onEvent));
      if (fates.at(-1)?.error) progress.close();
      if (signal.aborted) break;
    }
    if (timeoutMs !== undefined && !signal.aborted)
      await waitForAll(context, fates, timeoutMs, onEvent);
    // Until the whole job is done, the same command must find what is: it is not done twice.
    const done = jobs.length === 1 || (fates.length === jobs.length && fates.every(succeeded));
    const entries = fates.every(succeeded) ? [] : await (await context.journal()).list();
    for (const fate of fates) await settle(context, fate, done, entries);
  } finally {
    progress.close();
  }
  const failures = fates.flatMap(({ error }) => error ?? []);
  const [failure] = failures;
  // For people, the error of a single file says it all; machines get their array in any case.
  const shown =
    jobs.length === 1 && failure && context.settings.shape.format === 'human' ? [] : fates;
  const records = shown.map((fate) => terminal.redactor.redactRecord(recordOf(fate)));
  const result = listBy(({ asset_uid, path }) => asset_uid ?? path, records, uploadColumns, '');
  if (!failure || jobs.length === 1 || signal.aborted) return { result, failure: failures.at(-1) };
  const named = fates.flatMap(({ job, error }) => (error ? [error.of(labelOf(job))] : []));
  const notUploaded = fates.filter(({ error, uploaded }) => error && !uploaded).length;
  const count = `${failures.length} of ${jobs.length} files`;
  const problem =
    notUploaded === failures.length
      ? `${count} were not uploaded`
      : `${count} failed, ${notUploaded} of them to upload`;
  return {
    result,
    failure: someFailed(problem, named, notUploaded > 0 ? mendAndRepeat : undefined),
  };
}

async function uploadOne(
  context: Context,
  job: Job,
  options: UploadOptions,
  onEvent: OnUploadEvent,
): Promise<Fate> {
  const { clock, signal, settings, terminal } = context;
  const api = await context.api();
  const { apiKey, profile } = await context.account();
  const startedAt = clock.now();
  const requestsBefore = api.transport.requestCount;
  const fromStdin = job.path === '-';
  let { path } = job;
  const label = labelOf(job);
  context.onNotice = (notice) => onEvent(waitingEvent(notice, label));
  const fate = (): Fate => ({
    job,
    path,
    requests: api.transport.requestCount - requestsBefore,
    durationMs: clock.now() - startedAt,
  });
  try {
    if (fromStdin) path = await spoolStdin(context);
    const uploaded = await uploadFile(
      { ...job, path, label, filename: fromStdin ? (job.name ?? 'stdin') : job.filename },
      options,
      {
        api,
        journal: await context.journal(),
        owner: { profile, keyHash: hashKey(apiKey) },
        signal,
        onEvent,
        confirmNewAsset: async (refusal) => {
          if (settings.yes) return;
          if (!terminal.isInteractive) throw refusal;
          await confirm(terminal, `${refusal.message}. Make a new one?`, {
            yes: false,
            instead: '',
          });
        },
      },
    );
    await keepLastUpload(context, uploaded.assetUid).catch((error) =>
      onEvent({ path: label, event: 'notice', message: `@last is not kept: ${error.message}` }),
    );
    return { ...fate(), uploaded };
  } catch (thrown) {
    return { ...fate(), error: asMediactlError(thrown) };
  } finally {
    context.onNotice = undefined;
  }
}

const waitingEvent = (notice: TransportNotice, path: string): UploadEvent =>
  notice.kind === 'resumed'
    ? { path, event: 'going_on' }
    : {
        path,
        event: 'waiting',
        why: notice.kind,
        until: new Date(notice.untilMs).toISOString(),
        reason: notice.kind === 'retrying' ? notice.reason : 'rate limit',
      };

/** Waits for everything that was uploaded; writes status or error into each fate. */
async function waitForAll(
  context: Context,
  fates: readonly Fate[],
  timeoutMs: number,
  onEvent: OnUploadEvent,
): Promise<void> {
  const waiting = new Map(
    fates.flatMap((fate) => (fate.uploaded ? [[fate.uploaded.assetUid, fate] as const] : [])),
  );
  const { clock, signal } = context;
  const { assets } = await context.api();
  const pathOf = (uid: string) => labelOf((waiting.get(uid) as Fate).job);
  context.onNotice = (notice) =>
    onEvent(waitingEvent(notice, pathOf([...waiting.keys()][0] ?? '')));
  try {
    const settled = await waitForAssets(assets, [...waiting.keys()], {
      clock,
      signal,
      timeoutMs,
      onStatus: ({ uid, status = 'in progress' }) =>
        onEvent({ path: pathOf(uid), event: 'status', asset_uid: uid, status }),
    });
    for (const [uid, outcome] of settled) {
      const fate = waiting.get(uid) as Fate;
      if (outcome instanceof MediactlError) fate.error = outcome;
      else fate.status = outcome.status;
    }
  } catch (thrown) {
    for (const fate of waiting.values()) fate.error = asMediactlError(thrown);
  } finally {
    context.onNotice = undefined;
  }
}

/** Codes after which the same command would go on waiting for the asset. */
const stillWaiting = ['still_processing', 'interrupted', 'terminated'];

/** Forgets what is done with; says how to go on with what is not. */
async function settle(
  context: Context,
  fate: Fate,
  jobIsDone: boolean,
  entries: readonly (JournalEntry | CorruptEntry)[],
): Promise<void> {
  const { uploaded, error, path, job } = fate;
  const { code = '', retryable } = error?.explanation ?? {};
  const failedForGood = error && !stillWaiting.includes(code) && !retryable;
  if (uploaded && (failedForGood || jobIsDone)) {
    await uploaded.forget();
    if (await isSpooled(context, path)) await rm(path, { force: true });
    return;
  }
  if (!error) return;
  const kept = entries.find((entry) => !isCorrupt(entry) && entry.session && entry.path === path);
  if (!kept && (await isSpooled(context, path))) await rm(path, { force: true });
  if (!kept || error.exitCode === exitCodes.integrity) return;
  const resume = `mediactl uploads resume ${kept.id}`;
  const again = job.path === '-' ? resume : `run the same command again, or ${resume}`;
  // A hint that only says to run it again is said better here.
  const first = [exitCodes.unauthenticated, exitCodes.quota] as number[];
  const hint = first.includes(error.exitCode) ? `${error.explanation.hint}; then ${again}` : again;
  fate.error = error.with({ hint: `${hint}, to go on from here` });
}

const recordOf = ({ job, uploaded, error, status, requests, durationMs }: Fate): UploadRecord => ({
  ...(uploaded ? uploadedRecord(job.path, uploaded) : notUploadedRecord(job.path, error)),
  requests,
  duration_ms: durationMs,
  status: status ?? null,
  error: error?.toJSON() ?? null,
});
