import { Argument, type Command } from '@commander-js/extra-typings';
import { asMediactlError, combineFailures, MediactlError, usageError } from '../../../client/errors.ts';
import { type JobState, listJobs, retryFailed } from '../../../client/queue/jobs.ts';
import type { QueueAddress } from '../../../client/queue/queue-address.ts';
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
    .action(run((context, typed, flags) => runRetry(context, parseRetryRequest(context, typed, flags))));
}

/** Jobs to change: those with the given ids, id prefixes or paths, or all of a kind. */
type JobSelection = { address: QueueAddress; ids: readonly string[] };
type RetryRequest = JobSelection & { all: boolean };
type ForgetRequest = JobSelection & { kind: 'given' | 'unfinished' | 'done' };

/** @throws MediactlError `usage` (exit 2) */
function parseRetryRequest(
  context: Context,
  typed: readonly string[],
  { queue, all = false }: { queue?: string | true | undefined; all?: boolean | undefined },
): RetryRequest {
  const { address, given: ids } = resolveQueue(context, queue, typed);
  assertSelection(ids, all);
  return { address, ids, all };
}

/** Puts failed jobs back into the queue, and ends a pause of the queue. */
async function runRetry(context: Context, { address, ids, all }: RetryRequest) {
  const client = await context.openQueue(address, 'write');
  const chosen = all ? await listJobIds(client, ['failed']) : await findJobIds(client, ids, ['failed']);
  if (context.isDryRun(`retry ${pluralize(chosen.length, 'upload')}`)) return listBy(() => '', [], queuedColumns, '');
  const changes = await changeEach(chosen, async (id) => {
    const job = await getJob(client, id);
    if (await retryFailed(job)) return toQueuedUpload(job, 'waiting');
    throw new MediactlError('it has not failed', {
      code: 'not_failed',
    });
  });
  if (await client.queue.isPaused()) {
    await client.queue.resume();
    context.terminal.info('the queue continues');
  }
  return presentChanges(context, 'retried', changes);
}

type ForgetFlags = { all?: boolean | undefined; expired?: boolean | undefined; done?: boolean | undefined };

/** @throws MediactlError `usage` (exit 2) */
export function parseForgetRequest(
  context: Context,
  typed: string | boolean,
  given: readonly string[],
  { all, expired, done }: ForgetFlags,
): ForgetRequest {
  const { address, given: ids } = resolveQueue(context, typed, given);
  if (expired) throw usageError('--expired is of the uploads of this machine');
  assertSelection(ids, all || done);
  if (all && done) throw usageError('which uploads?', '--all, or --done');
  return { address, ids, kind: done ? 'done' : all ? 'unfinished' : 'given' };
}

/** Removes jobs from a queue (`uploads forget --queue`). Their assets are not changed. */
export async function runForget(context: Context, { address, ids, kind }: ForgetRequest) {
  const client = await context.openQueue(address, 'write');
  const states = {
    given: [...unfinishedStates, 'completed'],
    unfinished: unfinishedStates,
    done: ['completed'],
  } as const;
  const chosen = await (kind === 'given' ? findJobIds(client, ids, states.given) : listJobIds(client, states[kind]));
  if (context.isDryRun(`forget ${pluralize(chosen.length, 'upload')}`)) return listBy(() => '', [], queuedColumns, '');
  if (chosen.length > 0)
    await confirm(
      context.terminal,
      `${pluralize(chosen.length, 'upload')}: what is not finished stays so, what is may be sent again. Forget ${chosen.length === 1 ? 'it' : 'them'}?`,
      { yes: context.settings.yes, instead: 'the same command with --yes' },
    );
  return presentChanges(context, 'forgotten', await changeEach(chosen, (id) => forgetJob(client, id)));
}

/** Removes one job with its stored state. @returns undefined if another program has removed the job */
async function forgetJob(client: QueueClient, id: string): Promise<QueuedUpload | undefined> {
  const [receipt] = await client.store.findReceipts([id]);
  const job = await getJob(client, id).catch((error) => {
    if (receipt === undefined) throw error;
    return undefined;
  });
  const state = await job?.getState();
  if (state === 'active')
    throw new MediactlError('a worker has it in hand', {
      code: 'already_uploading',
      hint: 'stop that worker, then forget it',
      retryable: true,
    });
  const row = job && { ...toQueuedUpload(job, 'waiting'), state: stateNames[state as JobState] ?? 'waiting' };
  await job?.remove();
  await client.store.remove([id]);
  return row;
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

type Changes = { total: number; rows: QueuedUpload[]; failures: MediactlError[] };

/** Changes each job, and continues with the next job after a failure. */
async function changeEach(
  ids: readonly string[],
  change: (id: string) => Promise<QueuedUpload | undefined>,
): Promise<Changes> {
  const changes: Changes = { total: ids.length, rows: [], failures: [] };
  for (const id of ids)
    await change(id).then(
      (row) => row && changes.rows.push(row),
      (error) => changes.failures.push(asMediactlError(error).withSubject(id)),
    );
  return changes;
}

/** @param verb past participle, for messages */
function presentChanges({ terminal }: Context, verb: string, { total, rows, failures }: Changes) {
  if (rows.length > 0) terminal.info(`${pluralize(rows.length, 'upload')} ${verb}`);
  return {
    result: listBy(({ id }: QueuedUpload) => id, rows, queuedColumns, `nothing ${verb}`),
    failure: combineFailures(total, `${failures.length} of ${total} uploads were not ${verb}`, failures),
  };
}
