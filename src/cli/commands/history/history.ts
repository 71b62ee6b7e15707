import { type CountedChange, keptDays, noChange } from '../../../client/changes/change-history.ts';
import type { ChangeItem, StoredItem } from '../../../client/changes/change-item.ts';
import { nextStepOf } from '../../../client/changes/three-way.ts';
import { CodedError, usageError } from '../../../client/errors.ts';
import { isSameUid, minTypedDigits, normalizeUid } from '../../../contract/uid.ts';
import { pluralize } from '../../../shared/figures.ts';
import type { JsonObject } from '../../../shared/json-values.ts';
import { displayText, escapeControls } from '../../../shared/sanitize.ts';
import { addExamples, type CommandDefinition, type CommandOutcome } from '../../command.ts';
import type { Context } from '../../context.ts';
import { resumeChange } from '../../library/run-change.ts';
import { resolveWorkspaceUid } from '../../library/workspaces.ts';
import { changeResult } from '../../output/outcome.ts';
import { type Column, listBy, noResult, type Result } from '../../output/result.ts';
import type { OutputRecord } from '../../reference/schemas.ts';
import { precedence } from '../../settings/setting-resolver.ts';
import { bulkResult, toOutcomes, type WriteOutcome } from '../bulk-result.ts';
import { confirmMany, noLimit, truncateLines } from '../confirm-many.ts';
import { cannotRestore, maxDeletionLines } from '../deletion.ts';

type HistoryRecord = OutputRecord<'history'>;
type ItemRecord = OutputRecord<'history-items'>;

export const listHint = 'mediactl history, to list all changes';
export const changeIdHelp = `id of a change, or its first ${minTypedDigits} digits or more`;

export const history: CommandDefinition = (command, run) => {
  addExamples(command, 'mediactl history', 'mediactl history 3f2a9c1d', 'mediactl history 3f2a9c1d --resume');
  command
    .description(
      `Lists the changes that this machine made to the library in the last ${keptDays} days, or the items of one of them. A change that was interrupted can be resumed; undo reverts one.`,
    )
    .argument('[change]', changeIdHelp)
    .option('--resume', 'continue a change: write pending and failed items, unless others have changed them')
    .action(run((context, id, { resume: isResumed = false }) => runHistory(context, id, isResumed)));
};

async function runHistory(context: Context, id: string | undefined, isResumed: boolean): Promise<CommandOutcome> {
  if (isResumed && id === undefined)
    throw usageError('--resume needs a change', 'mediactl history, to list the changes');
  const store = await context.state.historyIfAny();
  if (id === undefined) {
    const changes = (await store?.list()) ?? [];
    const profile = await typedProfile(context);
    return listBy(
      ({ change_id }) => change_id,
      changes.filter((change) => profile === undefined || change.profile === profile).map(toHistoryRecord),
      changeColumns,
      `this machine has made no changes${profile === undefined ? '' : ` with profile ${profile}`}`,
    );
  }
  const change = await findChange(context, id);
  const items = (await store?.items(change.id)) ?? [];
  if (!isResumed) return itemList(change, items);
  const { hasUndo } = change;
  const left = items.filter(isLeft);
  if (hasUndo || (change.state === 'finished' && left.every(({ state }) => state === 'pending')))
    throw usageError(`change ${change.id} is ${hasUndo ? 'undone' : 'finished'}`, `mediactl history ${change.id}`);
  if (change.source !== null && change.command !== 'apply')
    throw usageError(
      `change ${change.id} cannot be resumed, because what it does is decided again each time`,
      `run its command again, with the options that it had: ${change.source}`,
    );
  return resume(context, change, items, left);
}

/** Returns the profile that --profile names. @throws CodedError `not_logged_in` (exit 4) if there is none of that name */
async function typedProfile(context: Context): Promise<string | undefined> {
  if (context.settings.resolver.resolve('profile').rank !== precedence.flag) return undefined;
  return (await context.profileInUse()).name;
}

/** Returns true for an item that a resume writes. A later change has decided anew about what is kept of earlier ones. */
const isLeft = ({ seq, state }: StoredItem) => seq >= 0 && state !== 'done' && state !== 'conflict';

