import { parentOf, slugsOf } from '../../contract/asset.ts';
import { asText } from '../../contract/json-values.ts';
import { describeWrongTag } from '../../contract/slug.ts';
import type { AssetRecord } from '../../contract/types.ts';
import { isSameUid, isUid, normalizeUid } from '../../contract/uid.ts';
import type { AssetsApi } from '../api/assets.ts';
import { asCodedError, endsTheRun, usageError } from '../errors.ts';
import type { WorkspaceFolderTree } from '../library/folder-tree.ts';
import { byUid, type SelectedAsset } from '../library/select-assets.ts';
import { describeReformatting } from '../table/guard.ts';
import type { Table } from '../table/read-table.ts';
import type { SourceWrite } from './change-history.ts';
import type { ChangeItem } from './change-item.ts';
import { parseFolderPath } from './folder-creation.ts';
import { assetItem, type WantedChange } from './items.ts';
import {
  advanceHashes,
  createFolderPaths,
  type EditableColumn,
  editableColumns,
  type FolderPaths,
  findAppliedFolder,
  hashCell,
  isExact,
  isKnownFolder,
  normalizeCell,
  type RowHashes,
  sheetColumns,
  sheetValuesOf,
  tagsIn,
} from './sheet.ts';
import { findEdits, fitsNone, type RowEdits, readSheetRow, type SheetRow } from './sheet-row.ts';
import { fetchAssets } from './three-way.ts';

/**
 * Outcome of a cell, or of a whole row if the column is null. `outdated` is a cell that equals its exported value, though
 * an earlier apply of the table gave the asset another one.
 */
export type SheetOutcome =
  | 'planned'
  | 'unchanged'
  | 'conflict'
  | 'outdated'
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
  /** True to write the exported value back where an earlier apply of the table gave the asset another one. */
  restores: boolean;
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
  /**
   * Returns what earlier applies of this table, and their undos, wrote to an asset since a time (ms since the epoch),
   * oldest first.
   */
  findWrites(uid: string, since: number): Promise<readonly SourceWrite[]>;
};

export type ApplyPlan = {
  rowCount: number;
  changes: SheetChange[];
  /** Assets to change. A folder that does not exist yet is named by its path in `newFolders`. */
  items: ChangeItem[];
  /** Paths of the folders to create. */
  newFolders: string[];
  /** Assets as they were read, by uid (`normalizeUid`), of which an earlier apply may have written something. */
  found: Map<string, AssetRecord>;
  /** Number of requests that were sent to read the assets. */
  readCount: number;
  ignoredColumns: string[];
};

/** A row with cells that the library has to be read for. */
type EditedRow = SheetRow & RowEdits & { known: RowHashes | undefined; writes: readonly SourceWrite[] };

/**
 * Compares a table with the library, cell by cell: as it was exported, in the file, and now. Rows that equal their
 * hashes (`was`), and that no earlier apply wrote to, need no request, others one each, or the whole list if that takes
 * fewer. What a plan says of the library was read.
 *
 * @throws CodedError `usage` (exit 2) if the table has no column that can be changed or cannot be parsed
 */
