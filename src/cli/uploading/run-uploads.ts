import { setMaxListeners } from 'node:events';
import { CodedError, usageError } from '../../client/errors.ts';
import type { RunOptions } from '../../client/upload/batch/batch-uploader.ts';
import type { FollowPorts } from '../../client/upload/batch/follow-files.ts';
import { countFiles, type Plan, totalToAttempt } from '../../client/upload/batch/plan.ts';
import { startUploads, type UploadRunRequest } from '../../client/upload/batch/start-uploads.ts';
import { createOutcome, plannedStop } from '../../client/upload/session/file-outcome.ts';
import { Throttle } from '../../client/upload/session/throttle.ts';
import { Spool } from '../../client/upload/sources/spool.ts';
import { type FolderResolver, fileAt } from '../../client/upload/sources/upload-file.ts';
import type { Receipts } from '../../client/upload/store/receipts.ts';
import { pluralize } from '../../contract/figures.ts';
import { escapeControls } from '../../contract/sanitize.ts';
import type { Context } from '../context.ts';
import { withHint } from '../error-hints.ts';
import { createProgress, type ProgressDisplay, type ProgressMode } from '../progress/progress.ts';
import { confirm } from '../terminal/prompt.ts';
import { reportDecideNotice } from './decide-notices.ts';
import { exceedsSessionLifetime } from './plan-view.ts';
import { presentRun, type RunView } from './run-view.ts';
import type { UploadSources } from './sources.ts';
import { saveLastUpload } from './upload-record.ts';

export type RunRequest = Pick<RunView, 'verbose' | 'resultsFile'> &
  Pick<UploadRunRequest, 'mirror' | 'mover' | 'createRun'> & {
    sources: Pick<UploadSources, 'files' | 'failures' | 'skipped' | 'open' | 'close'> &
      Partial<Pick<UploadSources, 'otherShardFiles' | 'inputs' | 'mayBeEmpty' | 'unusedFilters' | 'emptySources'>>;
    folders: FolderResolver;
    options: RunOptions;
    receipts: Receipts | undefined;
    /** Inputs that identify the run when the command is repeated (see `markIdOf`). */
    identity: readonly string[];
    /** How the history describes changes of assets. */
    label: Omit<FollowPorts, 'writer'>;
    progress: ProgressMode;
    /** Maximum upload rate in bytes per second. */
    rateLimit?: number | undefined;
    /** Number of requests per rate-limit window to leave for other uses. */
    reserveRequests?: number | undefined;
    /** Time to stop, in milliseconds since the Unix epoch, and the time as the user entered it. */
    stopAt?: { time: number; typed: string } | undefined;
    /** True if all files go to one folder, regardless of their directories. */
    isFlat?: boolean;
    /** True for a run that has no end, of which no plan is printed, and which asks nothing. */
    isEndless?: boolean;
    /** Asks whether to create missing folders. Called when all files are known, before the first upload. */
    confirmFolders?: (() => Promise<void>) | undefined;
    /** Name of a used option that accepts only one file, to report if there are more. */
    singleFileOption?: string;
    /** Called with the id of the newest receipt at the start of the run, after all files were uploaded. */
    onComplete?: (startMark: number) => Promise<void>;
    /** Returns the suggested next step. The default suggestion is to wait for the assets. */
    nextStep?: (isOne: boolean) => string;
  };

export const slowUploadWarning =
  'at this --limit-rate, some uploads take longer than 24 hours, and their sessions expire';

/** Minimum number of files for which a run prints its plan first. */
const minFilesForPlan = 20;
const lastUploadIntervalMs = 1_000;

