import { type Command, Option } from '@commander-js/extra-typings';
import { countJobs, type JobState, listJobs } from '../../../client/queue/jobs.ts';
import type { QueueClient } from '../../../client/queue/queue-client.ts';
import { WatchRun } from '../../../client/queue/watch-run.ts';
import type { Context } from '../../context.ts';
import type { ListResult } from '../../output/result.ts';
import { createProgress, progressModes } from '../../progress/progress.ts';
import { presentRun } from '../../uploading/run-view.ts';
import { type ActionWrapper, addExamples } from '../command.ts';
import { queueFlag, resolveQueue } from './queue.ts';
import { type QueuedUpload, queuedColumns, toQueuedUpload } from './queued-upload.ts';

/** States of unfinished jobs, in display order. */
export const unfinishedStates = ['failed', 'active', 'delayed', 'prioritized', 'waiting'] as const;

/** Lists a queue's unfinished uploads (`uploads ls --queue`) or finished uploads (`--done`). */
export async function listQueuedUploads(
  context: Context,
  typed: string | boolean,
  done: boolean | undefined,
): Promise<ListResult> {
  const client = await openQueue(context, typed);
  await warnOfQueueState(context, client);
  const states: readonly JobState[] = done ? ['completed'] : unfinishedStates;
  const pages = async function* (): AsyncGenerator<QueuedUpload[]> {
    for (const state of states)
      for await (const jobs of listJobs(client, state)) yield jobs.map((job) => toQueuedUpload(job, state));
  };
  return {
    ...{ kind: 'list', pages: pages(), columns: queuedColumns },
    id: ({ id }: QueuedUpload) => id,
    empty: done ? 'nothing uploaded yet' : 'nothing is queued',
  };
}

const openQueue = (context: Context, typed: string | boolean | undefined): Promise<QueueClient> =>
  context.openQueue(resolveQueue(context, typed).address, 'read');

/** Warns if a queue is paused or has no worker. @param hasNewFiles true before files are queued */
export async function warnOfQueueState({ terminal }: Context, client: QueueClient, hasNewFiles = false): Promise<void> {
  if (await client.withRetry(() => client.queue.isPaused()))
    terminal.warn('the queue is paused: mediactl uploads retry --all ends that');
  const { unfinished, workers } = await client.withRetry(() => countJobs(client));
  if (workers === 0 && (hasNewFiles || unfinished > 0))
    terminal.warn('no worker is connected: mediactl worker, on any machine that reaches the files');
}

export function watch(command: Command, run: ActionWrapper): void {
  addExamples(command, 'mediactl uploads watch --queue redis://queue.lan');
  command
    .summary('watch a queue until nothing is left in it')
    .description(
      'Shows the uploads of a queue while workers carry them out, until nothing is left; what is queued meanwhile too.',
    )
    .option(queueFlag, 'queue to watch; else MEDIACTL_QUEUE')
    .option('-v, --verbose', 'show what became of every file, not only of those that failed')
    .addOption(new Option('--progress <form>', 'what to show').choices(progressModes).default('auto' as const))
    .action(
      run(async (context, { queue, verbose = false, progress: asked }) => {
        const { clock, signal } = context;
        const client = await openQueue(context, queue);
        await warnOfQueueState(context, client);
        const progress = await createProgress(context, asked);
        const watching = new WatchRun(client, {
          ...{ clock, signal },
          onEvent: (event) => progress.show(event),
          onPlanned: (planned) => progress.show(planned),
        });
        return presentRun(context, watching, {
          ...{ progress, verbose, files: [], failures: [], waitsForReady: false },
          emptyText: 'nothing is queued',
          close: async () => {},
        });
      }),
    );
}
