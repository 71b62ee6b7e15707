import { basename, resolve } from 'node:path';
import type { Command } from '@commander-js/extra-typings';
import { planApply } from '../../../client/changes/apply-plan.ts';
import type { ChangeItem } from '../../../client/changes/change-item.ts';
import { createFolderPath, parseFolderPath } from '../../../client/changes/folder-creation.ts';
import { countRequests } from '../../../client/changes/items.ts';
import { foundByRow, type RowHashes } from '../../../client/changes/sheet.ts';
import type {
  ApplyDeps,
  ApplyOptions,
  ApplyPlan,
  SheetChange,
  SheetOutcome,
} from '../../../client/changes/sheet-change.ts';
import { readSheet } from '../../../client/changes/sheet-encoding.ts';
import { writeOutput } from '../../../client/download/output-file.ts';
import { CodedError, endsTheRun, partialFailure, usageError } from '../../../client/errors.ts';
import { type SelectionPorts, selectAsset } from '../../../client/library/select-assets.ts';
import { doubtAbout, type WorkspaceDoubt } from '../../../client/library/workspace-doubt.ts';
import type { Belonging, FoundBy, Membership } from '../../../client/library/workspace-in-use.ts';
import { isSameInode, tryStat } from '../../../client/local-path.ts';
import { createTableEncoder, tableFormatOf } from '../../../client/table/format-table.ts';
import type { AssetRecord } from '../../../contract/types.ts';
import { startAge } from '../../../shared/clock.ts';
import { formatCount, pluralize } from '../../../shared/figures.ts';
import { displayText, escapeControls } from '../../../shared/sanitize.ts';
import { type ActionWrapper, addExamples, type CommandOutcome, type FlagsOf } from '../../command.ts';
import type { Context } from '../../context.ts';
import { anyWorkspaceOption, type IdOptions, selectionPorts } from '../../library/asset-ids.ts';
import { createFolderLookup } from '../../library/folder-lookup.ts';
import { fetchFolderTree } from '../../library/folders.ts';
import { runChange } from '../../library/run-change.ts';
import { outputPorts } from '../../library/transfer-ports.ts';
import { announce, phrase } from '../../output/outcome.ts';
import { type Column, listBy, noResult, type Result, record } from '../../output/result.ts';
import type { OutputRecord } from '../../reference/schemas.ts';
import { readInput } from '../../terminal/input.ts';
import { confirm } from '../../terminal/prompt.ts';
import { wrapText } from '../../terminal/wrap.ts';
import { formatCost } from '../../uploading/plan-view.ts';
import { toOutcomes } from '../bulk-result.ts';
import { encodingOption } from '../encoding-option.ts';

type ApplyRecord = OutputRecord<'apply'>;

const fields = ['line', 'uid', 'name', 'column', 'before', 'after', 'outcome', 'reason'] as const;

export function apply(command: Command, run: ActionWrapper): void {
  addExamples(
    command,
    'mediactl apply library.csv --dry-run',
    'mediactl apply library.csv --report changes.csv',
    'mediactl apply names.csv --clear-with NONE --yes',
  );
  addApplyOptions(command).action(
    run((context, file, flags) => runApply(context, parseApplyRequest(context, file, flags))),
  );
}

const addApplyOptions = (command: Command) =>
  command
    .description(
      'Applies an edited table to the library: shows what would change, asks once, and writes the edited cells; without the column was, each nonempty cell that differs. Run it again to continue after an interruption.',
    )
    .argument('<file>', 'CSV, TSV or JSON lines with a column uid or path; or -')
    .option('--mine', 'overwrite cells that were also changed in the library')
    .option('--theirs', 'keep them, without an error')
    .option('--restore', 'write back exported values that an apply replaced')
    .option('--shuffled', 'write a column that has the values of other rows')
    .option('--create-folders', 'create folders that do not exist')
    .option('--clear-with <text>', 'cell that clears a value, without the column was')
    .option('--report <file>', 'also write results: .csv, .tsv or .jsonl')
    .option(...encodingOption)
    .option(...anyWorkspaceOption);

type ApplyRequest = ReturnType<typeof parseApplyRequest>;

