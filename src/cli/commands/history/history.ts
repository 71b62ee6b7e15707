import type { CountedRun, StoredItem } from '../../../client/changes/run-store.ts';
import { MediactlError, usageError } from '../../../client/errors.ts';
import type { JsonObject } from '../../../contract/json-values.ts';
import { displayText, escapeControls, relativeTime } from '../../../contract/sanitize.ts';
import { isSameUid, isUid } from '../../../contract/uid.ts';
import { addExamples, type CommandDefinition, type CommandOutcome } from '../../command.ts';
import type { Context } from '../../context.ts';
import { resumeChange } from '../../library/run-change.ts';
import { type Column, listBy, noResult, type Result } from '../../output/result.ts';
import type { OutputRecord } from '../../reference/schemas.ts';
import { bulkResult, toOutcomes } from '../bulk-result.ts';

type RunRecord = OutputRecord<'history'>;
type ItemRecord = OutputRecord<'history-items'>;

export const history: CommandDefinition = (command, run) => {
  addExamples(command, 'mediactl history', 'mediactl history 3f2a9c1d', 'mediactl history 3f2a9c1d --resume');
  command
    .description(
      'Lists the changes that this machine made to the library in the last 90 days, or the items of one of them. A change that was interrupted can be resumed; undo reverts one.',
    )
    .argument('[run]', 'id of a change, or its first characters')
    .option('--resume', 'continue a change: write pending and failed items, unless others have changed them')
    .action(run((context, id, { resume: isResumed = false }) => runHistory(context, id, isResumed)));
};

async function runHistory(context: Context, id: string | undefined, isResumed: boolean): Promise<CommandOutcome> {
  if (isResumed && id === undefined) throw usageError('--resume needs a run', 'mediactl history lists the runs');
  const store = await context.state.historyIfAny();
  const runs = (await store?.list()) ?? [];
  if (id === undefined) return listBy(({ run_id }) => run_id, runs.map(toRunRecord), runColumns, 'no changes');
  const run = await findRun(context, id);
  if (!isResumed) return itemList((await store?.items(run.id)) ?? []);
  const isUndone = runs.some(({ undoOf, undoneBy }) => undoOf === run.id && undoneBy === null);
  if (isUndone || (run.state === 'finished' && run.failed === 0))
    throw usageError(`run ${run.id} is ${isUndone ? 'undone' : 'finished'}`, `mediactl history ${run.id}`);
  return resume(context, run);
}

/** Finds a run by its id or the beginning of it. @throws MediactlError `not_found` (exit 3) */
export async function findRun(context: Context, id: string): Promise<CountedRun> {
  const store = await context.state.historyIfAny();
  if (store) return store.find(id);
  throw new MediactlError(`there is no change ${id}`, { code: 'not_found', reason: 'this machine has made none' });
}

async function resume(context: Context, run: CountedRun): Promise<CommandOutcome> {
  await assertSameService(context, run);
  if (context.isDryRun(`carry out ${run.pending + run.failed} items of run ${run.id}`)) return noResult;
  const store = await context.state.history();
  const items = (await store.items(run.id)).filter(({ state }) => state === 'pending' || state === 'failed');
  const results = await resumeChange(context, run, items);
  return bulkResult(context, toOutcomes(results), { outcome: 'updated', label: 'done', noun: 'items' });
}

/** @throws MediactlError `usage` (exit 2) if a run has changed another service or workspace than the one in use */
export async function assertSameService(context: Context, run: CountedRun): Promise<void> {
  const { id, service, profile, workspace } = run;
  const {
    baseUrl: { origin },
    workspace: current,
  } = await context.account();
  const isOther = workspace !== null && current !== undefined && isUid(current) && !isSameUid(workspace, current);
  if (isOther) throw usageError(`run ${id} changed workspace ${workspace}`, `--workspace ${workspace}`);
  if (origin === service) return;
  const hint = profile ? `--profile ${profile}` : 'use the profile of that service';
  throw usageError(`run ${id} changed ${service}, and this account is at ${origin}`, hint);
}

const toRunRecord = (run: CountedRun): RunRecord => ({
  run_id: run.id,
  command: run.command,
  summary: run.summary,
  base_url: run.service,
  workspace_uid: run.workspace,
  profile: run.profile,
  state: run.isRunning ? 'running' : run.state === 'finished' ? 'finished' : 'interrupted',
  item_count: run.pending + run.done + run.failed + run.conflict,
  done_count: run.done,
  failed_count: run.failed,
  conflict_count: run.conflict,
  request_count: run.requestCount,
  started_at: run.startedAt,
  undo_of: run.undoOf,
  undone_by: run.undoneBy,
});

const runColumns: Column<RunRecord>[] = [
  { header: 'RUN', value: ({ run_id }) => run_id, noTruncate: true },
  {
    header: 'STARTED',
    value: ({ started_at }, { isTerminal, now }) => (isTerminal ? relativeTime(started_at, now) : started_at),
    noTruncate: true,
  },
  { header: 'COMMAND', value: ({ command }) => command, noTruncate: true },
  { header: 'CHANGE', value: ({ summary }) => escapeControls(summary), minWidth: 12 },
  { header: 'DONE', value: ({ done_count, item_count }) => `${done_count} of ${item_count}`, noTruncate: true },
  {
    header: 'STATE',
    value: ({ state, undone_by }, { isTerminal }) => (isTerminal && undone_by ? 'undone' : state),
    noTruncate: true,
  },
  { header: 'PROFILE', value: ({ profile }) => displayText(profile), dropPriority: 1 },
];

const itemList = (items: readonly StoredItem[]): Result =>
  listBy(
    ({ uid }) => uid,
    items.map(({ uid, kind, name, before, after, state, error, localPath = null }): ItemRecord => {
      return { uid, kind, name, before, after, outcome: state, reason: error, local_path: localPath };
    }),
    itemColumns,
    'no items',
  );

const itemColumns: Column<ItemRecord>[] = [
  { header: 'UID', value: ({ uid }) => escapeControls(uid), uid: 'asset' },
  { header: 'NAME', value: ({ name }) => displayText(name), isFirst: true, minWidth: 12 },
  { header: 'CHANGE', value: describeItem, minWidth: 12 },
  {
    header: 'RESULT',
    value: ({ outcome, reason }, { isTerminal }) =>
      isTerminal && reason ? `${outcome}: ${escapeControls(reason)}` : outcome,
  },
];

export function describeItem({
  before,
  after,
  local_path,
}: Pick<ItemRecord, 'before' | 'after' | 'local_path'>): string {
  if (after === null) return local_path ? `deleted; uploaded from ${escapeControls(local_path)}` : 'deleted';
  const text = (values: JsonObject | null, field: string) =>
    values && field in values ? displayText(values[field]) || '(none)' : 'unknown';
  return Object.keys(after)
    .map((field) => `${escapeControls(field)}: ${text(before, field)} → ${text(after, field)}`)
    .join('; ');
}
