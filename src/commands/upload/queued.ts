import { Argument, type Command, Option } from '@commander-js/extra-typings';
import type { Context } from '../../context.ts';
import {
  asMediactlError,
  type ErrorRecord,
  exitCodes,
  failureAmong,
  MediactlError,
  usageError,
} from '../../errors.ts';
import type { Fleet, UploadJobOfQueue } from '../../fleet/fleet.ts';
import { retry as retryOne } from '../../fleet/queue-run.ts';
import { failureIn, pathOf } from '../../fleet/results.ts';
import { WatchRun } from '../../fleet/watch-run.ts';
import { bytes, counted } from '../../terminal/figures.ts';
import { printable } from '../../terminal/printable.ts';
import { openProgress } from '../../terminal/progress.ts';
import { progressModes } from '../../terminal/progress-modes.ts';
import { confirm } from '../../terminal/prompt.ts';
import { type Column, type ListResult, listBy } from '../../terminal/result.ts';
import { fieldsIn, listIn, textIn } from '../../wire/reading.ts';
import { example, type Run, suggesting } from '../command.ts';
import { progressFor } from '../progress.ts';
import { queueFlag, queueOf } from '../queue.ts';
import { present } from './present.ts';

/** One file of a queue, as `uploads ls --queue` prints it. */
export type QueuedUpload = {
  id: string;
  path: string;
  state: 'waiting' | 'uploading' | 'retrying' | 'failed' | 'uploaded';
  size_bytes: number | null;
  /** Bytes on their way or there, as far as its worker has told. */
  offset_bytes: number | null;
  worker: string | null;
  /** How often a worker has begun it, and how often one died at it or lost the queue. */
  attempts: number;
  stalls: number;
  asset_uid: string | null;
  session_uid: string | null;
  name: string | null;
  bytes_sent: number | null;
  resumed_from: number | null;
  requests: number | null;
  duration_ms: number | null;
  blake3: string | null;
  verified: boolean | null;
  /** Assets of lost creations, deleted by their mark. */
  removed: string[];
  base_url: string | null;
  queued_at: string;
  begun_at: string | null;
  done_at: string | null;
  /** Why it failed; or why it waits. */
  error: ErrorRecord | null;
};

const pageSize = 200;
/** In the order in which somebody wants to see them. */
const unfinishedStates = ['failed', 'active', 'delayed', 'prioritized', 'waiting'] as const;
type EngineState = (typeof unfinishedStates)[number] | 'completed';

const words: Record<EngineState, QueuedUpload['state']> = {
  ...{ active: 'uploading', waiting: 'waiting', prioritized: 'waiting', delayed: 'retrying' },
  ...{ failed: 'failed', completed: 'uploaded' },
};

const isoOrNull = (time: unknown) =>
  Number.isSafeInteger(time) && (time as number) > 0 && (time as number) < 8.64e15
    ? new Date(time as number).toISOString()
    : null;
const text = (value: unknown) => textIn(value) ?? null;
const count = (value: unknown) => (Number.isSafeInteger(value) ? (value as number) : null);

/** Whoever reaches the store may have written any of it. */
function queuedUpload(job: UploadJobOfQueue, state: EngineState): QueuedUpload {
  const data = fieldsIn(job.data);
  const result = fieldsIn(job.returnvalue);
  const told = fieldsIn(job.progress);
  const isWhole = state === 'completed';
  const reason =
    state === 'failed' || state === 'delayed'
      ? (textIn(job.failedReason) ?? '')
      : isWhole || !told.error
        ? undefined
        : JSON.stringify(told.error);
  const size = count(data.sizeBytes);
  return {
    id: job.id as string,
    path: pathOf(job),
    state: words[state],
    size_bytes: size,
    offset_bytes: isWhole ? size : (count(told.offset) ?? 0),
    worker: text(result.worker) ?? text(workerOf(job, state, told)),
    attempts: count(job.attemptsStarted) ?? 0,
    stalls: count(job.stalledCounter) ?? 0,
    asset_uid: text(result.asset_uid),
    session_uid: text(result.session_uid),
    name: text(result.name),
    bytes_sent: count(result.bytes_sent),
    resumed_from: count(result.resumed_from),
    requests: count(result.requests),
    duration_ms: count(result.duration_ms),
    blake3: text(result.blake3),
    verified: typeof result.verified === 'boolean' ? result.verified : null,
    removed: listIn(result.removed).filter((uid) => typeof uid === 'string'),
    base_url: text(data.service),
    queued_at: isoOrNull(job.timestamp) ?? new Date(0).toISOString(),
    begun_at: isoOrNull(job.processedOn),
    done_at: isoOrNull(job.finishedOn),
    error: reason === undefined ? null : failureIn(reason).toJSON(),
  };
}

