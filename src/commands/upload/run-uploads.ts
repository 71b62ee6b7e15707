import { createHash } from 'node:crypto';
import { setMaxListeners } from 'node:events';
import { resolve } from 'node:path';
import type { Context } from '../../context.ts';
import { MediactlError, usageError } from '../../errors.ts';
import { keepLastUpload } from '../../library/assets.ts';
import { counted } from '../../terminal/figures.ts';
import { openProgress, type Progress } from '../../terminal/progress.ts';
import type { ProgressMode } from '../../terminal/progress-modes.ts';
import { confirm } from '../../terminal/prompt.ts';
import type { ListResult } from '../../terminal/result.ts';
import type { FileOutcome } from '../../upload/outcome.ts';
import { type Plan, toSend } from '../../upload/plan.ts';
import type { Receipts } from '../../upload/receipts.ts';
import { type ManyTools, type RunOptions, UploadMany } from '../../upload/run.ts';
import { Spool } from '../../upload/spool.ts';
import { Throttle } from '../../upload/throttle.ts';
import type { Folders } from '../../upload/wanted.ts';
import { ManifestOut } from './manifest-out.ts';
import { outlivesSession, planLine } from './plan-view.ts';
import { recordOf, type UploadRecord, uploadColumns } from './record.ts';
import { isRemote } from './remote-sources.ts';
import type { Sources } from './sources.ts';
import { Summary, timeIsUp } from './summary.ts';

/** What a run is of, and how it is shown. */
export type RunRequest = {
  sources: Pick<Sources, 'files' | 'failures' | 'passedOver' | 'open' | 'close'> &
    Partial<Pick<Sources, 'elsewhere'>>;
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
  /** Called once every file is done, where none failed. */
  afterwards?: () => Promise<void>;
};

/** So few files are all shown to a person. */
const fewFiles = 10;
/** Runs of so many files say before what they will take. */
const manyFiles = 20;
const lastUploadEveryMs = 1_000;

/** Uploads, and shows what becomes of each file as it happens. */
export async function runUploads(context: Context, request: RunRequest) {
  const { terminal, clock, settings } = context;
  const api = await context.api();
  api.transport.reserve(request.reserve);
  const progress = await openProgress(
    request.progress,
    terminal,
    clock,
    () => api.transport.budget,
  );
  const finished = new AbortController();
  const summary = new Summary(clock.now());
  const runId = idOf(api.transport.baseUrl, request);
  const before = request.receipts?.runBegins(runId) ?? 0;
  const tools = await toolsFor(context, request, before, progress, finished.signal);
  const run = new UploadMany(request.options, tools);
  const manifest = new ManifestOut(request.manifestOut);
  const isPerson = settings.shape.format === 'human';
  let isOne = false;
  const isMany = () =>
    !terminal.stdout.isTTY || request.verbose || filesOf(run.end.plan) > fewFiles;
  const few: UploadRecord[] = [];
  /** A few files are all shown, of many those that failed; a single failure says it all by itself. */
  const forPeople = (records: UploadRecord[]) => {
    if (!terminal.stdout.isTTY || request.verbose)
      return records.filter(({ error }) => !(isOne && error));
    const ended = records.filter(({ error }) => !error);
    if (few.length <= fewFiles) few.push(...ended.slice(0, fewFiles + 1));
    const isFailed = ({ error, outcome }: UploadRecord) => error !== null && outcome !== 'left';
    return isOne ? [] : records.filter(isFailed);
  };
  const pages = async function* (): AsyncGenerator<UploadRecord[]> {
    const outcomes = run.outcomes(request.sources.files());
    const next = async (): Promise<UploadRecord[] | undefined> => {
      const { value: some, done } = await outcomes.next();
      if (done) return undefined;
      isOne = filesOf(run.end.plan) + request.sources.failures.length === 1;
      for (const outcome of some) summary.count(outcome);
      const records = some.map((outcome) => recordOf(context, outcome));
      await manifest.write(records);
      return records;
    };
    try {
      for (let records = await next(); records; records = await next())
        yield isPerson ? forPeople(records) : records;
      const failures = request.sources.failures.map(failed(request.options.workspace));
      for (const failure of failures) summary.count(failure);
      if (!isMany()) yield few;
      yield failures.map((failure) => recordOf(context, failure));
    } finally {
      // Whoever read this may have left: the work goes on, and is counted.
      while (await next().catch(() => undefined)); // what ended it is on its way already
      finished.abort();
      progress.close();
      await manifest.close();
      await request.sources.close();
      await tools.keepLast();
    }
    const { stop, left } = run.end;
    const isWhole = !stop && left === 0 && !context.signal.aborted;
    const isQuiet = ['json', 'none'].includes(request.progress);
    const isWaited = request.options.timeoutMs !== undefined;
    const said = isOne ? summary.skipped : summary.line(clock.now(), left, isWaited);
    if (said && !isQuiet) terminal.say(said);
    if (!isQuiet && !isWaited && summary.hasUploaded)
      terminal.say(
        isOne
          ? 'it is being processed: mediactl assets wait @last, then mediactl play @last'
          : 'they are being processed: mediactl uploads wait waits until they are ready',
      );
    if (isWhole) request.receipts?.runEnds(runId);
    if (isWhole && !summary.hasFailures) await request.afterwards?.();
    else if (request.afterwards)
      terminal.warn('nothing was moved to the trash: not every file is there');
  };
  const result: ListResult = {
    kind: 'list',
    pages: pages(),
    columns: uploadColumns,
    id: ({ asset_uid }: UploadRecord) => asset_uid ?? '',
    empty: '',
    isLive: true,
  };
  const failure = () => {
    const { signal } = context;
    const failed = summary.failure(isOne, run.end) ?? manifest.failure;
    return failed ?? (signal.aborted ? (signal.reason as MediactlError) : undefined);
  };
  return { result, failure };
}

const filesOf = (plan: Plan) => plan.there.files + toSend(plan).files;

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
    spool: new Spool(stateDir),
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
  { options, rateLimit, reserve, progress: mode, sources, isForOne, isFlat }: RunRequest,
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
  const isBig = filesOf(plan) >= manyFiles && files > 0;
  const { limit } = transport.rateLimit ?? {};
  if (limit !== undefined && reserve !== undefined && reserve >= limit)
    throw usageError(
      `--reserve ${reserve} leaves nothing of the ${limit} requests of a window`,
      'a smaller --reserve',
    );
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
): void {
  const total = filesOf(plan);
  if (isForOne && total > 1)
    throw usageError(`${isForOne} is for one file, and there are ${total}`);
  if (total === 0 && failures.length === 0 && elsewhere === 0)
    throw usageError('no files found', 'check the paths', passedOver().join(', ') || undefined);
}

/** What one command names is one run, however often it is begun. */
const idOf = (baseUrl: URL, { name, options }: RunRequest) =>
  createHash('sha256')
    .update(JSON.stringify([baseUrl.origin, options.workspace, name]))
    .digest('hex');

/** Names of a run as they are anywhere: relative paths from where they were typed. */
export const absolute = (cwd: string, names: readonly string[]) =>
  names.map((name) => (name === '-' || isRemote(name) ? name : resolve(cwd, name)));
