import { asText, type JsonObject, parseJsonOrUndefined } from '../../contract/json-values.ts';
import { isSlug } from '../../contract/slug.ts';
import type { Asset } from '../../contract/types.ts';
import { isUid, normalizeUid } from '../../contract/uid.ts';
import type { AssetsApi } from '../api/assets.ts';
import type { WorkspaceFolderTree } from '../api/folder-tree.ts';
import { asMediactlError, usageError } from '../errors.ts';
import { describeReformatting, unguardCell } from '../table/guard.ts';
import { cellText, type Table, type TableRow } from '../table/read-table.ts';
import type { BulkItem } from './run-store.ts';
import {
  advanceMarks,
  createFolderPaths,
  type EditableColumn,
  editableColumns,
  type FolderPaths,
  type Marks,
  markOf,
  normalizeCell,
  parseMarks,
  sheetColumns,
  sheetValuesOf,
  sortTags,
} from './sheet.ts';
import { fetchAssets } from './three-way.ts';

/** What becomes of a cell, or of a row if the column is null. */
export type SheetOutcome = 'planned' | 'already' | 'conflict' | 'kept' | 'refused' | 'gone' | 'new' | 'invalid';

/** A cell that differs from the library, or a row that cannot be applied. */
export type SheetChange = {
  /** Line in the file, from 1. */
  line: number;
  uid: string | null;
  /** Name of the asset now. */
  name: string | null;
  column: EditableColumn | null;
  /** Value in the library now. */
  before: string | null;
  /** Value in the file. */
  after: string | null;
  outcome: SheetOutcome;
  reason: string | null;
};

/** How a table is read and compared. */
export type ApplyOptions = {
  /** Cell of a table without the column `was` that clears the value; undefined if none does. */
  clearWith: string | undefined;
  /** Value that wins where both the file and the library were changed; undefined for neither. */
  prefer: 'theirs' | 'mine' | undefined;
  mayCreateFolders: boolean;
  signal: AbortSignal;
};

export type ApplyDeps = {
  assets: AssetsApi;
  /** Returns the folder tree of the workspace. Called only if a folder was edited. */
  tree(): Promise<WorkspaceFolderTree>;
  /** Returns the asset at a path such as `/Campaigns/clip.mp4`. @throws MediactlError if it is not exactly one */
  findByPath(path: string): Promise<Asset>;
  /** Returns what earlier applies wrote to an asset, oldest first. */
  findWrites(uid: string): Promise<readonly BulkItem[]>;
};

export type ApplyPlan = {
  rowCount: number;
  changes: SheetChange[];
  /** Assets to change. A folder that does not exist yet is named by its path in `newFolders`. */
  items: BulkItem[];
  /** Paths of the folders to create. */
  newFolders: string[];
  ignoredColumns: string[];
};

/** A row with at least one cell that was edited. */
type EditedRow = {
  line: number;
  /** Uid or path, as in the file. */
  key: string;
  wanted: Partial<Record<EditableColumn, string>>;
  /** Cells that an earlier apply has written, so that they need no request. */
  applied: [column: EditableColumn, text: string][];
  /** Columns whose cell begins with `'`, so that a spreadsheet has not changed it. */
  literal: EditableColumn[];
  marks: Marks | undefined;
};

/**
 * Compares a table with the library, cell by cell: as it was exported, in the file, and now. Rows that equal their
 * marks (`was`) need no request, others one each, or the whole list if that takes fewer.
 *
 * @throws MediactlError `usage` (exit 2) if the table has no column that can be changed or cannot be parsed
 */
