import { basename } from 'node:path';
import type { Command } from '@commander-js/extra-typings';
import {
  type ApplyDeps,
  type ApplyOptions,
  type ApplyPlan,
  planApply,
  type SheetOutcome,
} from '../../../client/bulk/apply-plan.ts';
import type { BulkItem } from '../../../client/bulk/run-store.ts';
import { MediactlError, partialFailure, usageError } from '../../../client/errors.ts';
import { findAssetsByPath } from '../../../client/library/find-assets.ts';
import { createFolderPath, parseFolderPath } from '../../../client/library/folder-creation.ts';
import { createTableEncoder, tableFormatOf } from '../../../client/table/format-table.ts';
import { readTable } from '../../../client/table/read-table.ts';
import { formatCount, pluralize } from '../../../contract/figures.ts';
import { displayText, escapeControls } from '../../../contract/sanitize.ts';
import { type ActionWrapper, addExamples, type CommandOutcome, type FlagsOf } from '../../command.ts';
import type { Context } from '../../context.ts';
import { itemWriter, runChange } from '../../library/bulk-run.ts';
import { fetchFolderTree } from '../../library/folders.ts';
import { libraryOf } from '../../library/library.ts';
import { type Column, listBy } from '../../output/result.ts';
import type { OutputRecord } from '../../reference/schemas.ts';
import { readInput } from '../../terminal/input.ts';
import { confirm } from '../../terminal/prompt.ts';
import { formatCost } from '../../uploading/plan-view.ts';
import { writeOutput } from './output-file.ts';

type ApplyRecord = OutputRecord<'apply'>;

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
      'Applies an edited table, from export or made by hand, to the library: shows what would change, asks once, and changes only cells that were edited. Run it again to continue after an interruption.',
    )
    .argument('<file>', 'CSV, TSV or JSON lines, with the column uid or path; - for stdin')
    .option('--mine', 'where the library was changed, too, use the value of the table')
    .option('--theirs', 'where the library was changed, too, leave it, without an error')
    .option('--create-folders', 'create folders that do not exist')
    .option('--clear-with <text>', 'in a table without the column was, the text that clears a value')
    .option('--report <file>', 'also write what became of each change to a file: .csv, .tsv or .jsonl');

type ApplyRequest = { file: string; report: string | undefined; options: ApplyOptions };

/** @throws MediactlError `usage` (exit 2) if options conflict */
function parseApplyRequest(
  { signal }: Context,
  file: string,
  { mine, theirs, createFolders, clearWith, report }: FlagsOf<typeof addApplyOptions>,
): ApplyRequest {
  if (mine && theirs) throw usageError('--mine and --theirs cannot be used together', 'use one of them');
  const prefer = mine ? 'mine' : theirs ? 'theirs' : undefined;
  return { file, report, options: { prefer, mayCreateFolders: createFolders ?? false, clearWith, signal } };
}

async function runApply(context: Context, { file, report, options }: ApplyRequest): Promise<CommandOutcome> {
  const { terminal, settings } = context;
  const name = file === '-' ? 'stdin' : file;
  const table = await readTable(await readInput(terminal, file), name);
  if (table.warning) terminal.warn(escapeControls(`${name}: ${table.warning}`));
  const plan = await planApply(await applyDeps(context), table, options);
  if (plan.ignoredColumns.length > 0)
    terminal.warn(escapeControls(`columns that are ignored: ${plan.ignoredColumns.join(', ')}`));
  terminal.info(await describePlan(context, plan));
  const failures = new Map<string, MediactlError>();
  if (!settings.dryRun && plan.items.length > 0) {
    await confirmPlan(context, plan);
    const items = await createFolders(context, plan);
    const change = { command: 'apply', summary: `apply ${basename(name)}`, source: name, items };
    const results = await runChange(context, change, await itemWriter(context));
    for (const { item, error } of results) if (error) failures.set(item.uid, error);
  }
  const records = plan.changes.map((each) => toRecord(each, settings.dryRun, failures));
  if (report !== undefined) await writeReport(context, report, records);
  const result = listBy(({ uid }) => uid ?? '', records, columns, '');
  return { result, failure: settings.dryRun ? undefined : failureOf(context, records, failures) };
}

async function applyDeps(context: Context): Promise<ApplyDeps> {
  const { assets } = await context.api();
  const tree = async () => (await fetchFolderTree(context)).tree;
  const history = context.settings.history ? await context.runStoreIfAny().catch(() => undefined) : undefined;
  const findWrites = await history?.findWrites('apply');
  return {
    assets,
    tree,
    findByPath: async (path) => {
      const { found } = await findAssetsByPath(assets, path, await tree(), { isLiteral: true });
      const [asset, ...others] = found;
      if (others.length > 0) throw usageError(`${found.length} assets are at ${path}`);
      if (asset) return asset;
      throw new MediactlError(`there is no asset at ${path}`, { code: 'not_found' });
    },
    findWrites: async (uid) => findWrites?.(uid) ?? [],
  };
}

const outcomeTexts: readonly [SheetOutcome, text: string][] = [
  ['planned', 'to change'],
  ['conflict', 'changed in the library, too, and left (--mine or --theirs decides)'],
  ['kept', 'changed in the library, too, and left'],
  ['refused', 'refused, since a spreadsheet seems to have changed them'],
  ['gone', 'gone'],
  ['new', 'new, skipped'],
  ['invalid', 'not valid'],
];

