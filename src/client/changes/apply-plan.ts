import { parentOf, slugsOf } from '../../contract/asset.ts';
import { asText, type JsonObject } from '../../contract/json-values.ts';
import { describeWrongTag } from '../../contract/slug.ts';
import type { AssetRecord } from '../../contract/types.ts';
import { isUid, normalizeUid } from '../../contract/uid.ts';
import type { AssetsApi } from '../api/assets.ts';
import { asCodedError, endsTheRun, usageError } from '../errors.ts';
import type { WorkspaceFolderTree } from '../library/folder-tree.ts';
import { byUid, type SelectedAsset } from '../library/select-assets.ts';
import { describeReformatting } from '../table/guard.ts';
import type { Table } from '../table/read-table.ts';
import type { ChangeItem, StoredItem } from './change-history.ts';
import { parseFolderPath } from './folder-creation.ts';
import { assetItem } from './items.ts';
import {
  advanceHashes,
  createFolderPaths,
  type EditableColumn,
  editableColumns,
  type FolderPaths,
  hashCell,
  normalizeCell,
  sheetColumns,
  sheetValuesOf,
  tagsIn,
} from './sheet.ts';
import { readSheetRow, type SheetRow, splitEdits } from './sheet-row.ts';
import { fetchAssets } from './three-way.ts';

/** Outcome of a cell, or of a whole row if the column is null. */
export type SheetOutcome =
  | 'planned'
  | 'unchanged'
  | 'conflict'
  | 'kept'
  | 'refused'
  | 'not_found'
  | 'skipped'
  | 'invalid';

/** A cell that was edited, or a row that cannot be applied. */
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

/** A change with its outcome; the other fields are null by default. */
type NewChange = Partial<SheetChange> & Pick<SheetChange, 'outcome'>;

/** Options for reading and comparing a table. */
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
  /** Returns the folder of an asset whose record does not show it; undefined if it is not known. */
  findFolder(asset: AssetRecord): Promise<string | null | undefined>;
  /** Returns the asset at a path such as `/Campaigns/clip.mp4`. @throws CodedError if it is not exactly one */
  findByPath(path: string): Promise<SelectedAsset>;
  /** Returns what earlier applies of this table wrote to an asset since a time (ms since the epoch), oldest first. */
  findWrites(uid: string, since: number): Promise<readonly StoredItem[]>;
};

export type ApplyPlan = {
  rowCount: number;
  changes: SheetChange[];
  /** Assets to change. A folder that does not exist yet is named by its path in `newFolders`. */
  items: ChangeItem[];
  /** Paths of the folders to create. */
  newFolders: string[];
  ignoredColumns: string[];
};

/**
 * Compares a table with the library, cell by cell: as it was exported, in the file, and now. Rows that equal their
 * hashes (`was`) need no request, others one each, or the whole list if that takes fewer.
 *
 * @throws CodedError `usage` (exit 2) if the table has no column that can be changed or cannot be parsed
 */
export async function planApply(deps: ApplyDeps, table: Table, options: ApplyOptions): Promise<ApplyPlan> {
  const plan: ApplyPlan = { rowCount: 0, changes: [], items: [], newFolders: [], ignoredColumns: [] };
  const add = (line: number, fields: NewChange) => {
    const { outcome } = fields;
    const empty = { uid: null, name: null, column: null, before: null, after: null, outcome, reason: null };
    plan.changes.push({ line, ...empty, ...fields });
  };
  const isJson = table.columns === undefined;
  if (table.columns) assertColumns(table.columns);
  const edited = new Map<string, SheetRow>();
  const lines = new Map<string, number>();
  let folderPaths: Promise<FolderPaths> | undefined;
  const fetchPaths = () => {
    folderPaths ??= deps.tree().then(createFolderPaths);
    return folderPaths;
  };
  const ignored = new Set<string>();
  for await (const tableRow of table.rows) {
    plan.rowCount++;
    for (const column of Object.keys(tableRow.cells)) if (!knownColumns.includes(column)) ignored.add(column);
    const row = readSheetRow(tableRow, { isJson, clearWith: options.clearWith });
    if ('outcome' in row) {
      add(tableRow.line, row);
      continue;
    }
    const uid = row.uid || null;
    const other = lines.get(row.key);
    lines.set(row.key, row.line);
    if (other !== undefined) add(row.line, { uid, outcome: 'invalid', reason: `line ${other} is for the same asset` });
    else {
      const hashes = await advance(deps, fetchPaths, row);
      const { wanted, applied } = splitEdits(row, hashes);
      for (const [column, text] of applied)
        add(row.line, { uid, column, before: text, after: text, outcome: 'unchanged' });
      if (Object.keys(wanted).length > 0) edited.set(row.key, { ...row, hashes, cells: wanted });
    }
  }
  plan.ignoredColumns = [...ignored];
  const tree = [...edited.values()].some(({ cells }) => cells.folder !== undefined) ? await deps.tree() : undefined;
  const comparison = { tree, paths: createFolderPaths(tree), isJson, options, plan, add };
  const compared = new Map<string, number>();
  const compare = async (row: SheetRow, asset: SelectedAsset) => {
    edited.delete(row.key);
    const other = compared.get(asset.uid);
    compared.set(asset.uid, row.line);
    if (other === undefined) await compareRow(deps, comparison, row, asset);
    else add(row.line, { uid: asset.uid, outcome: 'invalid', reason: `line ${other} is for the same asset` });
  };
  const uids = [...edited.values()].flatMap(({ uid }) => uid || []);
  // A listed record is enough if it shows all columns.
  const isComplete = (asset: AssetRecord) =>
    Object.values(sheetValuesOf(asset, { pathOf: (uid) => uid })).every((value) => value !== undefined);
  const failures = await fetchAssets(deps.assets, uids, { isComplete, signal: options.signal }, async (asset) => {
    const row = edited.get(normalizeUid(asset.uid));
    if (row) await compare(row, byUid(asset.uid, asset));
  });
  for (const row of [...edited.values()]) {
    const fail = (thrown: unknown) => {
      const error = asCodedError(thrown);
      if (endsTheRun(error)) throw error;
      const outcome = error.kind === 'notFound' ? 'not_found' : 'invalid';
      add(row.line, { uid: row.uid || null, outcome, reason: error.message });
    };
    if (row.path !== '') await deps.findByPath(row.path).then((asset) => compare(row, asset), fail);
    else if (failures.has(row.key)) fail(failures.get(row.key));
    else add(row.line, { uid: row.uid, outcome: 'not_found', reason: 'the library has no such asset' });
  }
  plan.changes.sort((one, other) => one.line - other.line);
  return plan;
}

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