/** Finds a change by its id or the beginning of it. @throws CodedError `not_found` (exit 3) */
export async function findChange(context: Context, id: string): Promise<CountedChange> {
  const rule = `to abbreviate the id of a change, type at least ${minTypedDigits} digits`;
  if (id.length < minTypedDigits) throw noChange(id, rule, listHint);
  const store = await context.state.historyIfAny();
  if (store) return store.find(id);
  throw noChange(id, 'this machine has made none');
}

async function resume(
  context: Context,
  change: CountedChange,
  all: readonly StoredItem[],
  left: readonly StoredItem[],
): Promise<CommandOutcome> {
  await assertSameService(context, change);
  if (context.isDryRun(`carry out ${left.length} items of change ${change.id}`)) return noResult;
  const items = left.some(isUnread) ? await confirmUnread(context, change, left) : left;
  const read = items.filter((item, at) => item.before !== null && isUnread(left[at] as StoredItem));
  const results = await resumeChange(context, change, items, read);
  // An earlier attempt may have been killed before it named them.
  const conflicts = all.filter(({ state }) => state === 'conflict').map(toConflict);
  const outcomes = [...toOutcomes(results), ...conflicts];
  const records = bulkResult(context, outcomes, { outcome: 'updated', label: 'done', noun: 'items' });
  const isDeletion = items.some(({ after }) => after === null);
  const next = isDeletion ? { next: cannotRestore(items.length) } : {};
  const words = { verb: 'carried out', noun: 'item', place: `of change ${change.id}`, ...next };
  return changeResult(context, outcomes, words, records);
}

const toConflict = ({ kind, uid, name, error }: StoredItem): WriteOutcome => ({
  ...{ uid, name },
  error: new CodedError(error ?? 'it was changed meanwhile', {
    code: 'changed_meanwhile',
    ...nextStepOf({ kind, uid }),
  }),
});

const isUnread = ({ kind, before }: StoredItem) => kind === 'asset' && before === null;

/**
 * Reads the items that the change has never read, shows them and asks, since others may have changed them in between.
 *
 * @throws CodedError `usage` (exit 2) if there is no terminal to ask on
 */
async function confirmUnread(
  context: Context,
  change: CountedChange,
  items: readonly StoredItem[],
): Promise<readonly StoredItem[]> {
  const { terminal, settings } = context;
  const instead = `mediactl history ${change.id} --resume --yes, once you know that others have not changed them`;
  const count = items.filter(isUnread).length;
  if (!terminal.isInteractive && !settings.yes)
    throw usageError(`change ${change.id} has not read ${pluralize(count, 'asset')} that it is to write`, instead);
  const read = await (await context.writer()).readUnread(items);
  const shown = read.filter((_, at) => isUnread(items[at] as StoredItem));
  const isDeletion = shown.some(({ after }) => after === null);
  const lines = shown.map((item) => lineOf(item, change));
  const many = pluralize(count, 'asset');
  await confirmMany(context, {
    ...{ count, noun: 'assets', limit: noLimit },
    what: `${isDeletion ? `move ${many} to the trash` : `write ${many}`} that change ${change.id} has not read before`,
    ...(isDeletion && { warning: cannotRestore(count) }),
    lines: async () => truncateLines(lines, lines.length, maxDeletionLines),
  });
  return read;
}

/** Returns a line that names an item and describes its change. */
export function lineOf(item: ChangeItem, { folderPaths }: Pick<CountedChange, 'folderPaths'>): string {
  const label = 'name' in (item.after ?? {}) ? '' : `${displayText(item.name) || item.uid}  `;
  return `  ${label}${describeItem(toItemRecord(item), folderPaths)}`;
}

/** @throws CodedError `usage` (exit 2) if a change was made in another service or workspace than the one in use */
export async function assertSameService(context: Context, change: CountedChange): Promise<void> {
  const { id, service, profile, workspace } = change;
  const {
    baseUrl: { origin },
    workspace: current,
  } = await context.account();
  const chosen = workspace === null || current === undefined ? undefined : await resolveWorkspaceUid(context);
  if (chosen !== undefined && workspace !== null && !isSameUid(chosen, workspace))
    throw usageError(`change ${id} was made in workspace ${workspace}`, `--workspace ${workspace}`);
  if (origin === service) return;
  const hint = profile ? `--profile ${profile}` : 'use the profile of that service';
  throw usageError(`change ${id} was made at ${service}, and this account is at ${origin}`, hint);
}