/** @throws CodedError `usage` (exit 2) if options conflict */
function parseApplyRequest(
  { signal }: Context,
  file: string,
  { mine, theirs, restore, shuffled, createFolders, clearWith, ...flags }: FlagsOf<typeof addApplyOptions>,
) {
  if (mine && theirs) throw usageError('--mine and --theirs cannot be used together', 'use one of them');
  const options: ApplyOptions = {
    prefer: mine ? 'mine' : theirs ? 'theirs' : undefined,
    restores: restore ?? false,
    isShuffled: shuffled ?? false,
    mayCreateFolders: createFolders ?? false,
    clearWith,
    signal,
  };
  return { ...flags, file, options };
}

async function runApply(
  context: Context,
  { file, encoding, report, anyWorkspace, options }: ApplyRequest,
): Promise<CommandOutcome> {
  const { terminal, settings } = context;
  const name = file === '-' ? 'stdin' : file;
  const table = await readSheet(await readInput(terminal, file), name, encoding);
  if (report !== undefined) await assertOtherFile(report, file);
  const ageMs = startAge(context.clock);
  const source = file === '-' ? null : resolve(context.host.cwd, file);
  const lookup = createPathLookup(context, { anyWorkspace });
  const plan = await planApply(await applyDeps(context, source, lookup), table, options);
  if (plan.items.length > 0) await lookup.confirm(plan.unknown);
  if (plan.ignoredColumns.length > 0)
    terminal.warn(escapeControls(`columns that are ignored: ${plan.ignoredColumns.join(', ')}`));
  terminal.info(await describePlan(context, plan));
  if (settings.dryRun) {
    const planned = withoutUnchanged(plan.changes);
    return { result: planResult(context, planned), failure: failureOf(context, planned, new Map()) };
  }
  const failures = new Map<string, CodedError>();
  const makeChanges = async (): Promise<ApplyRecord[]> => {
    const change = { command: 'apply', source, summary: `apply ${basename(name)}`, found: plan.found, ageMs };
    if (plan.items.length === 0) await (await context.writer()).settle({ ...change, items: [] });
    else {
      await confirmPlan(context, plan);
      const results = await runChange(context, { ...change, items: await createFolders(context, plan) });
      for (const { item, error } of results) if (error) failures.set(item.uid, error);
      if (failures.size < results.length) announce(context, `changed ${phrase(toOutcomes(results), 'asset')}`);
    }
    return plan.changes.map((each) => toRecord(each, failures));
  };
  const all = await (report === undefined ? makeChanges() : withReport(context, report, makeChanges));
  const records = withoutUnchanged(all);
  // On a terminal, the error names the cells that were not changed.
  const result = context.canUseSentences ? noResult : rowsOf(records);
  return { result, failure: failureOf(context, records, failures) };
}

const rowsOf = (records: readonly ApplyRecord[]) => listBy(({ uid }) => uid ?? '', records, columns, '');

/** Returns one row per change, or on a terminal wrapped lines, since a table would cut the values. */
function planResult(context: Context, records: readonly ApplyRecord[]): Result {
  if (!context.isHumanOutput || records.length === 0) return rowsOf(records);
  const lines = linesOf(records);
  return record(records, '', (_, render) => lines.map((line) => `${wrapText(line, render.columns)}\n`).join(''));
}

/** Leaves out cells that the library already has. There can be many after an interruption; a report has them all. */
const withoutUnchanged = <T extends ApplyRecord>(records: readonly T[]) =>
  records.filter(({ outcome }) => outcome !== 'unchanged');

/** @throws CodedError `usage` (exit 2) if the report would replace the table */
async function assertOtherFile(report: string, table: string): Promise<void> {
  if (isSameInode(await tryStat(report), await tryStat(table)))
    throw usageError('--report would replace the table', 'choose another file');
}

async function applyDeps(context: Context, source: string | null, { ports }: PathLookup): Promise<ApplyDeps> {
  const { assets } = await context.api();
  const tree = async () => (await fetchFolderTree(context)).tree;
  const history = source === null ? undefined : await context.state.historyIfAny().catch(() => undefined);
  const findWrites = await history?.findWrites(source ?? '');
  return {
    assets,
    tree,
    findFolder: await createFolderLookup(context),
    classify: async (unknown) => classifyRows(context, unknown, { foundBy: 'list' }),
    belongingOf: (asset, hashes) => belongingOfRow(context, asset, hashes),
    findByPath: async (path) => {
      const request = { collection: 'assets', id: path, purpose: 'change', isLiteral: true } as const;
      return selectAsset(await context.library(), request, ports);
    },
    findWrites: async (uid, since) => findWrites?.(uid, since) ?? [],
  };
}