/** Returns the hashes of a row, as they are after earlier applies of this table. */
async function advance(deps: ApplyDeps, fetchPaths: () => Promise<FolderPaths>, { uid, hashes }: SheetRow) {
  const writes = hashes ? await deps.findWrites(uid.toLowerCase(), hashes.exportedAt) : [];
  if (!hashes || writes.length === 0) return hashes;
  const hasMoves = writes.some(({ after }) => after && deps.assets.folderIn(after) !== undefined);
  return advanceHashes(uid, hashes, writes, hasMoves ? await fetchPaths() : createFolderPaths(undefined));
}

type RowComparison = {
  tree: WorkspaceFolderTree | undefined;
  paths: FolderPaths;
  isJson: boolean;
  options: ApplyOptions;
  plan: ApplyPlan;
  add(line: number, change: NewChange): void;
};

/** Compares the edited cells of a row with its asset, and adds them to the plan. */
async function compareRow(
  deps: ApplyDeps,
  comparison: RowComparison,
  row: SheetRow,
  selected: SelectedAsset,
): Promise<void> {
  const { assets } = deps;
  const asset = selected.record ?? (await assets.get(selected.uid));
  const { paths, isJson, options, plan } = comparison;
  const { line, cells, literalColumns, hashes } = row;
  const shownFolder = parentOf(asset);
  const isHidden = cells.folder !== undefined && shownFolder === undefined;
  const folder = isHidden ? await deps.findFolder(asset) : shownFolder;
  const present = sheetValuesOf(asset, paths, folder);
  const name = asText(asset.name) ?? null;
  const fields: JsonObject = {};
  for (const [column, text] of Object.entries(cells) as [EditableColumn, string][]) {
    const now = present[column];
    const add = (outcome: SheetOutcome, reason: string | null = null) =>
      comparison.add(line, { uid: asset.uid, name, column, before: now ?? null, after: text, outcome, reason });
    if (now !== undefined && normalizeCell(now) === text) {
      add('unchanged');
      continue;
    }
    const cellFields = toFields(assets, comparison, asset, { column, after: text });
    const isTyped = isJson || literalColumns.includes(column);
    const reformatting = isTyped ? undefined : describeReformatting(normalizeCell(now ?? ''), text);
    const known = hashes?.columns[column];
    const isBase = known ? known.includes(hashCell(asset.uid, column, now ?? '')) && now !== undefined : now === '';
    if (typeof cellFields === 'string') add('invalid', cellFields);
    else if (reformatting) add('refused', `a spreadsheet seems to have changed it: ${reformatting}`);
    else if (!hashes || isBase || options.prefer === 'mine') {
      add('planned');
      Object.assign(fields, cellFields);
    } else
      add(
        options.prefer === 'theirs' ? 'kept' : 'conflict',
        now === undefined ? 'the service does not show its value' : 'it was also changed in the library',
      );
  }
  if (Object.keys(fields).length === 0) return;
  const hidden = isHidden && folder !== undefined ? assets.folderFields(asset, folder) : {};
  plan.items.push(assetItem(assets, byUid(asset.uid, asset), fields, hidden));
}

type Cell = { column: EditableColumn; after: string };

/** Returns the fields to write for a cell, or why they cannot be written. */
function toFields(
  assets: AssetsApi,
  { tree, options, plan }: RowComparison,
  asset: AssetRecord,
  { column, after }: Cell,
): JsonObject | string {
  if (column === 'tags') return describeWrongTag(tagsIn(after), slugsOf(asset)) ?? assets.tagFields(tagsIn(after));
  if (column === 'description') return { description: after };
  if (after === '') return column === 'name' ? 'a name cannot be empty' : 'the top level is /';
  if (column === 'name') return { name: after };
  if (after === '/') return assets.folderFields(asset, null);
  const atUid = isUid(after) ? tree?.find(after) : undefined;
  const [folder, ...others] = atUid ? [atUid] : (tree?.findByPath(after) ?? []);
  if (others.length > 0) return `${others.length + 1} folders are at ${after}; use the uid of one`;
  if (folder) return assets.folderFields(asset, folder.folder.uid);
  if (isUid(after) || !options.mayCreateFolders) return `folder ${after} does not exist`;
  try {
    const names = parseFolderPath(after);
    for (const [at] of names.entries()) {
      const path = `/${names.slice(0, at + 1).join('/')}`;
      if (!plan.newFolders.includes(path) && tree?.findByPath(path).length === 0) plan.newFolders.push(path);
    }
  } catch (error) {
    return asCodedError(error).message;
  }
  return assets.folderFields(asset, after);
}
