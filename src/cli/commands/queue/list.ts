import { CodedError } from '../../../client/errors.ts';
import { type JobState, listJobs } from '../../../queue/jobs.ts';
import type { QueueAddress } from '../../../queue/queue-address.ts';
import type { QueueClient } from '../../../queue/queue-client.ts';
import { commonErrors } from '../../../queue/queue-status.ts';
import { pluralize } from '../../../shared/figures.ts';
import { escapeControls } from '../../../shared/sanitize.ts';
import { addExamples, type Define } from '../../command.ts';
import type { Context } from '../../context.ts';
import { hintOf } from '../../error-hints.ts';
import type { ListResult } from '../../output/result.ts';
import { parseOptionalCount } from '../../uploading/upload-options.ts';
import { openQueue, queueOption, resolveQueue, warnOfQueueState } from '../queue-access.ts';
import { type QueuedUpload, queuedColumns, toQueuedUpload } from './queued-upload.ts';
import { warnOfStore } from './store-warnings.ts';

/** States of unfinished jobs, in display order. */
export const unfinishedStates = ['failed', 'active', 'delayed', 'waiting'] as const;

/** Number of uploads of a queue that a table shows by default. */
const tableLimit = 100;

export const list: Define = (command, run) =>
  addExamples(
    command,
    'mediactl queue ls',
    'mediactl queue ls --finished --jsonl > sent.jsonl',
    'mediactl queue ls --queue redis://queue.lan',
  )
    .description(
      'Lists the unfinished and failed uploads in a queue or, with --finished, the finished ones. Says on stderr what holds them up: a pause, missing workers or roots, common errors, and problems of the store.',
    )
    .option(...queueOption)
    .option('--finished', 'list finished uploads')
    .option('--limit <number>', `maximum number of uploads (${tableLimit} in a table)`)
    .action(
      run((context, { queue, finished = false, limit }) =>
        runList(context, resolveQueue(context, queue), finished, parseOptionalCount('--limit', limit, 1)),
      ),
    );

/** Lists uploads of a queue as they are read: by state, then by root, oldest first. */
async function runList(
  context: Context,
  address: QueueAddress,
  finished: boolean,
  limit = context.isHumanOutput ? tableLimit : Number.POSITIVE_INFINITY,
): Promise<ListResult> {
  const client = await openQueue(context, address, 'read');
  await reportState(context, client);
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

/** Says on stderr what keeps the files of a queue from being uploaded. */
async function reportState(context: Context, client: QueueClient): Promise<void> {
  const { terminal } = context;
  const { address, serverInfo } = client;
  const { unfinished, failed, workers } = await warnOfQueueState(context, client);
  await warnOfStore(context, client);
  await client.checkWriteAccess().catch((error) => {
    if (!(error instanceof CodedError)) throw error;
    const { reason } = error.explanation;
    terminal.warn(escapeControls(`${error.message}${reason ? ` (${reason})` : ''}; try: ${hintOf(error)}`));
  });
  const errors = (await commonErrors(client)).map(([code, count]) => `${code} (${count})`).join(', ');
  const figures = [
    `${pluralize(unfinished, 'upload')} remaining`,
    `${failed} failed`,
    workers && `${pluralize(workers.length, 'worker')} connected`,
  ];
  const text = `${address.label} (${serverInfo.server}): ${figures.filter(Boolean).join(', ')}`;
  terminal.info(escapeControls(errors ? `${text}; errors: ${errors}` : text));
}