/** Describes a plan: "500 rows: 3 to change, 1 gone; 3 requests". */
async function describePlan(context: Context, { rowCount, changes, items, doneCount, newFolders }: ApplyPlan) {
  const counts = outcomeTexts.map(([outcome, text]) => ({
    text,
    count: changes.filter((each) => each.outcome === outcome).length,
  }));
  const parts = [
    ...counts,
    { text: 'already as in the table', count: doneCount },
    { text: 'folders to create', count: newFolders.length },
  ].flatMap(({ text, count }) => (count > 0 ? [`${formatCount(count)} ${text}`] : []));
  const { rateLimit } = (await context.api()).transport.connection;
  const cost = formatCost(items.length + 2 * newFolders.length, rateLimit, context.clock.now());
  const rows = `${formatCount(rowCount)} ${rowCount === 1 ? 'row' : 'rows'}`;
  return `${rows}: ${parts.join(', ') || 'nothing to change'}${items.length > 0 ? `; ${cost}` : ''}`;
}

/** Maximum number of changes that are shown above the question. */
const maxShown = 20;

async function confirmPlan({ terminal, settings }: Context, { changes, items }: ApplyPlan): Promise<void> {
  const shown = changes.slice(0, maxShown).map((each) => `  line ${each.line}: ${describeChange(each)}`);
  const more = changes.length > maxShown ? [`  … and ${changes.length - maxShown} more; --dry-run shows all`] : [];
  if (terminal.isInteractive && !settings.yes) terminal.emit([...shown, ...more].join('\n'));
  const question = `Change ${pluralize(items.length, 'asset')}?`;
  await confirm(terminal, question, { yes: settings.yes, instead: 'run the same command with --yes' });
}

const describeChange = ({ column, before, after, outcome, reason }: ApplyPlan['changes'][number]): string => {
  const text = (value: string | null) => displayText(value) || '(none)';
  const change = column ? `${column}: ${text(before)} → ${text(after)}` : '';
  return [change, outcome === 'planned' ? '' : `${outcome}${reason ? `, ${escapeControls(reason)}` : ''}`]
    .filter(Boolean)
    .join('; ');
};

/** Creates the folders of a plan. @returns its items, with the uids of the folders in place of their paths */
async function createFolders(context: Context, { items, newFolders }: ApplyPlan): Promise<BulkItem[]> {
  if (newFolders.length === 0) return items;
  const { assets } = await context.api();
  const library = await libraryOf(context);
  const uids = new Map<string, string>();
  for (const path of newFolders)
    uids.set(path, (await createFolderPath(library, parseFolderPath(path), true)).node.folder.uid);
  return items.map((item) => ({
    ...item,
    after: Object.fromEntries(
      Object.entries(item.after ?? {}).map(([field, value]) => {
        const folder = assets.folderIn({ [field]: value });
        return [field, (folder && uids.get(folder)) ?? value];
      }),
    ),
  }));
}

function toRecord(
  change: ApplyPlan['changes'][number],
  isDryRun: boolean,
  failures: ReadonlyMap<string, MediactlError>,
): ApplyRecord {
  if (change.outcome !== 'planned' || isDryRun) return change;
  const error = failures.get(change.uid ?? '');
  return error ? { ...change, outcome: 'failed', reason: error.message } : { ...change, outcome: 'updated' };
}

async function writeReport(context: Context, path: string, records: readonly ApplyRecord[]): Promise<void> {
  const fields = ['line', 'uid', 'name', 'column', 'before', 'after', 'outcome', 'reason'];
  const encoder = createTableEncoder(tableFormatOf(path), fields, ['name', 'before', 'after', 'reason']);
  await writeOutput(context, { path, option: '--report' }, async (file) => {
    await file.write(Buffer.from((await encoder.head()) + (await encoder.rows(records))));
  });
}

/** Returns the error that names what was not applied, or why the run ended; undefined if all was. */
function failureOf(
  { signal }: Context,
  records: readonly ApplyRecord[],
  failures: ReadonlyMap<string, MediactlError>,
): MediactlError | undefined {
  if (signal.aborted) return signal.reason as MediactlError;
  const left = records.filter(({ outcome }) => outcome !== 'updated' && outcome !== 'kept');
  if (left.length === 0) return undefined;
  const errors = left.map(({ line, column, outcome, reason, uid }) => {
    const failed = failures.get(uid ?? '');
    const where = `line ${line}${column ? `, ${column}` : ''}`;
    return (
      failed?.withSubject(where) ??
      new MediactlError(`${where}: ${outcome}`, { code: 'skipped', reason: reason ?? undefined })
    );
  });
  return partialFailure(`${left.length} of ${records.length} changes were not made`, errors);
}

const columns: Column<ApplyRecord>[] = [
  { header: 'LINE', value: ({ line }) => String(line), noTruncate: true },
  { header: 'UID', value: ({ uid }) => displayText(uid), uid: 'asset', dropPriority: 2 },
  { header: 'NAME', value: ({ name }) => displayText(name), isFirst: true, minWidth: 12, dropPriority: 1 },
  { header: 'COLUMN', value: ({ column }) => displayText(column), noTruncate: true },
  { header: 'BEFORE', value: ({ before }) => displayText(before), minWidth: 10 },
  { header: 'AFTER', value: ({ after }) => displayText(after), minWidth: 10 },
  {
    header: 'RESULT',
    value: ({ outcome, reason }, { isTerminal }) =>
      isTerminal && reason ? `${outcome}: ${escapeControls(reason)}` : outcome,
  },
];