export async function planApply(deps: ApplyDeps, table: Table, options: ApplyOptions): Promise<ApplyPlan> {
  const plan: ApplyPlan = {
    ...{ rowCount: 0, changes: [], items: [], newFolders: [], ignoredColumns: [] },
    ...{ found: new Map(), readCount: 0 },
  };
  if (table.columns) assertColumns(table.columns);
  const twins = new Twins(plan);
  const { rows: edited, lines } = await readRows(deps, table, options, plan, twins);
  const tree = [...edited.values()].some(hasFolder) ? await deps.tree() : undefined;
  const isJson = table.columns === undefined;
  const comparison = { tree, paths: createFolderPaths(tree), isJson, options, plan };
  const compared = new Map<string, ComparedRow>();
  const compare = async (row: EditedRow, asset: SelectedAsset) => {
    edited.delete(row.key);
    const key = normalizeUid(asset.uid);
    const other = compared.get(key);
    const line = other?.line ?? lines.get(key);
    if (line === undefined || line === row.line) compared.set(key, await compareRow(deps, comparison, row, asset));
    else {
      // A row with a path is for the same asset as another one.
      twins.reject(asset.uid, line, row.line);
      compared.set(key, { line, changes: [], item: undefined });
    }
  };
  const uids = [...edited.values()].flatMap(({ uid }) => uid || []);
  // A listed record is enough if it shows all columns.
  const isComplete = (asset: AssetRecord) =>
    Object.values(sheetValuesOf(asset, { pathOf: (uid) => uid })).every((value) => value !== undefined);
  const read = await fetchAssets(deps.assets, uids, { isComplete, signal: options.signal }, async (asset) => {
    const row = edited.get(normalizeUid(asset.uid));
    if (row) await compare(row, byUid(asset.uid, asset));
  });
  plan.readCount = read.requestCount;
  for (const row of [...edited.values()]) {
    const fail = (thrown: unknown) => {
      const error = asCodedError(thrown);
      if (endsTheRun(error)) throw error;
      const outcome = error.kind === 'notFound' ? 'not_found' : 'invalid';
      plan.changes.push(toChange(row.line, { uid: row.uid || null, outcome, reason: error.message }));
    };
    if (row.path !== '') {
      plan.readCount++;
      await deps.findByPath(row.path).then((asset) => compare(row, asset), fail);
    } else if (read.failures.has(row.key)) fail(read.failures.get(row.key));
    else
      plan.changes.push(
        toChange(row.line, { uid: row.uid, outcome: 'not_found', reason: 'the library has no such asset' }),
      );
  }
  for (const { changes, item } of compared.values()) {
    plan.changes.push(...changes);
    if (item) plan.items.push(item);
  }
  plan.changes.sort((one, other) => one.line - other.line);
  return plan;
}

const hasFolder = ({ edited, outdated }: EditedRow) => edited.folder !== undefined || outdated.folder !== undefined;

/** Reads the rows of a table. @returns those that the library has to be read for, and the lines of all, by `SheetRow.key` */
async function readRows(
  deps: ApplyDeps,
  table: Table,
  { clearWith }: ApplyOptions,
  plan: ApplyPlan,
  twins: Twins,
): Promise<{ rows: Map<string, EditedRow>; lines: Map<string, number> }> {
  const isJson = table.columns === undefined;
  const rows = new Map<string, EditedRow>();
  const lines = new Map<string, number>();
  const suspects: EditedRow[] = [];
  const ignored = new Set<string>();
  const paths = createPathCache(deps);
  for await (const tableRow of table.rows) {
    plan.rowCount++;
    for (const column of Object.keys(tableRow.cells)) if (!knownColumns.includes(column)) ignored.add(column);
    const row = readSheetRow(tableRow, { isJson, clearWith });
    if ('outcome' in row) {
      plan.changes.push(toChange(tableRow.line, row));
      continue;
    }
    const other = lines.get(row.key);
    lines.set(row.key, row.line);
    if (other !== undefined) {
      twins.reject(row.uid || null, other, row.line);
      rows.delete(row.key);
      continue;
    }
    const writes = row.hashes ? await deps.findWrites(row.uid.toLowerCase(), row.hashes.exportedAt) : [];
    const known = row.hashes && advanceHashes(deps.assets, row.uid, row.hashes, writes, await paths(writes));
    const edits = findEdits(row, known);
    if (Object.keys(edits.edited).length + Object.keys(edits.outdated).length === 0) continue;
    const edited = { ...row, ...edits, known, writes };
    rows.set(row.key, edited);
    if (fitsNone(row, row.uid)) suspects.push(edited);
  }
  plan.ignoredColumns = [...ignored];
  if (
    suspects
      .slice(0, maxSearched)
      .some((row) => [...lines.keys()].some((uid) => uid !== row.key && !fitsNone(row, uid)))
  )
    for (const { key, line, uid } of suspects) {
      const reason = 'its values are those of another row: the table was sorted without the column uid';
      plan.changes.push(toChange(line, { uid, outcome: 'invalid', reason }));
      rows.delete(key);
    }
  return { rows, lines };
}

