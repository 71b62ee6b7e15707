import { parentOf } from '../../contract/asset.ts';
import type { AssetRecord } from '../../contract/types.ts';
import { normalizeUid } from '../../contract/uid.ts';
import { asText } from '../../shared/json-values.ts';
import { asCodedError, endsTheRun, usageError } from '../errors.ts';
import { byUid, type SelectedAsset } from '../library/select-assets.ts';
import type { Table } from '../table/read-table.ts';
import { addNewFolders, compareCell, type RowComparison } from './apply-cell.ts';
import { createTwinRejection, type EditedRow, hasFolder, readRows } from './apply-rows.ts';
import type { ChangeItem } from './change-item.ts';
import { assetItem, type WantedChange } from './items.ts';
import { createFolderPaths, type EditableColumn, editableColumns, sheetValuesOf } from './sheet.ts';
import { type ApplyDeps, type ApplyOptions, type ApplyPlan, type SheetChange, toSheetChange } from './sheet-change.ts';
import { fetchAssets } from './three-way.ts';

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
    ...{ found: new Map(), unknown: [], readCount: 0 },
  };
  if (table.columns) assertColumns(table.columns);
  const rejectTwins = createTwinRejection(plan);
  const { rows: edited, lines } = await readRows(deps, table, options, plan, rejectTwins);
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
      rejectTwins(asset.uid, line, row.line);
      compared.set(key, { line, changes: [], item: undefined });
    }
  };
  const uids = [...edited.values()].flatMap(({ uid }) => uid || []);
  // A listed record is enough if it shows all columns.
  const isComplete = (asset: AssetRecord) =>
    Object.values(sheetValuesOf(asset, { pathOf: (uid) => uid })).every((value) => value !== undefined);
  const listed = new Set<string>();
  const read = await fetchAssets(deps.assets, uids, { isComplete, signal: options.signal }, async (asset, isListed) => {
    const row = edited.get(normalizeUid(asset.uid));
    if (isListed) listed.add(asset.uid);
    if (row) await compare(row, byUid(asset.uid, asset));
  });
  plan.readCount = read.requestCount;
  for (const row of [...edited.values()]) {
    const fail = (thrown: unknown) => {
      const error = asCodedError(thrown);
      if (endsTheRun(error)) throw error;
      const outcome = error.kind === 'notFound' ? 'not_found' : 'invalid';
      plan.changes.push(toSheetChange(row.line, { uid: row.uid || null, outcome, reason: error.message }));
    };
    if (row.path !== '') {
      plan.readCount++;
      await deps.findByPath(row.path).then((asset) => compare(row, asset), fail);
    } else if (read.failures.has(row.key)) fail(read.failures.get(row.key));
    else
      plan.changes.push(
        toSheetChange(row.line, { uid: row.uid, outcome: 'not_found', reason: 'the library has no such asset' }),
      );
  }
  for (const { changes, item } of [...compared.values()].sort((one, other) => one.line - other.line)) {
    plan.changes.push(...changes);
    if (item) plan.items.push(item);
  }
  plan.changes.sort((one, other) => one.line - other.line);
  await leaveOthers(deps, plan, listed);
  return plan;
}

const isElsewhere = 'it is in another workspace';

/** Reads the assets of which neither the table nor the list shows the workspace, and leaves out those of other ones. */
async function leaveOthers(deps: ApplyDeps, plan: ApplyPlan, listed: ReadonlySet<string>): Promise<void> {
  const toRead = plan.unknown.filter(({ uid }) => listed.has(uid));
  if (toRead.length === 0) return;
  const { unknown, others } = await deps.classify(toRead);
  plan.unknown = [...plan.unknown.filter(({ uid }) => !listed.has(uid)), ...unknown];
  const uids = new Set(others.map(({ uid }) => uid));
  plan.items = plan.items.filter(({ uid }) => !uids.has(uid));
  plan.changes = plan.changes.map((change): SheetChange => {
    const isLeft = change.outcome === 'planned' && uids.has(change.uid ?? '');
    return isLeft ? { ...change, outcome: 'invalid', reason: isElsewhere } : change;
  });
}

function assertColumns(columns: readonly string[]): void {
  if (!columns.includes('uid') && !columns.includes('path'))
    throw usageError(
      'the table has no column uid or path',
      columns.length === 1 ? 'if a spreadsheet shows it as one column, import it as CSV with commas' : undefined,
    );
  if (!editableColumns.some((column) => columns.includes(column)))
    throw usageError('the table has no column that can be changed', `columns: ${editableColumns.join(', ')}`);
}

/** Outcomes of the cells of a row, and the change of its asset. */
type ComparedRow = { line: number; changes: SheetChange[]; item: ChangeItem | undefined };

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
  // A path was already resolved in the workspace in use. A uid that the user typed needs no check.
  const isAsked = row.uid !== '' && (row.hashes !== undefined || hasFolder(row));
  const belonging = isAsked ? await deps.belongingOf(asset, row.hashes) : 'yes';
  if (belonging === 'no') {
    const name = asText(asset.name) ?? null;
    return {
      line,
      changes: [toSheetChange(line, { uid: asset.uid, name, outcome: 'invalid', reason: isElsewhere })],
      item: undefined,
    };
  }
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
    compared.changes.push(toSheetChange(line, { uid: asset.uid, name, column, before, after: text, ...outcome }));
    Object.assign(wanted, { ...wanted, ...change, fields: { ...wanted.fields, ...change?.fields } });
    if (outcome.outcome === 'planned' && column === 'folder' && typeof change?.folder === 'string')
      addNewFolders(plan, comparison.tree, change.folder);
  }
  if (!compared.changes.some(({ outcome }) => outcome === 'planned')) return compared;
  const hidden = isHidden && folder !== undefined ? assets.folderFields(asset, folder) : {};
  if (belonging === 'unknown' && row.hashes) plan.unknown.push(asset);
  compared.item = assetItem(assets, byUid(asset.uid, asset), wanted, hidden);
  return compared;
}