const toHistoryRecord = (change: CountedChange): HistoryRecord => ({
  change_id: change.id,
  command: change.command,
  summary: change.summary,
  item_name: change.itemName,
  base_url: change.service,
  workspace_uid: change.workspace,
  profile: change.profile,
  state: change.isRunning ? 'running' : change.state === 'finished' ? 'finished' : 'interrupted',
  item_count: change.pending + change.unknown + change.done + change.failed + change.conflict,
  done_count: change.done,
  unknown_count: change.unknown,
  failed_count: change.failed,
  conflict_count: change.conflict,
  request_count: change.requestCount,
  started_at: change.startedAt,
  undo_of: change.undoOf,
  undone_by: change.undoneBy,
});

const changeColumns: Column<HistoryRecord>[] = [
  { field: 'change_id', noTruncate: true },
  { field: 'started_at', noTruncate: true },
  { field: 'command', noTruncate: true },
  {
    field: 'summary',
    value: ({ summary, item_name }) =>
      escapeControls(item_name === null || summary.includes(item_name) ? summary : `${summary}: ${item_name}`),
    minWidth: 12,
  },
  { field: 'done_count', value: ({ done_count, item_count }) => `${done_count} of ${item_count}`, noTruncate: true },
  {
    field: 'state',
    value: ({ state, undone_by }, { isTerminal }) => (isTerminal && undone_by ? 'undone' : state),
    noTruncate: true,
  },
  { field: 'profile', dropPriority: 1 },
];

const itemList = ({ folderPaths }: CountedChange, items: readonly StoredItem[]): Result =>
  listBy(
    ({ uid }) => uid,
    items.map((item): ItemRecord => ({ ...toItemRecord(item), outcome: item.state, reason: item.error })),
    itemColumns(folderPaths),
    'no items',
  );

const toItemRecord = ({ uid, kind, name, before, after, tags, localPath = null }: ChangeItem) => ({
  ...{ uid, kind, name, before, after, local_path: localPath },
  ...{ add_tags: [...(tags?.add ?? [])], remove_tags: [...(tags?.remove ?? [])] },
});

const itemColumns = (folderPaths: CountedChange['folderPaths']): Column<ItemRecord>[] => [
  { field: 'uid', uid: 'asset' },
  { field: 'name', isFirst: true, minWidth: 12 },
  { header: 'CHANGE', value: (item) => describeItem(item, folderPaths), minWidth: 12 },
  {
    field: 'outcome',
    value: ({ outcome, reason }, { isTerminal }) =>
      isTerminal && reason ? `${outcome}: ${escapeControls(reason)}` : outcome,
  },
];

/** Describes a change: `name: a → b; tags: +sea -draft`. Folders are named by the path that they had then. */
function describeItem(
  { kind, before, after, add_tags, remove_tags, local_path }: ReturnType<typeof toItemRecord>,
  folderPaths: CountedChange['folderPaths'],
): string {
  if (after === null) {
    const action = kind === 'asset' ? 'to the trash' : 'delete';
    return local_path ? `${action}; uploaded from ${escapeControls(local_path)}` : action;
  }
  const pathOf = (value: unknown) => folderPaths[normalizeUid(displayText(value))];
  const text = (values: JsonObject | null, field: string) => {
    if (!values || !(field in values)) return 'unknown';
    const isFolder = [before, after].some((each) => pathOf(each?.[field]) !== undefined);
    return displayText(pathOf(values[field]) ?? values[field]) || (isFolder ? '/' : '(none)');
  };
  const tags = [...add_tags.map((tag) => `+${tag}`), ...remove_tags.map((tag) => `-${tag}`)];
  return [
    ...Object.keys(after).map((field) => `${escapeControls(field)}: ${text(before, field)} → ${text(after, field)}`),
    ...(tags.length > 0 ? [`tags: ${escapeControls(tags.join(' '))}`] : []),
  ].join('; ');
}