/** Who has it in hand, or failed at it; of what waits, nobody. */
const workerOf = (
  { processedBy }: UploadJobOfQueue,
  state: EngineState,
  { worker, error }: { worker?: unknown; error?: unknown },
) => (state === 'active' ? (processedBy ?? worker) : error ? worker : undefined);

const result = ({ state, error, verified, stalls }: QueuedUpload) => {
  const said = error ? `${state}: ${printable(error.message)}` : state;
  const check = state === 'uploaded' && !verified ? ', unverified' : '';
  return `${said}${check}${stalls > 0 ? `, lost ${counted(stalls, 'time')}` : ''}`;
};

const columns: Column<QueuedUpload>[] = [
  { header: 'ID', value: ({ id }) => printable(id), whole: true },
  { header: 'PATH', value: ({ path }) => printable(path), leads: true, least: 18 },
  {
    header: 'DONE',
    value: ({ size_bytes, offset_bytes }, { isTerminal }) => {
      if (size_bytes === null || offset_bytes === null) return '';
      return isTerminal
        ? `${bytes(offset_bytes)} of ${bytes(size_bytes)}`
        : `${offset_bytes}/${size_bytes}`;
    },
    spare: 1,
  },
  { header: 'WORKER', value: ({ worker }) => printable(worker ?? ''), spare: 2 },
  { header: 'STATE', value: result, least: 18 },
];

/** `uploads ls --queue`: what is not done yet; with --done what is. */
export async function queuedUploads(
  context: Context,
  typed: string | boolean,
  done: boolean | undefined,
): Promise<ListResult> {
  const fleet = await openQueue(context, typed);
  await sayState(context, fleet);
  const states: readonly EngineState[] = done ? ['completed'] : unfinishedStates;
  const pages = async function* (): AsyncGenerator<QueuedUpload[]> {
    for (const state of states)
      for await (const jobs of jobsIn(fleet, state))
        yield jobs.map((job) => queuedUpload(job, state));
  };
  return {
    ...{ kind: 'list', pages: pages(), columns },
    id: ({ id }: QueuedUpload) => id,
    empty: done ? 'nothing uploaded yet' : 'nothing is queued',
  };
}

const openQueue = (context: Context, typed: string | boolean | undefined): Promise<Fleet> =>
  context.fleet(queueOf(context, typed).address);

/** In the order of their queueing; those of a state that move meanwhile may be passed over. */
async function* jobsIn({ queue }: Fleet, state: EngineState): AsyncGenerator<UploadJobOfQueue[]> {
  for (let at = 0; ; at += pageSize) {
    const page = (size: number, from: number) =>
      queue.getJobs([state], from, from + size - 1, true);
    const jobs = await page(pageSize, at).catch(async (error) => {
      // One that is no JSON keeps all of its page from being read: then one by one.
      const counts = await queue.getJobCounts(state);
      const left = Math.min(pageSize, (counts[state] ?? 0) - at);
      if (!(error instanceof SyntaxError) || left <= 0) throw error;
      const each = Array.from({ length: left }, (_, n) => page(1, at + n).catch(() => []));
      return (await Promise.all(each)).map(([job]) => job);
    });
    yield jobs.filter((job) => job) as UploadJobOfQueue[];
    if (jobs.length < pageSize) return;
  }
}

