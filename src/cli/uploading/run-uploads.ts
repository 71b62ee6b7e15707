import { createHash } from 'node:crypto';
import { setMaxListeners } from 'node:events';
import { resolve } from 'node:path';
import { MediactlError, usageError } from '../../client/errors.ts';
import { type Plan, toSend } from '../../client/upload/batch/plan.ts';
import {
  type ManyTools,
  type Run,
  type RunOptions,
  UploadMany,
} from '../../client/upload/batch/run.ts';
import type { FileOutcome } from '../../client/upload/session/outcome.ts';
import { Throttle } from '../../client/upload/session/throttle.ts';
import { Spool } from '../../client/upload/sources/spool.ts';
import type { Folders } from '../../client/upload/sources/wanted.ts';
import type { Receipts } from '../../client/upload/store/receipts.ts';
import { counted } from '../../contract/figures.ts';
import type { Context } from '../context.ts';
import { keepLastUpload } from '../library/assets.ts';
import { openProgress, type Progress } from '../progress/progress.ts';
import type { ProgressMode } from '../progress/progress-modes.ts';
import { confirm } from '../terminal/prompt.ts';
import { outlivesSession, planLine } from './plan-view.ts';
import { filesOf, present } from './present.ts';
import { isRemote } from './remote-sources.ts';
import type { Sources } from './sources.ts';
import { timeIsUp } from './summary.ts';

/** What a run is of, and how it is shown. */
export type RunRequest = {
  sources: Pick<Sources, 'files' | 'failures' | 'passedOver' | 'open' | 'close'> &
    Partial<Pick<Sources, 'elsewhere' | 'named'>>;
  folders: Folders;
  options: RunOptions;
  receipts: Receipts | undefined;
  /** What makes it the same run another time. */
  name: readonly string[];
  progress: ProgressMode;
  /** Bytes per second. */
  rateLimit?: number | undefined;
  /** Requests of a window that are left for people. */
  reserve?: number | undefined;
  /** When to stop, in milliseconds since the epoch, and as it was typed. */
  until?: { time: number; typed: string } | undefined;
  /** Show every file, not only what failed. */
  verbose: boolean;
  /** Where each record goes too, as JSON lines. */
  manifestOut?: string | undefined;
  /** All files go to one folder, whatever directories they are in. */
  isFlat?: boolean;
  /** An option that makes sense for one file alone. */
  isForOne?: string;
  /** Called once every file is done, where none failed. @param before the run's mark among the receipts */
  afterwards?: (before: number) => Promise<void>;
  findMoved?: ManyTools['findMoved'];
  /** What carries the files, where this process does not. */
  carry?: (tools: ManyTools) => Run;
  /** What to do next, where that is not to wait for the assets. */
  next?: (isOne: boolean) => string;
};

/** Runs of so many files say before what they will take. */
const manyFiles = 20;
const lastUploadEveryMs = 1_000;

/** Uploads, and shows what becomes of each file as it happens. */
export async function runUploads(context: Context, request: RunRequest) {
  const { terminal, clock } = context;
  const api = await context.api();
  api.transport.reserve(request.reserve);
  const progress = await openProgress(
    request.progress,
    terminal,
    clock,
    () => api.transport.budget,
  );
  const finished = new AbortController();
  const runId = idOf(api.transport.baseUrl, request);
  const before = (await request.receipts?.runBegins(runId)) ?? 0;
  const tools = await toolsFor(context, request, before, progress, finished.signal);
  const { timeoutMs, workspace } = request.options;
  const run = request.carry?.(tools) ?? new UploadMany(request.options, tools);
  return present(context, run, {
    ...{ progress, verbose: request.verbose, manifestOut: request.manifestOut },
    isQuiet: ['json', 'none'].includes(request.progress),
    files: request.sources.files(),
    // Those of a walk come while it goes on.
    get failures() {
      return request.sources.failures.map(failed(workspace));
    },
    isWaited: timeoutMs !== undefined,
    next: (isOne) => (timeoutMs === undefined ? (request.next ?? usualNext)(isOne) : undefined),
    close: async () => {
      finished.abort();
      await request.sources.close();
      await tools.keepLast();
    },
    ended: async (isWhole, isIncomplete) => {
      if (isWhole && !isIncomplete) await request.afterwards?.(before);
      else if (request.afterwards)
        terminal.warn('nothing was moved to the trash: not every file is uploaded yet');
      // A prune that was refused keeps its mark: what came tonight does not count as there tomorrow.
      if (isWhole) await request.receipts?.runEnds(runId);
    },
  });
}

const usualNext = (isOne: boolean) =>
  isOne
    ? 'it is being processed: mediactl assets wait @last, then mediactl play @last'
    : 'they are being processed: mediactl uploads wait waits until they are ready';

const failed =
  (workspace: string) =>
  ({ path, error }: { path: string; error: MediactlError }): FileOutcome => ({
    ...{ job: { path, workspace }, path, requests: 0, durationMs: 0, error },
  });

