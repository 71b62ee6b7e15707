import { Argument } from '@commander-js/extra-typings';
import { asCodedError, CodedError, combineFailures, usageError } from '../../../client/errors.ts';
import { displayPathOf, type JobState, listJobs, retryFailed } from '../../../queue/jobs.ts';
import type { QueueAddress } from '../../../queue/queue-address.ts';
import type { QueueClient, QueueJob } from '../../../queue/queue-client.ts';
import { pluralize } from '../../../shared/figures.ts';
import { escapeControls } from '../../../shared/sanitize.ts';
import { addExamples, type Define, withSuggestions } from '../../command.ts';
import type { Context } from '../../context.ts';
import { listBy } from '../../output/result.ts';
import { parseDuration } from '../../settings/units.ts';
import { confirm } from '../../terminal/prompt.ts';
import type { Redactor } from '../../terminal/redactor.ts';
import { openQueue, queueOption, resolveQueue } from '../queue-access.ts';
import { unfinishedStates } from './list.ts';
import { type QueuedUpload, queuedColumns, toQueuedUpload } from './queued-upload.ts';

const idArgument = () => withSuggestions(new Argument('[id...]', 'id, start of an id, or path'), []);

export const retry: Define = (command, run) =>
  addExamples(command, 'mediactl queue retry --all', 'mediactl queue retry u3f2a9c1d5e6b7a8')
    .description(
      'Puts failed uploads back in the queue. Resumes a queue that was paused because credits or storage ran out.',
    )
    .addArgument(idArgument())
    .option(...queueOption)
    .option('--all', 'retry all failed uploads')
    .action(
      run((context, ids, { queue, all = false }) => {
        const address = resolveQueue(context, queue);
        assertSelection(ids, all, 'upload ids or --all');
        return runRetry(context, { address, ids, all, states: ['failed'] });
      }),
    );

export const forget: Define = (command, run) =>
  addExamples(
    command,
    'mediactl queue forget u3f2a9c1d5e6b7a8 --yes',
    'mediactl queue forget --finished --older-than 30d --yes',
  )
    .description(
      'Removes uploads from a queue: by id, all unfinished and failed ones, or the finished ones, so that their files can be queued again. Their assets are kept.',
    )
    .addArgument(idArgument())
    .option(...queueOption)
    .option('--all', 'all unfinished and failed uploads')
    .option('--finished', 'all finished uploads')
    .option('--older-than <duration>', 'with --finished, only uploads that finished this long ago, such as 30d')
    .action(run((context, ids, flags) => runForget(context, parseForgetRequest(context, ids, flags))));

/** Jobs to change: all in some states, or those of them with the given ids, id prefixes or paths. */
type ChangeRequest = {
  address: QueueAddress;
  ids: readonly string[];
  all: boolean;
  states: readonly JobState[];
  /** Only jobs that finished before this time, in milliseconds since the epoch. */
  finishedBefore?: number | undefined;
};

type ForgetFlags = { queue?: string; all?: boolean; finished?: boolean; olderThan?: string };

/** Puts failed jobs back into the queue, and ends a pause of the queue. */
async function runRetry(context: Context, request: ChangeRequest) {
  const client = await openQueue(context, request.address, 'write');
  const ids = await findJobIds(client, request);
  if (context.isDryRun(`retry ${pluralize(ids.length, 'upload')}`)) return presentRows([], '');
  const changes = await changeEach(ids, async (id) => {
    const job = await getJob(client, id);
    if (await retryFailed(job)) return toQueuedUpload(job, 'waiting', context.terminal.redactor);
    throw new CodedError('the upload has not failed', { code: 'rejected' });
  });
  if (await client.isPaused()) {
    await client.setPaused(false);
    context.terminal.info('resumed the queue');
  }
  return presentChanges(context, 'retried', changes);
}

/** @throws CodedError `usage` (exit 2) */
function parseForgetRequest(
  context: Context,
  ids: readonly string[],
  { queue, all = false, finished = false, olderThan }: ForgetFlags,
): ChangeRequest {
  const address = resolveQueue(context, queue);
  if (olderThan !== undefined && !finished) throw usageError('--older-than works only with --finished');
  if (all && finished) throw usageError('--all and --finished cannot be used together');
  assertSelection(ids, all || finished, 'upload ids, --all or --finished');
  const finishedBefore =
    olderThan === undefined ? undefined : context.clock.now() - parseDuration('--older-than', olderThan);
  const states: JobState[] = [...(finished ? [] : unfinishedStates), ...(all ? [] : (['completed'] as const))];
  return { address, ids, all: all || finished, states, finishedBefore };
}