/** What somebody should know who waits for a queue. @param willBe something will be in it */
export async function sayState(
  { terminal }: Context,
  { queue }: Fleet,
  willBe = false,
): Promise<void> {
  if (await queue.isPaused())
    terminal.warn('the queue is paused: mediactl uploads retry --all ends that');
  const counts = await queue.getJobCounts('waiting', 'active', 'delayed', 'prioritized');
  const unfinished = Object.values(counts).reduce((sum, count) => sum + count, 0);
  // Some managed stores do not tell who is connected.
  const workers = await queue.getWorkers().catch(() => undefined);
  if (workers?.length === 0 && (willBe || unfinished > 0))
    terminal.warn('no worker is connected: mediactl worker, on any machine that reaches the files');
}

export function watch(command: Command, run: Run): void {
  example(command, 'mediactl uploads watch --queue redis://queue.lan');
  command
    .summary('watch a queue until nothing is left in it')
    .description(
      'Shows the uploads of a queue while workers carry them out, until nothing is left; what is queued meanwhile too.',
    )
    .option(queueFlag, 'queue to watch; else MEDIACTL_QUEUE')
    .option('-v, --verbose', 'show what became of every file, not only of those that failed')
    .addOption(
      new Option('--progress <form>', 'what to show')
        .choices(progressModes)
        .default('auto' as const),
    )
    .action(
      run(async (context, { queue, verbose = false, progress: asked }) => {
        const { terminal, clock, signal } = context;
        const fleet = await openQueue(context, queue);
        await sayState(context, fleet);
        const mode = progressFor(context, asked);
        const progress = await openProgress(mode, terminal, clock, () => undefined);
        const watching = new WatchRun(fleet, {
          ...{ clock, signal },
          onEvent: (event) => progress.show(event),
          onPlanned: (planned) => progress.show(planned),
        });
        return present(context, watching, {
          ...{ progress, verbose, files: [], failures: [], isWaited: false },
          nothing: 'nothing is queued',
          isQuiet: ['json', 'none'].includes(mode),
          close: async () => {},
        });
      }),
    );
}

export function retry(command: Command, run: Run): void {
  example(
    command,
    'mediactl uploads retry --all',
    'mediactl uploads retry u3f2a9c1d5e6b7a8 --queue redis://queue.lan',
  );
  command
    .summary('try failed uploads of a queue again')
    .description(
      'Puts failed uploads back into the queue, and ends the pause of one whose credits or storage were used up.',
    )
    .addArgument(
      suggesting(new Argument('[id...]', 'its id, the beginning of it, or its path'), []),
    )
    .option(queueFlag, 'queue that they are in; else MEDIACTL_QUEUE')
    .option('--all', 'every failed upload')
    .action(
      run(async (context, typed, { queue, all }) => {
        const { address, given: ids } = queueOf(context, queue, typed);
        assertWhich(ids, all);
        const fleet = await context.fleet(address);
        const chosen = all ? await idsIn(fleet, ['failed']) : await meant(fleet, ids, ['failed']);
        if (context.isDryRun(`retry ${counted(chosen.length, 'upload')}`))
          return listBy(() => '', [], columns, '');
        return changed(
          context,
          chosen,
          'retried',
          async (id) => {
            const job = await jobOf(fleet, id);
            if (!(await retryOne(fleet, id)))
              throw new MediactlError('it has not failed', {
                code: 'not_failed',
                exitCode: exitCodes.rejected,
              });
            return queuedUpload(job, 'waiting');
          },
          async () => {
            if (await fleet.queue.isPaused()) {
              await fleet.queue.resume();
              context.terminal.say('the queue continues');
            }
          },
        );
      }),
    );
}

