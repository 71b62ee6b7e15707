import { setMaxListeners } from 'node:events';
import { CodedError, usageError } from '../../client/errors.ts';
import { countFiles, type Plan, totalToSend } from '../../client/upload/batch/plan.ts';
import { type RunFiles, startUploads } from '../../client/upload/batch/start-uploads.ts';
import type { PlanPorts, UploadPorts } from '../../client/upload/batch/upload-ports.ts';
import type { DecideNotice } from '../../client/upload/decide/decision.ts';
import type { UploadSettings } from '../../client/upload/decide/upload-settings.ts';
import type { FileEvent, RunEvent } from '../../client/upload/session/events.ts';
import {
  createOutcome,
  type FileOutcome,
  leftOutOutcome,
  plannedStop,
} from '../../client/upload/session/file-outcome.ts';
import type { FileChooser } from '../../client/upload/sources/file-chooser.ts';
import { Spool } from '../../client/upload/sources/spool.ts';
import { fileAt } from '../../client/upload/sources/upload-file.ts';
import { pluralize } from '../../shared/figures.ts';
import { escapeControls } from '../../shared/sanitize.ts';
import type { Context } from '../context.ts';
import { withHint } from '../error-hints.ts';
import { createProgress, type ProgressDisplay } from '../progress/progress.ts';
import { confirm } from '../terminal/prompt.ts';
import { formatPlan, reportDecideNotice, warnOfSlowUpload } from './plan-view.ts';
import { presentRun } from './run-view.ts';
import type { UploadSources } from './sources.ts';
import type { RunRequest } from './upload-options.ts';
import { saveLastUpload } from './upload-record.ts';

/** The run of a command before it starts: its files, what they are decided by, and what is done before and after them. */
export type PreparedRun = {
  sources: UploadSources;
  ports: PlanPorts;
  createRun?: RunFiles['createRun'];
  /** Inputs that identify the run when the command is repeated (see `markIdOf`). */
  identity: readonly string[];
  /** True if all files go to one folder, regardless of their directories. */
  isFlat: boolean;
  /** Asks whether to create missing folders. Called when all files are known, before the first upload. */
  confirmFolders?: (() => Promise<void>) | undefined;
  /** Called with the id of the newest receipt at the start of the run, after all files were uploaded. Returns an error to end with. */
  onComplete?: (startMark: number) => Promise<CodedError | undefined>;
  /** Returns the suggested next step. The default suggestion is to wait for the assets. */
  nextStep?: (isOne: boolean) => string;
};

/** Minimum number of files for which a run prints its plan first. */
const minFilesForPlan = 20;
const lastUploadIntervalMs = 1_000;

export async function runUploads(context: Context, request: RunRequest, prepared: PreparedRun) {
  const { progress: mode, verbose, resultsFile } = request;
  const { timeoutMs } = request.settings;
  const { sources, onComplete } = prepared;
  const { transport } = await context.api();
  const progress = await createProgress(context, mode, { budget: () => transport.connection.rateLimiter.budget });
  const { run, close } = await startRun(context, request, prepared, progress);
  return presentRun(context, run.outcomes, {
    result: () => run.result,
    progress,
    verbose,
    resultsFile,
    waitsForReady: timeoutMs !== undefined,
    // A function, because a directory is read during the run.
    unsent: () => unsentFiles(sources.chooser),
    emptySources: () => emptySourcesOf(sources),
    nextStep: (isOne) => (timeoutMs === undefined ? (prepared.nextStep ?? defaultNextStep)(isOne) : undefined),
    close,
    onEnd: async (isWhole, isIncomplete) => {
      let failure: CodedError | undefined;
      try {
        if (isWhole && !isIncomplete) failure = await onComplete?.(run.startMark);
        else if (onComplete)
          context.terminal.warn('nothing was moved to the trash, because some files are not uploaded yet');
      } finally {
        if (onComplete) warnOfUnusedFilters(context, sources);
      }
      // Not reached if the prune was refused, so that a repeated run keeps its start mark, and the
      // files that this run uploaded still do not count as existing.
      if (isWhole) await run.forget();
      if (failure) throw failure;
    },
  });
}

/** Starts a run. Its result is shown by the caller, who calls `close` after the last outcome. */
export async function startRun(
  context: Context,
  { settings }: RunRequest,
  prepared: PreparedRun,
  progress: ProgressDisplay,
) {
  const { transport } = await context.api();
  transport.connection.rateLimiter.reserve = settings.reserveRequests;
  const finished = new AbortController();
  const lastUpload = createLastUploadSaver(context);
  const ports: UploadPorts = {
    ...prepared.ports,
    ...(await createPorts(context, progress)),
    signal: runSignal(context, settings.stopAt, finished.signal),
    onPlan: (plan, isComplete) => printPlan(context, settings, prepared, plan, { progress, isComplete }),
    onUploaded: lastUpload.onUploaded,
  };
  const { identity, createRun, sources } = prepared;
  const run = await startUploads(settings, ports, { files: sources.files(), identity, createRun });
  const close = async () => {
    finished.abort();
    await sources.close();
    await lastUpload.save();
  };
  return { run, close };
}