/** Number of rows of which the other rows are searched for their values. */
const maxSearched = 5;

/** Returns a function that returns the paths of the folders that writes name, fetched once. */
function createPathCache({ assets, tree }: ApplyDeps): (writes: readonly SourceWrite[]) => Promise<FolderPaths> {
  let paths: Promise<FolderPaths> | undefined;
  return async (writes) => {
    const isMove = ({ item: { after } }: SourceWrite) => after && assets.folderIn(after) !== undefined;
    if (!writes.some(isMove)) return createFolderPaths(undefined);
    paths ??= tree().then(createFolderPaths);
    return paths;
  };
}

const toChange = (line: number, fields: NewChange): SheetChange => ({
  ...{ line, uid: null, name: null, column: null, before: null, after: null, reason: null },
  ...fields,
});

/** Rows of one asset. None of them is written, since nothing tells which is meant. */
class Twins {
  readonly #changes: SheetChange[];
  readonly #lines = new Set<number>();

  constructor({ changes }: ApplyPlan) {
    this.#changes = changes;
  }

  reject(uid: string | null, one: number, other: number): void {
    for (const [line, twin] of [
      [one, other],
      [other, one],
    ] as const)
      if (!this.#lines.has(line)) {
        this.#lines.add(line);
        const reason = `line ${twin} is for the same asset`;
        this.#changes.push(toChange(line, { uid, outcome: 'invalid', reason }));
      }
  }
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

type RowComparison = {
  tree: WorkspaceFolderTree | undefined;
  paths: FolderPaths;
  isJson: boolean;
  options: ApplyOptions;
  plan: ApplyPlan;
};

/** Outcomes of the cells of a row, and the change of its asset. */
type ComparedRow = { line: number; changes: SheetChange[]; item: ChangeItem | undefined };

/** Compares the edited cells of a row with its asset. */
async function compareRow(
  deps: ApplyDeps,
  comparison: RowComparison,
  row: EditedRow,
  selected: SelectedAsset,
): Promise<ComparedRow> {
  const { assets } = deps;
  const asset = selected.record ?? (await assets.get(selected.uid));
  const { paths, plan } = comparison;
  const { line, edited, outdated, writes } = row;
  if (writes.some(({ item }) => item.state === 'unknown')) plan.found.set(normalizeUid(asset.uid), asset);
  const shownFolder = parentOf(asset);
  const isHidden = hasFolder(row) && shownFolder === undefined;
  const folder = isHidden ? await deps.findFolder(asset) : shownFolder;
  const present = sheetValuesOf(asset, paths, folder);
  const name = asText(asset.name) ?? null;
  const compared: ComparedRow = { line, changes: [], item: undefined };
  const wanted: WantedChange = {};
  for (const [column, text] of Object.entries({ ...edited, ...outdated }) as [EditableColumn, string][]) {
    const before = present[column] ?? null;
    const cell = { column, text, now: present[column], folder };
    const result = compareCell(deps, comparison, row, asset, cell);
    if (!result) continue;
    const { change, ...outcome } = result;
    compared.changes.push(toChange(line, { uid: asset.uid, name, column, before, after: text, ...outcome }));
    Object.assign(wanted, { ...wanted, ...change, fields: { ...wanted.fields, ...change?.fields } });
    if (outcome.outcome === 'planned' && column === 'folder' && typeof change?.folder === 'string')
      addNewFolders(plan, comparison.tree, change.folder);
  }
  if (!compared.changes.some(({ outcome }) => outcome === 'planned')) return compared;
  const hidden = isHidden && folder !== undefined ? assets.folderFields(asset, folder) : {};
  compared.item = assetItem(assets, byUid(asset.uid, asset), wanted, hidden);
  return compared;
}

type Cell = {
  column: EditableColumn;
  text: string;
  /** Value in the library; undefined if the service does not show it. */
  now: string | undefined;
  /** Uid of the asset's folder; null at the top level, undefined if it is not known. */
  folder: string | null | undefined;
};

type CellResult = { outcome: SheetOutcome; reason?: string | null; change?: WantedChange };

/** Compares a cell with the library. @returns undefined if there is nothing to say of it */
function compareCell(
  { assets }: ApplyDeps,
  comparison: RowComparison,
  { texts, literalColumns, hashes, known, outdated, writes }: EditedRow,
  asset: AssetRecord,
  { column, text, now, folder }: Cell,
): CellResult | undefined {
  const { isJson, options } = comparison;
  const isOutdated = column in outdated;
  const applied = column === 'folder' ? findAppliedFolder(assets, writes, text) : undefined;
  const isSame = now !== undefined && normalizeCell(now) === text;
  if (isSame || (applied && folder && isSameUid(applied, folder))) {
    const isClean = !isSame || isExact(now) === isExact(texts[column] ?? text);
    return isOutdated ? undefined : { outcome: 'unchanged', reason: isClean ? null : inexactReason };
  }
  const change = toWanted(comparison, asset, column, text, applied);
  const isTyped = isJson || literalColumns.includes(column);
  const reformatting = isTyped ? undefined : describeReformatting(normalizeCell(now ?? ''), text);
  const hasKnown = now !== undefined && known?.columns[column]?.includes(hashCell(asset.uid, column, now));
  const isBase = hasKnown || (column === 'folder' && isKnownFolder(asset.uid, known, folder));
  if (isOutdated && !isBase) return undefined; // others have changed it since, and the table has not
  if (typeof change === 'string') return { outcome: 'invalid', reason: change };
  if (isOutdated && !options.restores)
    return {
      outcome: options.prefer === 'theirs' ? 'kept' : 'outdated',
      reason: 'it is as exported, though an earlier apply of this table changed it',
    };
  if (reformatting) return { outcome: 'refused', reason: `a spreadsheet seems to have changed it: ${reformatting}` };
  const isNewValue = known?.columns[column] === undefined && now === '';
  if (!hashes || isBase || isNewValue || options.prefer === 'mine') return { outcome: 'planned', change };
  return {
    outcome: options.prefer === 'theirs' ? 'kept' : 'conflict',
    reason: now === undefined ? 'the service does not show its value' : 'it was also changed in the library',
  };
}

/** Reason of a cell that is not written, though it is not the same letter by letter. */
export const inexactReason =
  'it differs only in spaces at the ends or in composed accents, which apply does not change';

/** Returns the change for a cell, or why it cannot be written. A folder to create is named by its path. */
function toWanted(
  { tree, options }: RowComparison,
  asset: AssetRecord,
  column: EditableColumn,
  text: string,
  applied: string | undefined,
): WantedChange | string {
  if (column === 'tags') return describeWrongTag(tagsIn(text), slugsOf(asset)) ?? { tags: { set: tagsIn(text) } };
  if (column === 'description') return { fields: { description: text } };
  if (text === '') return column === 'name' ? 'a name cannot be empty' : 'the top level is /';
  if (column === 'name') return { fields: { name: text } };
  if (text === '/') return { folder: null };
  if (applied && tree?.find(applied)) return { folder: applied };
  const atUid = isUid(text) ? tree?.find(text) : undefined;
  const [folder, ...others] = atUid ? [atUid] : (tree?.findByPath(text) ?? []);
  if (others.length > 0) return `${others.length + 1} folders are at ${text}; use the uid of one`;
  if (folder) return { folder: folder.folder.uid };
  if (isUid(text) || !options.mayCreateFolders) return `folder ${text} does not exist`;
  try {
    parseFolderPath(text);
  } catch (error) {
    return asCodedError(error).message;
  }
  return { folder: text };
}

/** Adds the folders of a path that do not exist. @param folder path, or the uid of a folder that exists */
function addNewFolders({ newFolders }: ApplyPlan, tree: WorkspaceFolderTree | undefined, folder: string): void {
  if (isUid(folder)) return;
  const names = parseFolderPath(folder);
  for (const [at] of names.entries()) {
    const path = `/${names.slice(0, at + 1).join('/')}`;
    if (!newFolders.includes(path) && tree?.findByPath(path).length === 0) newFolders.push(path);
  }
}