export async function runUploads(context: Context, request: RunRequest) {
  const { sources, onComplete, progress: mode, verbose, resultsFile } = request;
  const { timeoutMs } = request.options;
  const { transport } = await context.api();
  const progress = await createProgress(context, mode, { budget: () => transport.connection.rateLimiter.budget });
  const { run, close } = await startRun(context, request, progress);
  return presentRun(context, run, {
    progress,
    verbose,
    resultsFile,
    waitsForReady: timeoutMs !== undefined,
    // A getter, because the directory walk adds failures during the run.
    get failures() {
      return sources.failures.map(({ path, error }) => createOutcome(fileAt(path), { error }));
    },
    emptySources: () => sources.emptySources?.() ?? [],
    nextStep: (isOne) => (timeoutMs === undefined ? (request.nextStep ?? defaultNextStep)(isOne) : undefined),
    close,
    onEnd: async (isWhole, isIncomplete) => {
      try {
        if (isWhole && !isIncomplete) await onComplete?.(run.startMark);
        else if (onComplete)
          context.terminal.warn('nothing was moved to the trash, because some files are not uploaded yet');
      } finally {
        if (onComplete) warnOfUnusedFilters(context, sources);
      }
      // Not reached if the prune was refused, so that a repeated run keeps its start mark, and the
      // files that this run uploaded still do not count as existing.
      if (isWhole) await run.forget();
    },
  });
}

/** Starts a run. Its result is shown by the caller, who calls `close` after the last outcome. */
export async function startRun(context: Context, request: RunRequest, progress: ProgressDisplay) {
  const { transport } = await context.api();
  transport.connection.rateLimiter.reserve = request.reserveRequests;
  const finished = new AbortController();
  const lastUpload = createLastUploadSaver(context);
  const run = await startUploads({
    ...(await createPorts(context, request, progress)),
    signal: runSignal(context, request.stopAt, finished.signal),
    onUploaded: lastUpload.onUploaded,
  });
  const close = async () => {
    finished.abort();
    await request.sources.close();
    await lastUpload.save();
  };
  return { run, close };
}

/** Names the filters without effect: with --prune, once the missing files are known, too. */
export function warnOfUnusedFilters({ terminal }: Context, { unusedFilters }: RunRequest['sources']): void {
  for (const unused of unusedFilters?.() ?? []) terminal.warn(unused);
}

const defaultNextStep = (isOne: boolean) =>
  isOne
    ? 'the asset is processing; next: mediactl wait @last, then mediactl play @last'
    : 'the assets are processing; to wait until they are ready: mediactl wait';

/** Returns what the command line adds to an upload run. */
async function createPorts(
  context: Context,
  request: RunRequest,
  progress: ProgressDisplay,
): Promise<Omit<UploadRunRequest, 'signal' | 'onUploaded'>> {
  const { terminal, stateDir, clock } = context;
  const { receipts, rateLimit, sources, folders, mirror, mover, createRun, options } = request;
  return {
    library: await context.library(),
    ...{ options, identity: request.identity, files: sources.files(), createRun },
    store: await context.state.uploads(),
    follow: { ...request.label, writer: () => context.writer() },
    ...{ receipts, folders, mirror, mover },
    onDecideNotice: (notice) => reportDecideNotice(context, notice),
    throttle: rateLimit === undefined ? undefined : new Throttle(clock, rateLimit),
    stdin: {
      spool: new Spool(stateDir),
      open: () => {
        if (terminal.stdin.isTTY)
          throw usageError('stdin is a terminal, not a file', 'mediactl upload - --name NAME < FILE');
        return terminal.stdin;
      },
    },
    profile: (await context.account()).profile,
    onEvent: (event) => progress.show(withHint(event, context.terminal.redactor.profile)),
    openSource: sources.open,
    onPlan: async (plan, isComplete) => {
      if (!request.isEndless) await printPlan(context, request, plan, { progress, isComplete });
    },
    confirmNewAsset: async (refusal, assetUids) => {
      if (context.settings.yes) return;
      if (!terminal.isInteractive || request.isEndless) throw refusal;
      const { reason } = refusal.explanation;
      progress.close();
      if (reason) terminal.emit(reason);
      const question = `${refusal.message}. Create a new asset?`;
      await confirm(terminal, question, { yes: false, instead: '' }).catch((error) => {
        const details = { asset_uids: assetUids };
        throw error instanceof CodedError ? error.with({ reason, details }) : error;
      });
    },
  };
}