/** Returns the outcomes of files that are no part of a run: those that cannot be read, and those that are left out. */
function unsentFiles({ failures, leftOut }: FileChooser): FileOutcome[] {
  return [...failures.map(({ path, error }) => createOutcome(fileAt(path), { error })), ...leftOut.map(leftOutOutcome)];
}

export const emptySourcesOf = ({ chooser, inputs }: UploadSources): string[] => chooser.emptySources(inputs);

/** Names the filters without effect: with --prune, once the missing files are known, too. */
export function warnOfUnusedFilters({ terminal }: Context, { chooser }: UploadSources): void {
  for (const unused of chooser.unusedFilters) terminal.warn(unused);
}

const defaultNextStep = (isOne: boolean) =>
  isOne
    ? 'the asset is processing; next: mediactl wait @last, then mediactl play @last'
    : 'the assets are processing; to wait until they are ready: mediactl wait';

export async function decidePorts(context: Context, { open }: UploadSources) {
  const library = await context.library();
  return {
    ...{ api: library.api, comparison: { library }, openSource: open, signal: context.signal },
    onDecideNotice: (notice: DecideNotice) => reportDecideNotice(context, notice),
  };
}

async function createPorts(context: Context, progress: ProgressDisplay) {
  const { terminal, stateDir } = context;
  return {
    store: await context.state.uploads(),
    stdin: {
      spool: new Spool(stateDir),
      open: () => {
        if (terminal.stdin.isTTY)
          throw usageError('stdin is a terminal, not a file', 'mediactl upload - --name NAME < FILE');
        return terminal.stdin;
      },
    },
    profile: (await context.account()).profile,
    onEvent: (event: FileEvent | RunEvent) => progress.show(withHint(event, context.terminal.redactor.profile)),
    confirmNewAsset: async (refusal: CodedError, assetUids: readonly string[]) => {
      if (context.settings.yes) return;
      if (!terminal.isInteractive) throw refusal;
      const { reason } = refusal.explanation;
      progress.close();
      if (reason) terminal.emit(reason);
      const question = `${refusal.message}. Create a new asset?`;
      await confirm(context, question).catch((error) => {
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

function runSignal({ clock, signal }: Context, stopAt: UploadSettings['stopAt'], finished: AbortSignal): AbortSignal {
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
  settings: UploadSettings,
  { sources, isFlat, confirmFolders, createRun, onComplete }: PreparedRun,
  plan: Plan,
  { progress, isComplete }: { progress: ProgressDisplay; isComplete: boolean },
): Promise<void> {
  const { terminal } = context;
  const { files, bytes } = totalToSend(plan);
  assertHasFiles(plan, sources, settings);
  await confirmFolders?.();
  if (settings.timeoutMs !== undefined || files > 0)
    progress.show({
      event: 'planned',
      files_total: files,
      bytes_total: bytes,
      files_skipped: countFiles(plan) - files,
    });
  if (!isComplete) return;
  for (const warning of sources.chooser.warnings) terminal.warn(warning);
  if (!onComplete) warnOfUnusedFilters(context, sources);
  // Before an upload that can take hours. The error at its end names them again.
  for (const path of emptySourcesOf(sources)) terminal.warn(`${escapeControls(path)}: no files found`);
  const { otherShardFiles } = sources.chooser;
  if (otherShardFiles > 0) terminal.info(`${pluralize(otherShardFiles, 'file')} skipped: not in this shard`);
  if (plan.nested > 0 && isFlat)
    terminal.warn(
      `uploading ${pluralize(plan.nested, 'file')} from subdirectories to a single folder; --create-folders mirrors the directory tree`,
    );
  // Not with a queue, because the workers send the requests.
  const isBig = countFiles(plan) >= minFilesForPlan && files > 0 && !createRun;
  if (isBig && !progress.hidesSummary) {
    const { transport } = await context.api();
    terminal.info(formatPlan(plan, transport.connection.rateLimit, context.clock.now()));
  }
  warnOfSlowUpload(context, plan, settings);
}

/** @throws CodedError `usage` (exit 2) if there are no files, or several with one name */
export function assertHasFiles(plan: Plan, { chooser }: UploadSources, { about }: UploadSettings): void {
  const total = countFiles(plan);
  if (about.name !== undefined && total > 1)
    throw usageError(`--name works with a single file, but there are ${total}`);
  if (total > 0 || chooser.mayBeEmpty || chooser.failures.length + chooser.otherShardFiles > 0) return;
  const reason = [...chooser.warnings, ...chooser.unusedFilters].join(', ') || undefined;
  throw usageError('no files found', 'check the paths', reason);
}