/** `uploads forget --queue`: takes files out of the queue. Their assets stay as they are. */
export async function forgetQueued(
  context: Context,
  typed: string | boolean,
  given: readonly string[],
  {
    all,
    expired,
    done,
  }: { all?: boolean | undefined; expired?: boolean | undefined; done?: boolean | undefined },
) {
  const { address, given: ids } = queueOf(context, typed, given);
  if (expired) throw usageError('--expired is of the uploads of this machine');
  assertWhich(ids, all || done);
  if (all && done) throw usageError('which uploads?', '--all, or --done');
  const fleet = await context.fleet(address);
  const chosen = done
    ? await idsIn(fleet, ['completed'])
    : all
      ? await idsIn(fleet, unfinishedStates)
      : await meant(fleet, ids, [...unfinishedStates, 'completed']);
  if (context.isDryRun(`forget ${counted(chosen.length, 'upload')}`))
    return listBy(() => '', [], columns, '');
  if (chosen.length > 0)
    await confirm(
      context.terminal,
      `${counted(chosen.length, 'upload')}: what is not finished stays so, what is may be sent again. Forget ${chosen.length === 1 ? 'it' : 'them'}?`,
      { yes: context.settings.yes, instead: 'the same command with --yes' },
    );
  return changed(context, chosen, 'forgotten', async (id) => {
    const [receipt] = await fleet.store.receipts([id]);
    const job = await jobOf(fleet, id).catch((error) => {
      if (receipt === undefined) throw error;
      return undefined; // taken out by other means; what it came to is kept still
    });
    if (!job) {
      await fleet.store.forget([id]);
      return undefined;
    }
    const row = queuedUpload(job, 'waiting');
    const state = await job.getState();
    if (state === 'active')
      throw new MediactlError('a worker has it in hand', {
        code: 'already_uploading',
        exitCode: exitCodes.rejected,
        hint: 'stop that worker, then forget it',
        retryable: true,
      });
    await job.remove();
    await fleet.store.forget([id]);
    return { ...row, state: words[state as EngineState] ?? 'waiting' };
  });
}

function assertWhich(ids: readonly string[], all: boolean | undefined): void {
  if (ids.length > 0 === Boolean(all))
    throw usageError('which upload?', 'an id from mediactl uploads ls --queue, or --all');
}

async function idsIn(fleet: Fleet, states: readonly EngineState[]): Promise<string[]> {
  const ids: string[] = [];
  for (const state of states)
    for await (const jobs of jobsIn(fleet, state)) ids.push(...jobs.map(({ id }) => id as string));
  return ids;
}

/** The ids of what was typed: an id, the beginning of one, or a path. */
async function meant(
  fleet: Fleet,
  typed: readonly string[],
  states: readonly EngineState[],
): Promise<string[]> {
  const unknown = new Set<string>();
  for (const word of typed) if (!(await fleet.queue.getJob(word))) unknown.add(word);
  if (unknown.size === 0) return [...typed];
  const found = new Map<string, string[]>();
  for (const state of states)
    for await (const jobs of jobsIn(fleet, state))
      for (const job of jobs)
        for (const word of unknown)
          if (pathOf(job) === word || (word.length >= 6 && job.id?.startsWith(word)))
            found.set(word, [...(found.get(word) ?? []), job.id as string]);
  return typed.map((word) => {
    const [id = word, other] = found.get(word) ?? [];
    if (other === undefined) return id;
    throw usageError(`several uploads are meant by ${printable(word)}`, 'type more of the id');
  });
}

async function jobOf({ queue }: Fleet, id: string): Promise<UploadJobOfQueue> {
  const job = await queue.getJob(id);
  if (job) return job as UploadJobOfQueue;
  throw new MediactlError(`no upload ${id} is in the queue`, {
    code: 'not_found',
    exitCode: exitCodes.notFound,
    hint: 'mediactl uploads ls --queue',
  });
}

/** Changes each; the others are not kept from it by one that fails. */
async function changed(
  { terminal }: Context,
  ids: readonly string[],
  done: string,
  change: (id: string) => Promise<QueuedUpload | undefined>,
  afterwards: () => Promise<void> = async () => {},
) {
  const rows: QueuedUpload[] = [];
  const failures: MediactlError[] = [];
  for (const id of ids)
    await change(id).then(
      (row) => row && rows.push(row),
      (error) => failures.push(asMediactlError(error).of(id)),
    );
  await afterwards();
  if (rows.length > 0) terminal.say(`${counted(rows.length, 'upload')} ${done}`);
  return {
    result: listBy(({ id }: QueuedUpload) => id, rows, columns, `nothing ${done}`),
    failure: failureAmong(
      ids.length,
      `${failures.length} of ${ids.length} uploads were not ${done}`,
      failures,
    ),
  };
}