async function toolsFor(
  context: Context,
  request: RunRequest,
  before: number,
  progress: Progress,
  finished: AbortSignal,
): Promise<ManyTools & { keepLast(): Promise<void> }> {
  const { settings, terminal, stateDir, clock } = context;
  const api = await context.api();
  const { receipts, rateLimit, until } = request;
  const { default: mime } = await import('mime/lite');
  const signal = until
    ? AbortSignal.any([context.signal, timeUp(context, until, finished)])
    : context.signal;
  setMaxListeners(0, signal); // every lane listens
  let last: { uid: string; isKept: boolean } | undefined;
  let keptAt = Number.NEGATIVE_INFINITY;
  const keepLast = async () => {
    if (!last || last.isKept) return;
    last.isKept = true;
    keptAt = clock.now();
    await keepLastUpload(context, last.uid);
  };
  return {
    api,
    journal: await context.journal(),
    receipts,
    before,
    throttle: rateLimit === undefined ? undefined : new Throttle(clock, rateLimit),
    spool: new Spool(stateDir, (message) => terminal.warn(message)),
    stdin: () => {
      if (terminal.stdin.isTTY)
        throw usageError('stdin is a terminal, not a file', 'mediactl upload - --name NAME < FILE');
      return terminal.stdin;
    },
    profile: (await context.account()).profile,
    signal,
    onEvent: (event) => progress.show(event),
    openSource: request.sources.open,
    folders: request.folders,
    findMoved: request.findMoved,
    contentType: (path) => mime.getType(path) ?? undefined,
    onPlan: (plan) => sayPlan(context, request, plan, progress),
    onUploaded: async (uid) => {
      last = { uid, isKept: false };
      if (clock.now() - keptAt >= lastUploadEveryMs) await keepLast();
    },
    keepLast: () =>
      keepLast().catch((error) => terminal.warn(`@last is not kept: ${error.message}`)),
    // Of a single file it is looked up at once; the run looks many up together.
    findLost: () => Promise.reject(new Error('the run looks them up')),
    confirmNewAsset: async (refusal, assetUids) => {
      if (settings.yes) return;
      if (!terminal.isInteractive) throw refusal;
      const { reason } = refusal.explanation;
      progress.close();
      if (reason) terminal.tell(reason);
      const question = `${refusal.message}. Make a new one?`;
      await confirm(terminal, question, { yes: false, instead: '' }).catch((error) => {
        const details = { asset_uids: assetUids };
        throw error instanceof MediactlError ? error.with({ reason, details }) : error;
      });
    },
  };
}

function timeUp(
  { clock }: Context,
  { time, typed }: { time: number; typed: string },
  finished: AbortSignal,
): AbortSignal {
  const over = new AbortController();
  clock.sleep(Math.max(0, time - clock.now()), finished).then(
    () => over.abort(timeIsUp(typed)),
    () => {}, // it ended before
  );
  return over.signal;
}

async function sayPlan(
  context: Context,
  { options, rateLimit, progress: mode, sources, isForOne, isFlat, carry }: RunRequest,
  plan: Plan,
  progress: Progress,
): Promise<void> {
  const { terminal } = context;
  assertSomething(plan, sources, isForOne);
  for (const kind of sources.passedOver()) terminal.warn(`left out: ${kind}`);
  if (sources.elsewhere) terminal.say(`${counted(sources.elsewhere, 'file')} left to other shards`);
  const { transport } = await context.api();
  const { files, bytes } = toSend(plan);
  if (plan.nested > 0 && isFlat)
    terminal.warn(
      `${counted(plan.nested, 'file')} of directories below would be in one folder; --create-folders makes folders like those on disk`,
    );
  // Of what others carry, the requests are theirs.
  const isBig = filesOf(plan) >= manyFiles && files > 0 && !carry;
  if (isBig && !['json', 'none'].includes(mode))
    terminal.say(planLine(plan, transport.rateLimit, context.clock.now()));
  if (outlivesSession(plan.largestBytes, rateLimit))
    terminal.warn('some files take more than the 24 hours of an upload session at --limit-rate');
  if (options.timeoutMs !== undefined || files > 0)
    progress.show({ event: 'planned', files, bytes, there: plan.there.files });
}

/** @throws MediactlError exit 2 */
export function assertSomething(
  plan: Plan,
  { failures, passedOver, elsewhere = 0 }: RunRequest['sources'],
  isForOne: string | undefined,
  same = 0,
): void {
  const total = filesOf(plan) + same;
  if (isForOne && total > 1)
    throw usageError(`${isForOne} is for one file, and there are ${total}`);
  if (total === 0 && failures.length === 0 && elsewhere === 0)
    throw usageError('no files found', 'check the paths', passedOver().join(', ') || undefined);
}

/** What one command names is one run, however often it is begun. */
export const idOf = (baseUrl: URL, { name, options }: RunRequest) =>
  createHash('sha256')
    .update(JSON.stringify([baseUrl.origin, options.workspace, name]))
    .digest('hex');

/** Names of a run as they are anywhere: relative paths from where they were typed. */
export const absolute = (cwd: string, names: readonly string[]) =>
  names.map((name) => (name === '-' || isRemote(name) ? name : resolve(cwd, name)));