const classifyRows = async (
  context: Context,
  assets: readonly AssetRecord[],
  how: { foundBy: FoundBy; isFromList?: boolean },
): Promise<Membership> => {
  const { workspaceInUse } = await context.library();
  const ownFolders = async () => new Set();
  return workspaceInUse.classify(assets, { signal: context.signal, certainty: 'sure', ownFolders, ...how });
};

/** Answers from the record, from the table, or else from the list of workspaces. */
async function belongingOfRow(context: Context, asset: AssetRecord, hashes: RowHashes | undefined): Promise<Belonging> {
  const { workspaceInUse } = await context.library();
  const foundBy = hashes ? foundByRow(asset.uid, hashes, await workspaceInUse.uidIfKnown('sure')) : 'list';
  const { own, others } = await classifyRows(context, [asset], { foundBy, isFromList: true });
  return own.length > 0 ? 'yes' : others.length > 0 ? 'no' : 'unknown';
}

type PathLookup = { ports: SelectionPorts; confirm(unknown: readonly AssetRecord[]): Promise<void> };

/** Looks up the paths of a table, and asks once about all assets of which the workspace is not known. */
function createPathLookup(context: Context, options: IdOptions): PathLookup {
  const ports = selectionPorts(context, 'assets', options);
  let doubt: WorkspaceDoubt | undefined;
  const add = (another: WorkspaceDoubt) => {
    doubt = { ...another, count: another.count + (doubt?.count ?? 0) };
  };
  return {
    ports: {
      ...ports,
      choose: async (path, found) => {
        if (found.length > 1) throw usageError(`${found.length} assets are at ${path}`);
        return found[0] as AssetRecord;
      },
      missing: ({ id }) => new CodedError(`there is no asset at ${id}`, { code: 'not_found' }),
      onUnknown: async (another) => add(another),
    },
    confirm: async (unknown) => {
      const how = { purpose: 'change', isByFilters: false } as const;
      if (unknown.length > 0) add(await doubtAbout(await context.library(), unknown, how));
      if (doubt) await ports.onUnknown(doubt);
    },
  };
}

/** Texts of the outcomes, those that need a look first. */
const outcomeTexts: readonly [SheetOutcome, text: string][] = [
  ['invalid', 'invalid'],
  ['refused', 'refused (probably changed by a spreadsheet)'],
  ['conflict', 'in conflict with the library, left as they are (--mine or --theirs decides)'],
  ['outdated', 'as exported, though an earlier apply changed them (--restore or --theirs decides)'],
  ['kept', 'changed in the library, left as they are'],
  ['not_found', 'for assets that do not exist'],
  ['skipped', 'without uid and path, skipped'],
  ['unchanged', 'already as in the table'],
];

/** Describes a plan: "500 rows: 3 cells to change in 2 assets, 1 invalid; 2 requests". */
async function describePlan(
  context: Context,
  { rowCount, changes, items, newFolders, readCount }: ApplyPlan,
): Promise<string> {
  const isExact = ({ outcome, reason }: SheetChange) => outcome !== 'unchanged' || reason === null;
  const count = (outcome: SheetOutcome) => changes.filter((each) => each.outcome === outcome && isExact(each)).length;
  const planned = count('planned');
  const parts = [
    ...(planned > 0 ? [`${pluralize(planned, 'cell')} to change in ${pluralize(items.length, 'asset')}`] : []),
    ...outcomeTexts.flatMap(([outcome, text]) =>
      count(outcome) > 0 ? [`${formatCount(count(outcome))} ${text}`] : [],
    ),
    ...(newFolders.length > 0 ? [`${pluralize(newFolders.length, 'folder')} to create`] : []),
  ];
  const { assets, transport } = await context.api();
  const inexact = changes.filter(({ outcome, reason }) => outcome === 'unchanged' && reason).length;
  if (inexact > 0) parts.push(`${formatCount(inexact)} that differ only in outer spaces or accents, left as they are`);
  const cost = formatCost(
    countRequests(assets, items) + 2 * newFolders.length,
    transport.connection.rateLimit,
    context.clock.now(),
  );
  const requests = items.length > 0 ? `; about ${cost}, after ${formatCount(readCount)} to read` : '';
  return `${pluralize(rowCount, 'row')}: ${parts.join(', ') || 'nothing to change'}${requests}`;
}

/** Maximum number of changes that are shown above the question. */
const maxShown = 20;