export async function planApply(deps: ApplyDeps, table: Table, options: ApplyOptions): Promise<ApplyPlan> {
  const plan: ApplyPlan = { rowCount: 0, changes: [], items: [], newFolders: [], ignoredColumns: [] };
  const addRow = (line: number, uid: string | null, outcome: SheetOutcome, reason: string) =>
    plan.changes.push({ line, uid, name: null, column: null, before: null, after: null, outcome, reason });
  const edited: EditedRow[] = [];
  const lines = new Map<string, number>();
  const ignored = new Set<string>();
  const isJson = table.columns === undefined;
  if (table.columns) assertColumns(table.columns);
  for await (const row of table.rows) {
    plan.rowCount++;
    for (const column of Object.keys(row.cells)) if (!knownColumns.includes(column)) ignored.add(column);
    const read = await readRow(deps, row, isJson, options.clearWith);
    const other = lines.get(read.key);
    if (read.key !== '') lines.set(read.key, row.line);
    const uid = isUid(read.key) ? read.key : null;
    if ('problem' in read) addRow(row.line, uid, ...read.problem);
    else if (other !== undefined) addRow(row.line, uid, 'invalid', `line ${other} has the same asset`);
    else {
      if (Object.keys(read.wanted).length > 0) edited.push(read);
      for (const [column, text] of read.applied)
        plan.changes.push({
          line: row.line,
          uid,
          name: null,
          column,
          before: text,
          after: text,
          outcome: 'already',
          reason: null,
        });
    }
  }
  plan.ignoredColumns = [...ignored];
  const tree = edited.some(({ wanted }) => wanted.folder !== undefined) ? await deps.tree() : undefined;
  const paths = createFolderPaths(tree);
  const comparison = { tree, paths, isJson, options, plan };
  const rows = new Map(edited.map((row) => [isUid(row.key) ? normalizeUid(row.key) : row.key, row]));
  const compare = (key: string, asset: Asset) => {
    const row = rows.get(key);
    if (row && rows.delete(key)) compareRow(deps.assets, comparison, row, asset);
  };
  const uids = edited.flatMap(({ key }) => (isUid(key) ? [key] : []));
  // A listed record is enough if it shows all columns.
  const shows = (asset: Asset) =>
    Object.values(sheetValuesOf(asset, { pathOf: (uid) => uid })).every((value) => value !== undefined);
  await fetchAssets(deps.assets, uids, { shows, signal: options.signal }, (asset) =>
    compare(normalizeUid(asset.uid), asset),
  );
  for (const { line, key } of [...rows.values()]) {
    const found = isUid(key) ? undefined : await findByPath(deps, key);
    if (found && 'uid' in found) compare(key, found);
    else
      addRow(
        line,
        isUid(key) ? key : null,
        ...(found?.problem ?? (['gone', 'the library has no such asset'] as const)),
      );
  }
  plan.changes.sort((one, other) => one.line - other.line);
  return plan;
}

/** Finds the asset of a row without a uid. @returns the problem if there is not exactly one */
const findByPath = (deps: ApplyDeps, path: string): Promise<Asset | Pick<RowProblem, 'problem'>> =>
  deps.findByPath(path).catch((thrown) => {
    const { kind, message } = asMediactlError(thrown);
    if (kind !== 'notFound' && kind !== 'usage') throw thrown;
    return { problem: [kind === 'usage' ? 'invalid' : 'gone', message] };
  });

const knownColumns: readonly string[] = [...sheetColumns, 'path'];

function assertColumns(columns: readonly string[]): void {
  if (!columns.includes('uid') && !columns.includes('path'))
    throw usageError(
      'the table has no column uid or path',
      columns.length === 1 ? 'if a spreadsheet shows it as one column, import it as CSV with commas' : undefined,
    );
  if (!editableColumns.some((column) => columns.includes(column)))
    throw usageError('the table has no column that can be changed', `columns: ${editableColumns.join(', ')}`);
}

type RowProblem = { key: string; problem: [outcome: SheetOutcome, reason: string] };

/** Reads a row: its key, and the cells that differ from what was exported or applied last. */
async function readRow(
  deps: ApplyDeps,
  { line, cells }: TableRow,
  isJson: boolean,
  clearWith: string | undefined,
): Promise<EditedRow | RowProblem> {
  const [typed, path] = [cellText(cells.uid).trim(), cellText(cells.path).trim()];
  const key = typed === '' ? path : typed.toLowerCase();
  if (key === '') return { key, problem: ['new', 'it has no uid; upload adds assets'] };
  if (typed !== '' && !isUid(typed))
    return { key, problem: ['invalid', `${JSON.stringify(typed.slice(0, 50))} is not a uid`] };
  const exported = 'was' in cells ? parseMarks(cellText(cells.was).trim()) : undefined;
  if ('was' in cells && !exported)
    return { key, problem: ['invalid', 'the column was is damaged; export the table again'] };
  const writes = exported ? await deps.findWrites(key) : [];
  const hasMoves = writes.some(({ after }) => after && deps.assets.folderIn(after) !== undefined);
  const paths = createFolderPaths(hasMoves ? await deps.tree() : undefined);
  const marks = exported && advanceMarks(key, exported, writes, paths);
  const row: EditedRow = { line, key, wanted: {}, applied: [], literal: [], marks };
  for (const column of editableColumns) {
    const value = cells[column];
    if (value === undefined || value === null) continue;
    const cell = normalizeCell(column === 'tags' ? tagsText(value) : cellText(value));
    const isGuarded = marks !== undefined && !isJson;
    const isCleared = isJson ? cell === '' : isGuarded ? cell === '-' : cell === clearWith;
    if (cell === '' && !isCleared) continue;
    const text = normalizers[column](isCleared ? '' : isGuarded ? unguardCell(cell) : cell);
    const mark = markOf(key, column, text);
    if (!marks || mark !== marks[column]) row.wanted[column] = text;
    else if (mark !== exported?.[column]) row.applied.push([column, text]);
    if (isGuarded && cell.startsWith("'")) row.literal.push(column);
  }
  return row;
}

