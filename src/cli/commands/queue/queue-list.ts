import { type Command, Option } from '@commander-js/extra-typings';
import { type JobState, listJobs, queueStatus, workerNames } from '../../../client/queue/jobs.ts';
import type { QueueAddress } from '../../../client/queue/queue-address.ts';
import type { QueueClient } from '../../../client/queue/queue-client.ts';
import { WatchRun } from '../../../client/queue/watch-run.ts';
import { type ActionWrapper, addExamples } from '../../command.ts';
import type { Context } from '../../context.ts';
import type { ListResult } from '../../output/result.ts';
import { createProgress, type ProgressMode, progressModes } from '../../progress/progress.ts';
import { presentRun } from '../../uploading/run-view.ts';
import { pausedWarning, queueFlag, resolveQueue } from './queue.ts';
import { type QueuedUpload, queuedColumns, toQueuedUpload } from './queued-upload.ts';

/** States of unfinished jobs, in display order. */
export const unfinishedStates = ['failed', 'active', 'delayed', 'waiting'] as const;

/** Number of uploads of a queue that a table shows by default. */
const tableLimit = 100;

export type QueueListRequest = {
  /** Value of --queue; true if it has none. */
  queue: string | boolean;
  /** True to list the finished uploads instead of the unfinished ones. */
  finished: boolean;
  /** Maximum number of uploads. Default: 100 in a table, all in other formats. */
  limit: number | undefined;
};

/** Lists uploads of a queue (`uploads ls --queue`) as they are read: by state, then by root, oldest first. */
export async function listQueuedUploads(context: Context, request: QueueListRequest): Promise<ListResult> {
  const { queue, finished, limit = context.isHumanOutput ? tableLimit : Number.POSITIVE_INFINITY } = request;
  const client = await context.openQueue(resolveQueue(context, queue).address, 'read');
  await warnOfQueueState(context, client);
  const states: readonly JobState[] = finished ? ['completed'] : unfinishedStates;
  let count = 0;
  let hasMore = false;
  const pages = async function* (): AsyncGenerator<QueuedUpload[]> {
    for (const state of states)
      for await (const jobs of listJobs(client, state)) {
        const rows = jobs.slice(0, limit - count).map((job) => toQueuedUpload(job, state, context.terminal.redactor));
        count += rows.length;
        hasMore = rows.length < jobs.length;
        yield rows;
        if (hasMore) return;
      }
  };
  return {
    kind: 'list',
    pages: pages(),
    columns: queuedColumns,
    id: ({ id }: QueuedUpload) => id,
    empty: finished ? 'nothing uploaded yet' : 'the queue is empty',
    more: () => (hasMore ? `the first ${count} uploads; --limit for more` : undefined),
  };
}

/** Warns if a queue is paused or has no worker. @param newRoots roots of the files that are about to be queued */
export async function warnOfQueueState(
  { terminal }: Context,
  client: QueueClient,
  newRoots?: readonly string[],
): Promise<void> {
  const { isPaused, unfinished, workers, unserved } = await client.withRetry(() => queueStatus(client));
  if (isPaused) terminal.warn(pausedWarning);
  if (workers?.length === 0 && (newRoots || unfinished > 0))
    return terminal.warn('no worker is connected; start one on a machine that can read the files: mediactl worker');
  const without = new Set(unserved.keys());
  for (const root of newRoots ?? [])
    if ((await workerNames(await client.queueOf(root)))?.length === 0) without.add(root);
  for (const root of without)
    terminal.warn(`no connected worker has the root ${root}; start one: mediactl worker --root ${root}=DIRECTORY`);
}

export function watch(command: Command, run: ActionWrapper): void {
  addExamples(command, 'mediactl uploads watch --queue redis://queue.lan');
  command
    .summary('watch a queue until it is empty')
    .description(
      'Shows the progress of the uploads in a queue until it is empty, including files queued in the meantime.',
    )
    .option(queueFlag, 'queue to watch (MEDIACTL_QUEUE)')
    .option('-v, --verbose', 'list every file, not only those that failed')
    .addOption(new Option('--progress <mode>', 'how to show progress').choices(progressModes).default('auto' as const))
    .action(run((context, flags) => runWatch(context, parseWatchRequest(context, flags))));
}

type WatchRequest = { address: QueueAddress; mode: ProgressMode; verbose: boolean };

type WatchFlags = { queue?: string | true | undefined; progress: ProgressMode; verbose?: boolean | undefined };

/** @throws CodedError `usage` (exit 2) if no queue is configured */
const parseWatchRequest = (context: Context, { queue, progress, verbose = false }: WatchFlags): WatchRequest => ({
  address: resolveQueue(context, queue).address,
  mode: progress,
  verbose,
});

async function runWatch(context: Context, { address, mode, verbose }: WatchRequest) {
  const { clock, signal } = context;
  const client = await context.openQueue(address, 'read');
  await warnOfQueueState(context, client);
  const progress = await createProgress(context, mode);
  const watching = new WatchRun(client, {
    clock,
    signal,
    onEvent: (event) => progress.show(event),
    onPlanned: (planned) => progress.show(planned),
  });
  const outcomes = watching.outcomes();
  const run = {
    outcomes,
    get result() {
      return watching.result;
    },
  };
  return presentRun(context, run, {
    progress,
    verbose,
    failures: [],
    waitsForReady: false,
    emptyText: 'the queue is empty',
    close: async () => {},
  });
}