/** Stores the last uploaded asset as `@last`, at most once a second, and at the end of the run. */
function createLastUploadSaver(context: Context) {
  const { clock, terminal } = context;
  let last: string | undefined;
  let savedAt = Number.NEGATIVE_INFINITY;
  const save = async () => {
    const uid = last;
    if (uid === undefined) return;
    last = undefined;
    savedAt = clock.now();
    await saveLastUpload(context, uid);
  };
  return {
    onUploaded: async (uid: string) => {
      last = uid;
      if (clock.now() - savedAt >= lastUploadIntervalMs) await save();
    },
    save: () => save().catch((error) => terminal.warn(`cannot save @last: ${error.message}`)),
  };
}

function runSignal({ clock, signal }: Context, stopAt: RunRequest['stopAt'], finished: AbortSignal): AbortSignal {
  const controller = new AbortController();
  if (stopAt) {
    const reason = plannedStop(`stopped ${stopAt.typed.includes(':') ? 'at' : 'after'} ${stopAt.typed}`);
    clock.sleep(Math.max(0, stopAt.time - clock.now()), finished).then(
      () => controller.abort(reason),
      () => {}, // the run finished first
    );
  }
  const either = stopAt ? AbortSignal.any([signal, controller.signal]) : signal;
  setMaxListeners(0, either); // each concurrent upload slot listens
  return either;
}

async function printPlan(
  context: Context,
  { options, rateLimit, sources, singleFileOption, isFlat, confirmFolders, createRun, onComplete }: RunRequest,
  plan: Plan,
  { progress, isComplete }: { progress: ProgressDisplay; isComplete: boolean },
): Promise<void> {
  const { terminal } = context;
  const { files, bytes } = totalToAttempt(plan);
  assertHasFiles(plan, sources, singleFileOption);
  await confirmFolders?.();
  if (options.timeoutMs !== undefined || files > 0)
    progress.show({
      event: 'planned',
      files_total: files,
      bytes_total: bytes,
      files_skipped: countFiles(plan) - files,
    });
  if (!isComplete) return;
  for (const kind of sources.skipped()) terminal.warn(`skipped: ${kind}`);
  if (!onComplete) warnOfUnusedFilters(context, sources);
  // Before an upload that can take hours. The error at its end names them again.
  for (const path of sources.emptySources?.() ?? []) terminal.warn(`${escapeControls(path)}: no files found`);
  if (sources.otherShardFiles)
    terminal.info(`${pluralize(sources.otherShardFiles, 'file')} skipped: not in this shard`);
  if (plan.nested > 0 && isFlat)
    terminal.warn(
      `uploading ${pluralize(plan.nested, 'file')} from subdirectories to a single folder; --create-folders mirrors the directory tree`,
    );
  // Not with a queue, because the workers send the requests.
  const isBig = countFiles(plan) >= minFilesForPlan && files > 0 && !createRun;
  if (isBig && !progress.hidesSummary) {
    const { formatPlan } = await import('./plan-view.ts');
    const { transport } = await context.api();
    terminal.info(formatPlan(plan, transport.connection.rateLimit, context.clock.now()));
  }
  if (rateLimit !== undefined && exceedsSessionLifetime(plan.largestBytes, rateLimit)) terminal.warn(slowUploadWarning);
}

/** @throws CodedError `usage` (exit 2) if there are no files, or several for an option that accepts only one */
export function assertHasFiles(
  plan: Plan,
  { failures, skipped, unusedFilters, otherShardFiles = 0, mayBeEmpty = false }: RunRequest['sources'],
  singleFileOption: string | undefined,
): void {
  const total = countFiles(plan);
  if (singleFileOption && total > 1)
    throw usageError(`${singleFileOption} works with a single file, but there are ${total}`);
  if (total === 0 && failures.length === 0 && otherShardFiles === 0 && !mayBeEmpty)
    throw usageError(
      'no files found',
      'check the paths',
      [...skipped(), ...(unusedFilters?.() ?? [])].join(', ') || undefined,
    );
}
