import { rm, writeFile } from 'node:fs/promises';
import type { Context } from '../../context.ts';
import { asMediactlError, exitCodes, MediactlError } from '../../errors.ts';
import { openProgress } from '../../terminal/progress.ts';
import { confirm } from '../../terminal/prompt.ts';
import { listBy } from '../../terminal/result.ts';
import type { OnUploadEvent } from '../../upload/events.ts';
import type { UploadOptions } from '../../upload/job.ts';
import { hashKey } from '../../upload/journal.ts';
import { uploadFile } from '../../upload/upload-file.ts';
import { waitForAsset } from '../../upload/wait.ts';
import { lastUploadPath } from '../assets/resolve.ts';
import { type FileToUpload, isSpooled, spoolStdin } from './files.ts';
import { failedRecord, type UploadRecord, uploadColumns, uploadedRecord } from './record.ts';

export type Job = FileToUpload & {
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

/** Uploads file after file. One bad file fails itself alone; all are named, exit 11. */
export async function uploadAll(
  context: Context,
  jobs: readonly Job[],
  options: UploadOptions,
  { timeoutMs, progress: mode }: Following,
) {
  const { terminal, clock, signal } = context;
  const progress = await openProgress(mode, terminal, clock);
  const records: UploadRecord[] = [];
  const failures: MediactlError[] = [];
  try {
    for (const job of jobs) {
      try {
        records.push(
          await uploadOne(context, job, options, timeoutMs, progress.show.bind(progress)),
        );
      } catch (thrown) {
        const error = resumable(asMediactlError(thrown));
        progress.close();
        if (signal.aborted) throw error;
        failures.push(error);
        records.push(failedRecord(job.path, error));
      }
    }
  } finally {
    progress.close();
  }
  const [failure] = failures;
  // For people, the error of a single file says it all; machines get their array in any case.
  const alone = failure && jobs.length === 1;
  const shown = alone && context.settings.output === 'human' ? [] : records;
  const result = listBy(({ asset_uid, path }) => asset_uid ?? path, shown, uploadColumns, '');
  return { result, failure: alone ? failure : someFailed(failures, jobs.length) };
}

async function uploadOne(
  context: Context,
  job: Job,
  options: UploadOptions,
  timeoutMs: number | undefined,
  onEvent: OnUploadEvent,
): Promise<UploadRecord> {
  const { clock, signal, settings, terminal } = context;
  const api = await context.api();
  const { apiKey, profile } = await context.account();
  const startedAt = clock.now();
  const requestsBefore = api.transport.requestCount;
  const fromStdin = job.path === '-';
  const path = fromStdin ? await spoolStdin(context) : job.path;
  context.onNotice = (notice) =>
    onEvent(
      notice.kind === 'resumed'
        ? { path, event: 'going_on' }
        : {
            path,
            event: 'waiting',
            why: notice.kind,
            until: new Date(notice.untilMs).toISOString(),
            reason: notice.kind === 'retrying' ? notice.reason : 'rate limit',
          },
    );
  try {
    const uploaded = await uploadFile(
      { ...job, path, filename: fromStdin ? (job.name ?? 'stdin') : job.filename },
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
    await writeFile(lastUploadPath(context.stateDir), uploaded.assetUid, { mode: 0o600 }).catch(
      (error) => onEvent({ path, event: 'notice', message: `@last is not kept: ${error.message}` }),
    );
    const asset =
      timeoutMs === undefined
        ? undefined
        : await waitForAsset(api.assets, uploaded.assetUid, {
            clock,
            signal,
            timeoutMs,
            onStatus: ({ uid, status }) =>
              onEvent({ path, event: 'status', asset_uid: uid, status: status ?? 'in progress' }),
          });
    await uploaded.forget();
    if (isSpooled(context, path)) await rm(path, { force: true });
    return uploadedRecord(job.path, uploaded, {
      status: asset?.status,
      requests: api.transport.requestCount - requestsBefore,
      durationMs: clock.now() - startedAt,
    });
  } finally {
    context.onNotice = undefined;
  }
}

const again = 'run the same command again, or mediactl uploads resume --all, to go on from here';

/** Failures that leave something to go on with say how. */
function resumable(error: MediactlError): MediactlError {
  const { exitCode, hint, code } = error.explanation;
  const stopped = [
    exitCodes.interrupted,
    exitCodes.terminated,
    exitCodes.rateLimited,
    exitCodes.unauthenticated,
    exitCodes.quota,
  ];
  if ((stopped as number[]).includes(exitCode))
    return error.with({ hint: [hint, again].filter(Boolean).join('; then ') });
  if (exitCode === exitCodes.unreachable && code !== 'refused') return error.with({ hint: again });
  return error;
}

const someFailed = (failures: readonly MediactlError[], total: number) =>
  failures.length === 0
    ? undefined
    : new MediactlError(`${failures.length} of ${total} files were not uploaded`, {
        code: 'some_failed',
        exitCode: exitCodes.partial,
        reason: failures.map(({ message }) => message).join('; '),
        hint: 'run it again with those paths alone',
        details: failures.map((failure) => failure.toJSON()),
      });