/** Returns the text of a cell with tags, also of a JSON list, as `--csv` prints it. */
function tagsText(value: unknown): string {
  const text = cellText(value);
  const list = text.startsWith('[') ? parseJsonOrUndefined(text) : undefined;
  return list === undefined ? text : cellText(list);
}

const tagsIn = (text: string) => text.split(/[\s,;]+/).filter(Boolean);

const normalizers: Record<EditableColumn, (text: string) => string> = {
  name: normalizeCell,
  description: normalizeCell,
  tags: (text) => sortTags(tagsIn(text)) ?? '',
  folder: (text) => (isUid(text) || text === '' ? text.toLowerCase() : `/${text.split('/').filter(Boolean).join('/')}`),
};

type RowComparison = {
  paths: FolderPaths;
  tree: WorkspaceFolderTree | undefined;
  isJson: boolean;
  options: ApplyOptions;
  plan: ApplyPlan;
};

/** Compares the edited cells of a row with its asset, and adds what differs to the plan. */
function compareRow(
  assets: AssetsApi,
  comparison: RowComparison,
  { line, wanted, literal, marks }: EditedRow,
  asset: Asset,
): void {
  const { paths, isJson, options, plan } = comparison;
  const present = sheetValuesOf(asset, paths);
  const name = asText(asset.name) ?? null;
  const fields: JsonObject = {};
  for (const [column, text] of Object.entries(wanted) as [EditableColumn, string][]) {
    const now = present[column];
    const add = (outcome: SheetOutcome, reason: string | null = null) =>
      plan.changes.push({ line, uid: asset.uid, name, column, before: now ?? null, after: text, outcome, reason });
    if (now !== undefined && normalizeCell(now) === text) {
      add('already');
      continue;
    }
    const cellFields = toFields(assets, comparison, asset, { column, before: now ?? '', after: text });
    const reformatting =
      isJson || literal.includes(column) ? undefined : describeReformatting(normalizeCell(now ?? ''), text);
    const mark = marks?.[column];
    const isUnchanged = mark === undefined ? now === '' : markOf(asset.uid, column, now ?? '') === mark;
    if (typeof cellFields === 'string') add('invalid', cellFields);
    else if (reformatting) add('refused', `a spreadsheet seems to have changed it: ${reformatting}`);
    else if (!marks || now === undefined || isUnchanged || options.prefer === 'mine') {
      add('planned');
      Object.assign(fields, cellFields);
    } else add(options.prefer === 'theirs' ? 'kept' : 'conflict', 'it was changed in the library, too');
  }
  if (Object.keys(fields).length === 0) return;
  const before = assets.valuesOf(asset, Object.keys(fields));
  plan.items.push({ kind: 'asset', uid: asset.uid, name, before, after: fields });
}

type Cell = { column: EditableColumn; before: string; after: string };

/** Returns the fields to write for a cell, or why they cannot be written. */
function toFields(
  assets: AssetsApi,
  { tree, options, plan }: RowComparison,
  asset: Asset,
  { column, before, after }: Cell,
): JsonObject | string {
  if (column === 'tags') {
    const wrong = tagsIn(after).find((tag) => !isSlug(tag) && !tagsIn(before).includes(tag));
    return wrong === undefined ? assets.tagFields(tagsIn(after)) : `tag "${wrong}" is not a slug`;
  }
  if (column === 'description') return { description: after };
  if (after === '') return column === 'name' ? 'a name cannot be empty' : 'the top level is /';
  if (column === 'name') return { name: after };
  if (after === '/') return assets.folderFields(asset, null);
  const [folder, ...others] =
    (isUid(after) ? tree?.all.filter((each) => each.folder.uid === after) : tree?.findByPath(after)) ?? [];
  if (others.length > 0) return `${others.length + 1} folders are at ${after}; use the uid of one`;
  if (folder) return assets.folderFields(asset, folder.folder.uid);
  if (isUid(after) || !options.mayCreateFolders) return `folder ${after} does not exist`;
  for (let names = after.split('/'); names.length > 1; names = names.slice(0, -1)) {
    const path = names.join('/');
    if (!plan.newFolders.includes(path) && tree?.findByPath(path).length === 0) plan.newFolders.push(path);
  }
  return assets.folderFields(asset, after);
}