async function confirmPlan({ terminal, settings }: Context, { changes, items }: ApplyPlan): Promise<void> {
  if (terminal.isInteractive && !settings.yes) {
    const shown = linesOf(withoutUnchanged(changes));
    const more = shown.length > maxShown ? [`… and ${shown.length - maxShown} more; --dry-run shows all`] : [];
    terminal.emit([...shown.slice(0, maxShown), ...more].join('\n'));
  }
  await confirm({ terminal, settings }, `Change ${pluralize(items.length, 'asset')}?`);
}

/** Returns a line per change for a terminal, those that need a look first. */
function linesOf(changes: readonly ApplyRecord[]): string[] {
  const text = (value: string | null) => displayText(value) || '(none)';
  const lineOf = ({ line, name, uid, column, before, after, outcome, reason }: ApplyRecord) => {
    const isPlanned = outcome === 'planned';
    const values = isPlanned ? `${text(before)} → ${text(after)}` : `${text(before)}, in the table: ${text(after)}`;
    const change = column ? `${column}: ${values}` : '';
    const problem = isPlanned ? '' : `${outcome}${reason ? `: ${escapeControls(reason)}` : ''}`;
    const asset = column === 'name' ? '' : displayText(name ?? uid);
    return `  line ${line}  ${[problem, asset, change].filter(Boolean).join('  ')}`;
  };
  const isProblem = ({ outcome }: ApplyRecord) => outcome !== 'planned';
  return [...changes.filter(isProblem), ...changes.filter((each) => !isProblem(each))].map(lineOf);
}

/** Creates the folders of a plan. @returns its items, with the uids of the folders in place of their paths */
async function createFolders(context: Context, { items, newFolders }: ApplyPlan): Promise<ChangeItem[]> {
  if (newFolders.length === 0) return items;
  const library = await context.library();
  const uids = new Map<string, string>();
  for (const path of newFolders)
    uids.set(path, (await createFolderPath(library, parseFolderPath(path), true)).node.folder.uid);
  return items.map((item) => ({
    ...item,
    after: Object.fromEntries(
      Object.entries(item.after ?? {}).map(([field, value]) => {
        const folder = library.api.assets.folderIn({ [field]: value });
        return [field, (folder && uids.get(folder)) ?? value];
      }),
    ),
  }));
}

function toRecord(change: SheetChange, failures: ReadonlyMap<string, CodedError>): ApplyRecord {
  if (change.outcome !== 'planned') return change;
  const error = failures.get(change.uid ?? '');
  if (!error) return { ...change, outcome: 'updated' };
  return { ...change, outcome: endsTheRun(error) ? 'planned' : 'failed', reason: error.message };
}

/** Writes the records that `work` returns to a file, which may exist. */
function withReport(context: Context, path: string, work: () => Promise<ApplyRecord[]>): Promise<ApplyRecord[]> {
  const encoder = createTableEncoder(tableFormatOf(path), fields, ['name', 'before', 'after', 'reason']);
  return writeOutput(outputPorts(context, '--report'), { path, mayReplace: true }, async (file) => {
    const records = await work();
    await file.write(Buffer.from((await encoder.head()) + (await encoder.rows(records))));
    return records;
  });
}

/** Returns the error that names what was not applied, or why the run ended; undefined if all was. */
function failureOf(
  { signal, settings: { dryRun } }: Context,
  records: readonly ApplyRecord[],
  failures: ReadonlyMap<string, CodedError>,
): CodedError | undefined {
  if (signal.aborted) return signal.reason as CodedError;
  const settled = ['updated', 'kept', ...(dryRun ? ['planned'] : [])];
  const left = records.filter(({ outcome }) => !settled.includes(outcome));
  if (left.length === 0) return undefined;
  const errors = left.map(({ line, column, outcome, reason, uid }) => {
    const failed = failures.get(uid ?? '');
    const where = `line ${line}${column ? `, ${column}` : ''}`;
    return (
      failed?.withSubject(where) ??
      new CodedError(`${where}: ${outcome}`, { code: 'skipped', reason: reason ?? undefined })
    );
  });
  return partialFailure(
    `${left.length} of ${records.length} cells ${dryRun ? 'would not be' : 'were not'} changed`,
    errors,
    left.some(({ outcome }) => outcome === 'conflict')
      ? 'run the same command with --mine, to overwrite what was changed in the library too, or with --theirs, to keep it'
      : undefined,
  );
}

const columns = fields.map((field): Column<ApplyRecord> => ({ field }));