/** Removes jobs from a queue. Their assets are not changed. */
async function runForget(context: Context, request: ChangeRequest) {
  const client = await openQueue(context, request.address, 'write');
  const ids = await findJobIds(client, request);
  const count = pluralize(ids.length, 'upload');
  if (context.isDryRun(`forget ${count}`)) return presentRows([], '');
  if (ids.length > 0)
    await confirm(context, `Unfinished uploads stop, and finished files may be uploaded again. Forget ${count}?`);
  return presentChanges(
    context,
    'forgotten',
    await changeEach(ids, (id) => forgetJob(client, id, context.terminal.redactor)),
  );
}

/** Removes one job with its stored state. @returns undefined if another program has removed the job */
async function forgetJob(client: QueueClient, id: string, redactor: Redactor): Promise<QueuedUpload | undefined> {
  const [receipt] = await client.store.findReceipts([id]);
  const job = await getJob(client, id).catch((error) => {
    if (receipt === undefined) throw error;
    return undefined;
  });
  const isActive = await job?.isActive();
  if (isActive)
    throw new CodedError('a worker is uploading it', {
      code: 'upload_in_progress',
      hint: 'stop that worker, then run the same command again',
      retryable: true,
    });
  const row = job && toQueuedUpload(job, restingStateOf(job), redactor);
  await job?.remove();
  await client.store.remove([id]);
  return row;
}

/** Returns the state of a job that no worker has, without a search of the waiting list. */
function restingStateOf({ finishedOn, returnvalue, attemptsMade }: QueueJob): JobState {
  if (finishedOn) return returnvalue ? 'completed' : 'failed';
  return attemptsMade > 0 ? 'delayed' : 'waiting';
}

/** @param choices what selects uploads, for the error */
function assertSelection(ids: readonly string[], isSeveral: boolean, choices: string): void {
  if (ids.length > 0 === isSeveral) throw usageError(`specify ${choices}`, 'mediactl queue ls, to list the ids');
}

/** Resolves a selection to job ids. @throws CodedError (exit 2) if an id prefix or path is ambiguous */
async function findJobIds(
  client: QueueClient,
  { ids, all, states, finishedBefore = Infinity }: ChangeRequest,
): Promise<string[]> {
  const unknown = new Set<string>();
  for (const id of ids) if (!(await client.findJob(id))) unknown.add(id);
  if (!all && unknown.size === 0) return [...ids];
  const listed: { id: string; path: string }[] = [];
  for (const state of states)
    for await (const jobs of listJobs(client, state))
      for (const job of jobs)
        if (finishedBefore === Infinity || (job.finishedOn ?? Infinity) < finishedBefore)
          listed.push({ id: job.id as string, path: displayPathOf(job) });
  if (all) return listed.map(({ id }) => id);
  return ids.map((word) => {
    if (!unknown.has(word)) return word;
    const isMeant = ({ id, path }: { id: string; path: string }) =>
      path === word || (word.length >= 6 && id.startsWith(word));
    const [match, other] = listed.filter(isMeant);
    if (other === undefined) return match?.id ?? word;
    throw usageError(`${escapeControls(word)} matches several uploads`, 'type more of the id');
  });
}

async function getJob(client: QueueClient, id: string): Promise<QueueJob> {
  const job = await client.findJob(id);
  if (job) return job;
  throw new CodedError(`upload ${id} is not in the queue`, {
    code: 'not_found',
    hint: 'mediactl queue ls',
  });
}

type Changes = { total: number; rows: QueuedUpload[]; failures: CodedError[] };

/** Changes each job, and continues with the next job after a failure. */
async function changeEach(ids: readonly string[], change: (id: string) => Promise<QueuedUpload | undefined>) {
  const changes: Changes = { total: ids.length, rows: [], failures: [] };
  for (const id of ids)
    await change(id).then(
      (row) => row && changes.rows.push(row),
      (error) => changes.failures.push(asCodedError(error).withSubject(id)),
    );
  return changes;
}

/** @param verb past participle, for messages */
function presentChanges({ terminal }: Context, verb: string, { total, rows, failures }: Changes) {
  if (rows.length > 0) terminal.info(`${pluralize(rows.length, 'upload')} ${verb}`);
  const failure = combineFailures(total, `${failures.length} of ${total} uploads were not ${verb}`, failures);
  return { result: presentRows(rows, `nothing ${verb}`), failure };
}

const presentRows = (rows: QueuedUpload[], emptyText: string) => listBy(({ id }) => id, rows, queuedColumns, emptyText);
