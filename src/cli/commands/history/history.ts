import type { CountedChange, StoredItem } from '../../../client/changes/change-history.ts';
import { CodedError, usageError } from '../../../client/errors.ts';
import type { JsonObject } from '../../../contract/json-values.ts';
import { displayText, escapeControls, relativeTime } from '../../../contract/sanitize.ts';
import { isSameUid, isUid } from '../../../contract/uid.ts';
import { addExamples, type CommandDefinition, type CommandOutcome } from '../../command.ts';
import type { Context } from '../../context.ts';
import { resumeChange } from '../../library/run-change.ts';
import { type Column, listBy, noResult, type Result } from '../../output/result.ts';
import type { OutputRecord } from '../../reference/schemas.ts';
import { bulkResult, toOutcomes } from '../bulk-result.ts';

type HistoryRecord = OutputRecord<'history'>;
type ItemRecord = OutputRecord<'history-items'>;

export const history: CommandDefinition = (command, run) => {
  addExamples(command, 'mediactl history', 'mediactl history 3f2a9c1d', 'mediactl history 3f2a9c1d --resume');
  command
    .description(
      'Lists the changes that this machine made to the library in the last 90 days, or the items of one of them. A change that was interrupted can be resumed; undo reverts one.',
    )
    .argument('[change]', 'id of a change, or its first characters')
    .option('--resume', 'continue a change: write pending and failed items, unless others have changed them')
    .action(run((context, id, { resume: isResumed = false }) => runHistory(context, id, isResumed)));
};

async function runHistory(context: Context, id: string | undefined, isResumed: boolean): Promise<CommandOutcome> {
  if (isResumed && id === undefined) throw usageError('--resume needs a change', 'mediactl history lists the changes');
  const store = await context.state.historyIfAny();
  const changes = (await store?.list()) ?? [];
  if (id === undefined)
    return listBy(({ change_id }) => change_id, changes.map(toHistoryRecord), changeColumns, 'no changes');
  const change = await findChange(context, id);
  if (!isResumed) return itemList((await store?.items(change.id)) ?? []);
  const isUndone = changes.some(({ undoOf, undoneBy }) => undoOf === change.id && undoneBy === null);
  if (isUndone || (change.state === 'finished' && change.failed === 0))
    throw usageError(`change ${change.id} is ${isUndone ? 'undone' : 'finished'}`, `mediactl history ${change.id}`);
  return resume(context, change);
}

/** Finds a change by its id or the beginning of it. @throws CodedError `not_found` (exit 3) */
export async function findChange(context: Context, id: string): Promise<CountedChange> {
  const store = await context.state.historyIfAny();
  if (store) return store.find(id);
  throw new CodedError(`there is no change ${id}`, { code: 'not_found', reason: 'this machine has made none' });
}

async function resume(context: Context, change: CountedChange): Promise<CommandOutcome> {
  await assertSameService(context, change);
  if (context.isDryRun(`carry out ${change.pending + change.failed} items of change ${change.id}`)) return noResult;
  const store = await context.state.history();
  const items = (await store.items(change.id)).filter(({ state }) => state === 'pending' || state === 'failed');
  const results = await resumeChange(context, change, items);
  return bulkResult(context, toOutcomes(results), { outcome: 'updated', label: 'done', noun: 'items' });
}

/** @throws CodedError `usage` (exit 2) if a change was made in another service or workspace than the one in use */
export async function assertSameService(context: Context, change: CountedChange): Promise<void> {
  const { id, service, profile, workspace } = change;
  const {
    baseUrl: { origin },
    workspace: current,
  } = await context.account();
  const isOther = workspace !== null && current !== undefined && isUid(current) && !isSameUid(workspace, current);
  if (isOther) throw usageError(`change ${id} was made in workspace ${workspace}`, `--workspace ${workspace}`);
  if (origin === service) return;
  const hint = profile ? `--profile ${profile}` : 'use the profile of that service';
  throw usageError(`change ${id} was made at ${service}, and this account is at ${origin}`, hint);
}

const toHistoryRecord = (change: CountedChange): HistoryRecord => ({
  change_id: change.id,
  command: change.command,
  summary: change.summary,
  base_url: change.service,
  workspace_uid: change.workspace,
  profile: change.profile,
  state: change.isRunning ? 'running' : change.state === 'finished' ? 'finished' : 'interrupted',
  item_count: change.pending + change.done + change.failed + change.conflict,
  done_count: change.done,
  failed_count: change.failed,
  conflict_count: change.conflict,
  request_count: change.requestCount,
  started_at: change.startedAt,
  undo_of: change.undoOf,
  undone_by: change.undoneBy,
});

const changeColumns: Column<HistoryRecord>[] = [
  { header: 'ID', value: ({ change_id }) => change_id, noTruncate: true },
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
