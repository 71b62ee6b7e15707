import type { Api } from '../../../client/api/api.ts';
import type { CountedChange, LeftItem } from '../../../client/changes/change-history.ts';
import { countRequests } from '../../../client/changes/items.ts';
import { nextStepOf } from '../../../client/changes/three-way.ts';
import { planUndo, type UndoPlan } from '../../../client/changes/undo.ts';
import type { ErrorCode } from '../../../client/error-table.ts';
import { CodedError, usageError } from '../../../client/errors.ts';
import { startAge } from '../../../shared/clock.ts';
import { pluralize } from '../../../shared/figures.ts';
import { escapeControls } from '../../../shared/sanitize.ts';
import { addExamples, type CommandDefinition, type CommandOutcome } from '../../command.ts';
import type { Context } from '../../context.ts';
import { runChange } from '../../library/run-change.ts';
import { changeResult } from '../../output/outcome.ts';
import { formatCost } from '../../uploading/plan-view.ts';
import { bulkResult, toOutcomes, type WriteOutcome } from '../bulk-result.ts';
import { confirmMany, noLimit, truncateLines } from '../confirm-many.ts';
import { assertSameService, changeIdHelp, findChange, lineOf, listHint } from './history.ts';

export const undo: CommandDefinition = (command, run) => {
  addExamples(command, 'mediactl undo --dry-run', 'mediactl undo', 'mediactl undo 3f2a9c1d --yes');
  command
    .description(
      'Reverts a change by writing the old values back. Values that have changed again are left alone and listed as conflicts. Also lists what the API cannot revert, such as a move to the trash.',
    )
    .argument('[change]', `${changeIdHelp} (default: the last one); see mediactl history`)
    .action(run(runUndo));
};

async function runUndo(context: Context, id: string | undefined): Promise<CommandOutcome> {
  const { terminal, settings, signal } = context;
  const change = id === undefined ? await findLast(context) : await findChange(context, id);
  await assertSameService(context, change);
  if (change.isRunning) throw new CodedError(`change ${change.id} is being carried out`, { code: 'locked' });
  const store = await context.state.history();
  const api = await context.api();
  const ageMs = startAge(context.clock);
  const folders = (await context.writer()).folderAccess(change);
  const plan = await planUndo(api, folders, await store.items(change.id), signal);
  if (id === undefined && plan.items.length > 0) await assertKnownWorkspace(context, change);
  const what = `undo ${change.id}: ${change.summary}`;
  terminal.info(`${escapeControls(what)}; ${describePlan(context, api, plan)}`);
  const { items } = plan;
  const leftovers = skippedOf(plan);
  // With nothing left at all, an undo without items records that the change is undone.
  if (settings.dryRun || (items.length === 0 && leftovers.length > 0)) return undoResult(context, leftovers, plan);
  const lines = items.map((item) => lineOf(item, change));
  await confirmMany(context, {
    ...{ count: items.length, noun: 'items', limit: noLimit },
    what: `write the old values of ${pluralize(items.length, 'item')}`,
    lines: async () => truncateLines(lines, lines.length),
  });
  const workspace = change.workspace ?? undefined;
  const left = [...plan.conflicts, ...plan.irreversible];
  const undoing = { command: 'undo', summary: what, undoOf: change.id, items, left, workspace, ageMs };
  if (change.state !== 'finished') await store.setState(change.id, 'finished'); // what is left of it must not be resumed
  const results = await runChange(context, undoing);
  return undoResult(context, [...toOutcomes(results), ...leftovers], plan);
}

/** Returns the last change that wrote something, was not undone and is no undo. @throws CodedError `not_found` (exit 3) */
async function findLast(context: Context): Promise<CountedChange> {
  const { origin } = (await context.account()).baseUrl;
  const last = await (await context.state.historyIfAny())?.findLast(origin);
  if (last) return last;
  throw new CodedError('there is no change to undo', { code: 'not_found', hint: listHint });
}

/** @throws CodedError `usage` (exit 2) if the workspace of the last change is unknown, and it may not ask */
async function assertKnownWorkspace(context: Context, { id, workspace }: CountedChange): Promise<void> {
  if (workspace !== null) return;
  const visible = await (await context.library()).workspaceInUse.visibleIfAllowed();
  if (visible && visible.length <= 1) return;
  const problem = `the last change, ${id}, may be of another workspace`;
  if (!context.terminal.isInteractive || context.settings.yes)
    throw usageError(problem, `mediactl undo ${id}`, 'the history does not have its workspace');
  context.terminal.info(problem); // the question follows
}

function describePlan(
  { clock }: Context,
  { assets, transport }: Api,
  { items, conflicts, irreversible, readCount }: UndoPlan,
) {
  const cost = formatCost(countRequests(assets, items), transport.connection.rateLimit, clock.now());
  return [
    items.length > 0 ? `${pluralize(items.length, 'item')} to write` : 'nothing to write',
    ...(conflicts.length > 0 ? [`${conflicts.length} changed meanwhile`] : []),
    ...(irreversible.length > 0 ? [`${irreversible.length} that cannot be reverted`] : []),
    ...(items.length > 0 ? [`about ${cost}, after ${readCount} to read`] : []),
  ].join('; ');
}

const skippedOutcomes = (skipped: readonly LeftItem[], code: ErrorCode): WriteOutcome[] =>
  skipped.map(({ item, reason }) => ({
    ...{ uid: item.uid, name: item.name },
    error: new CodedError(`not reverted: ${reason}`, {
      code,
      ...(code === 'changed_meanwhile' && nextStepOf(item)),
    }),
  }));

const skippedOf = ({ conflicts, irreversible }: UndoPlan) => [
  ...skippedOutcomes(conflicts, 'changed_meanwhile'),
  ...skippedOutcomes(irreversible, 'cannot_undo'),
];

function undoResult(context: Context, outcomes: readonly WriteOutcome[], plan: UndoPlan): CommandOutcome {
  if (!context.settings.dryRun) {
    const records = bulkResult(context, outcomes, { outcome: 'updated', label: 'reverted', noun: 'items' });
    return changeResult(context, outcomes, { verb: 'reverted', noun: 'item' }, records);
  }
  const planned = plan.items.map(({ uid, name }) => ({ uid, name, error: undefined }));
  const rows = [...planned, ...skippedOf(plan)];
  return bulkResult(context, rows, { outcome: 'planned', label: 'to write', noun: 'items' });
}
