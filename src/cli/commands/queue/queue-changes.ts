import { Argument, type Command } from '@commander-js/extra-typings';
import { asMediactlError, combineFailures, MediactlError, usageError } from '../../../client/errors.ts';
import { type JobState, listJobs, retryFailed } from '../../../client/queue/jobs.ts';
import type { QueueClient, QueueJob } from '../../../client/queue/queue-client.ts';
import { displayPathOf } from '../../../client/queue/task-result.ts';
import { pluralize } from '../../../contract/figures.ts';
import { escapeControls } from '../../../contract/sanitize.ts';
import type { Context } from '../../context.ts';
import { listBy } from '../../output/result.ts';
import { confirm } from '../../terminal/prompt.ts';
import { type ActionWrapper, addExamples, withSuggestions } from '../command.ts';
import { queueFlag, resolveQueue } from './queue.ts';
import { unfinishedStates } from './queue-list.ts';
import { type QueuedUpload, queuedColumns, stateNames, toQueuedUpload } from './queued-upload.ts';

export function retry(command: Command, run: ActionWrapper): void {
  addExamples(
    command,
    'mediactl uploads retry --all',
    'mediactl uploads retry u3f2a9c1d5e6b7a8 --queue redis://queue.lan',
  );
  command
    .summary('try failed uploads of a queue again')
    .description(
      'Puts failed uploads back into the queue, and ends the pause of one whose credits or storage were used up.',
    )
    .addArgument(withSuggestions(new Argument('[id...]', 'its id, the beginning of it, or its path'), []))
    .option(queueFlag, 'queue that they are in; else MEDIACTL_QUEUE')
    .option('--all', 'every failed upload')
    .action(
      run(async (context, typed, { queue, all }) => {
        const { address, given: ids } = resolveQueue(context, queue, typed);
        assertSelection(ids, all);
        const client = await context.openQueue(address, 'write');
        const chosen = all ? await listJobIds(client, ['failed']) : await findJobIds(client, ids, ['failed']);
        if (context.isDryRun(`retry ${pluralize(chosen.length, 'upload')}`))
          return listBy(() => '', [], queuedColumns, '');
        return applyToEach(
          context,
          chosen,
          'retried',
          async (id) => {
            const job = await getJob(client, id);
            if (!(await retryFailed(job)))
              throw new MediactlError('it has not failed', {
                code: 'not_failed',
              });
            return toQueuedUpload(job, 'waiting');
          },
          async () => {
            if (await client.queue.isPaused()) {
              await client.queue.resume();
              context.terminal.info('the queue continues');
            }
          },
        );
      }),
    );
}

/** Removes jobs from a queue (`uploads forget --queue`). Their assets are not changed. */
export async function forgetQueued(
  context: Context,
  typed: string | boolean,
  given: readonly string[],
  { all, expired, done }: { all?: boolean | undefined; expired?: boolean | undefined; done?: boolean | undefined },
) {
  const { address, given: ids } = resolveQueue(context, typed, given);
  if (expired) throw usageError('--expired is of the uploads of this machine');
  assertSelection(ids, all || done);
  if (all && done) throw usageError('which uploads?', '--all, or --done');
  const client = await context.openQueue(address, 'write');
  const chosen = done
    ? await listJobIds(client, ['completed'])
    : all
      ? await listJobIds(client, unfinishedStates)
      : await findJobIds(client, ids, [...unfinishedStates, 'completed']);
  if (context.isDryRun(`forget ${pluralize(chosen.length, 'upload')}`)) return listBy(() => '', [], queuedColumns, '');
  if (chosen.length > 0)
    await confirm(
      context.terminal,
      `${pluralize(chosen.length, 'upload')}: what is not finished stays so, what is may be sent again. Forget ${chosen.length === 1 ? 'it' : 'them'}?`,
      { yes: context.settings.yes, instead: 'the same command with --yes' },
    );
  return applyToEach(context, chosen, 'forgotten', async (id) => {
    const [receipt] = await client.store.findReceipts([id]);
    const job = await getJob(client, id).catch((error) => {
      if (receipt === undefined) throw error;
      return undefined; // removed by another program; its receipt is still stored
    });
    if (!job) {
      await client.store.remove([id]);
      return undefined;
    }
    const row = toQueuedUpload(job, 'waiting');
    const state = await job.getState();
    if (state === 'active')
      throw new MediactlError('a worker has it in hand', {
        code: 'already_uploading',
        hint: 'stop that worker, then forget it',
        retryable: true,
      });
    await job.remove();
    await client.store.remove([id]);
    return { ...row, state: stateNames[state as JobState] ?? 'waiting' };
  });
}

function assertSelection(ids: readonly string[], all: boolean | undefined): void {
  if (ids.length > 0 === Boolean(all))
    throw usageError('which upload?', 'an id from mediactl uploads ls --queue, or --all');
}

async function listJobIds(client: QueueClient, states: readonly JobState[]): Promise<string[]> {
  const ids: string[] = [];
  for (const state of states)
    for await (const jobs of listJobs(client, state)) ids.push(...jobs.map(({ id }) => id as string));
  return ids;
}

/** Resolves ids, id prefixes, or paths to job ids. @throws MediactlError (exit 2) if ambiguous */
async function findJobIds(
  client: QueueClient,
  typed: readonly string[],
  states: readonly JobState[],
): Promise<string[]> {
  const unknown = new Set<string>();
  for (const query of typed) if (!(await client.queue.getJob(query))) unknown.add(query);
  if (unknown.size === 0) return [...typed];
  const found = new Map<string, string[]>();
  for (const state of states)
    for await (const jobs of listJobs(client, state))
      for (const job of jobs)
        for (const word of unknown)
          if (displayPathOf(job) === word || (word.length >= 6 && job.id?.startsWith(word)))
            found.set(word, [...(found.get(word) ?? []), job.id as string]);
  return typed.map((word) => {
    const [id = word, other] = found.get(word) ?? [];
    if (other === undefined) return id;
    throw usageError(`several uploads are meant by ${escapeControls(word)}`, 'type more of the id');
  });
}

async function getJob({ queue }: QueueClient, id: string): Promise<QueueJob> {
  const job = await queue.getJob(id);
  if (job) return job as QueueJob;
  throw new MediactlError(`no upload ${id} is in the queue`, {
    code: 'not_found',
    hint: 'mediactl uploads ls --queue',
  });
}

/** Applies a change to each job, and continues with the next job after a failure. */
async function applyToEach(
  { terminal }: Context,
  ids: readonly string[],
  verb: string,
  change: (id: string) => Promise<QueuedUpload | undefined>,
  afterwards: () => Promise<void> = async () => {},
) {
  const rows: QueuedUpload[] = [];
  const failures: MediactlError[] = [];
  for (const id of ids)
    await change(id).then(
      (row) => row && rows.push(row),
      (error) => failures.push(asMediactlError(error).withSubject(id)),
    );
  await afterwards();
  if (rows.length > 0) terminal.info(`${pluralize(rows.length, 'upload')} ${verb}`);
  return {
    result: listBy(({ id }: QueuedUpload) => id, rows, queuedColumns, `nothing ${verb}`),
    failure: combineFailures(ids.length, `${failures.length} of ${ids.length} uploads were not ${verb}`, failures),
  };
}
