import { rm, writeFile } from 'node:fs/promises';
import { Option } from '@commander-js/extra-typings';
import type { Context } from '../../context.ts';
import { asMediactlError, exitCodes, MediactlError, usageError } from '../../errors.ts';
import { parseDuration, parseSize } from '../../profiles/units.ts';
import { listBy } from '../../terminal/output.ts';
import { openProgress } from '../../terminal/progress.ts';
import { confirm } from '../../terminal/prompt.ts';
import type { OnUploadEvent } from '../../upload/events.ts';
import { hashKey } from '../../upload/journal.ts';
import { type UploadOptions, uploadFile } from '../../upload/upload-file.ts';
import { waitForAsset } from '../../upload/wait.ts';
import { maxChunkBytes } from '../../wire/tus.ts';
import { lastUploadPath } from '../assets/resolve.ts';
import { type Define, example } from '../command.ts';
import { folderUid, isRoot } from '../folders/resolve.ts';
import { workspaceUid } from '../workspaces/resolve.ts';
import { type FileToUpload, filesIn, isSpooled, spoolStdin } from './files.ts';
import { failedRecord, type UploadRecord, uploadColumns, uploadedRecord } from './record.ts';

const idleTimeoutMs = 120_000;

export const upload: Define = (command, run) => {
  example(
    command,
    'mediactl upload ./clip.mp4 --wait',
    'mediactl upload -r ./rushes --folder /Campaigns/2026 --json',
    'ffmpeg -i in.mov -f mp4 - | mediactl upload - --name "From a pipe"',
  );
  command
    .summary('upload files, going on where an earlier run stopped')
    .description(
      'Uploads files, one after another. The same command run again goes on where the last one stopped: after a dropped line, a killed process or a restart. Every file is checked by its BLAKE3.',
    )
    .argument('<path...>', 'files; directories with -r; - for stdin')
    .option('--folder <folder>', 'folder to put the assets in, by uid or path')
    .option('--name <name>', 'name of the asset (one file only)')
    .option('--description <text>', 'description of the asset')
    .option('--content-type <type>', 'media type; guessed from the file name otherwise')
    .option('-r, --recursive', 'take the files in directories')
    .option('--wait', 'wait until the assets are ready')
    .option('--timeout <duration>', 'how long to wait at most', '30m')
    .option('--chunk-size <size>', 'bytes a request, at most 50MiB', '50MiB')
    .option('--limit-rate <size>', 'bytes a second, such as 5MiB')
    .option('--no-resume', 'forget an earlier attempt and make a new asset')
    .addOption(
      new Option('--on-expired <action>', 'when the session of an earlier attempt is gone')
        .choices(['restart', 'fail'] as const)
        .default('restart' as const),
    )
    .option('--require-checksum', 'fail where the service names no checksum')
    .addOption(
      new Option('--progress <form>', 'what to show on stderr while it runs')
        .choices(['auto', 'bar', 'plain', 'json', 'none'] as const)
        .default('auto' as const),
    )
    .action(
      run(async (context, paths, flags) => {
        const options = transferOptions(context, flags);
        const timeoutMs = flags.wait ? parseDuration('--timeout', flags.timeout) : undefined;
        const files = await filesIn(paths, {
          recursive: flags.recursive ?? false,
          contentType: flags.contentType,
        });
        if (flags.name !== undefined && files.length > 1)
          throw usageError(`--name is for one file, and there are ${files.length}`);
        const workspace = await workspaceUid(context);
        const folder =
          flags.folder === undefined || isRoot(flags.folder)
            ? undefined
            : await folderUid(context, flags.folder);
        const jobs = files.map((file) => ({
          ...file,
          workspace,
          folder,
          name: flags.name,
          description: flags.description,
        }));
        if (context.settings.dryRun) return plan(jobs, context);
        return uploadAll(context, jobs, options, { timeoutMs, progress: flags.progress });
      }),
    );
};

type Flags = {
  chunkSize: string;
  limitRate?: string | undefined;
  resume: boolean;
  onExpired: 'restart' | 'fail';
  requireChecksum?: boolean | undefined;
};

/** The uploader's options from what was typed. */
export function transferOptions({ settings }: Context, flags: Flags): UploadOptions {
  const chunkBytes = parseSize('--chunk-size', flags.chunkSize);
  if (chunkBytes < 1 || chunkBytes > maxChunkBytes)
    throw usageError(
      `--chunk-size does not take '${flags.chunkSize}'`,
      'from 1 byte to 50MiB',
      'the service takes at most 50 MiB a request',
    );
  const rateLimit = flags.limitRate?.replace(/\/s$/, '');
  return {
    chunkBytes,
    rateLimit: rateLimit === undefined ? undefined : parseSize('--limit-rate', rateLimit),
    idleTimeoutMs: settings.requestTimeoutMs ?? idleTimeoutMs,
    resume: flags.resume,
    onExpired: flags.onExpired,
    requireChecksum: flags.requireChecksum ?? false,
  };
}

export type Job = FileToUpload & {
  workspace: string;
  filename?: string | undefined;
  folder?: string | undefined;
  name?: string | undefined;
  description?: string | undefined;
};

/** --dry-run: the requests that would be made. */
async function plan(jobs: readonly Job[], context: Context) {
  const { baseUrl } = await context.account();
  return listBy(
    ({ path }) => path,
    jobs.map(({ path, contentType, workspace }) => ({
      path,
      request: `POST ${baseUrl.origin}/api/external/v1/upload/`,
      workspace,
      content_type: contentType ?? null,
    })),
    [
      { header: 'PATH', value: ({ path }) => path },
      { header: 'REQUEST', value: ({ request }) => request },
      { header: 'CONTENT TYPE', value: ({ content_type }) => content_type ?? '' },
    ],
    'nothing to upload',
  );
}

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
  const { clock, signal, journal, settings, terminal } = context;
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
        journal,
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
