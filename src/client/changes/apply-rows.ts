import { sampleOf } from '../run-each.ts';
import type { Table } from '../table/read-table.ts';
import type { SourceWrite } from './change-history.ts';
import {
  advanceHashes,
  createFolderPaths,
  type EditableColumn,
  editableColumns,
  type FolderPaths,
  hashCell,
  type RowHashes,
  sheetColumns,
} from './sheet.ts';
import { type ApplyDeps, type ApplyOptions, type ApplyPlan, toSheetChange } from './sheet-change.ts';
import { findEdits, fitsNone, type RowEdits, readSheetRow, type SheetRow } from './sheet-row.ts';

/** A row with cells that the library has to be read for. */
export type EditedRow = SheetRow &
  RowEdits & {
    known: RowHashes | undefined;
    writes: readonly SourceWrite[];
    /** Columns that were sorted without the others. */
    shuffled?: ReadonlySet<EditableColumn>;
  };

const knownColumns: readonly string[] = [...sheetColumns, 'path'];

export const hasFolder = ({ edited, outdated }: EditedRow) =>
  edited.folder !== undefined || outdated.folder !== undefined;

/** Reads the rows of a table. @returns those that the library has to be read for, and the lines of all, by `SheetRow.key` */
export async function readRows(
  deps: ApplyDeps,
  table: Table,
  { clearWith, isShuffled }: ApplyOptions,
  plan: ApplyPlan,
  rejectTwins: ReturnType<typeof createTwinRejection>,
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
      plan.changes.push(toSheetChange(tableRow.line, row));
      continue;
    }
    const other = lines.get(row.key);
    lines.set(row.key, row.line);
    if (other !== undefined) {
      rejectTwins(row.uid || null, other, row.line);
      rows.delete(row.key);
      continue;
    }
    const writes = row.hashes ? await deps.findWrites(row.uid.toLowerCase(), row.hashes.exportedAt) : [];
    const known =
      row.hashes && writes.length > 0
        ? advanceHashes(deps.assets, row.uid, row.hashes, writes, await paths(writes))
        : row.hashes;
    const edits = findEdits(row, known);
    if (Object.keys(edits.edited).length + Object.keys(edits.outdated).length === 0) continue;
    const edited = { ...row, ...edits, known, writes };
    rows.set(row.key, edited);
    if (fitsNone(row, row.uid)) suspects.push(edited);
  }
  plan.ignoredColumns = [...ignored];
  if (!isShuffled) markShuffled([...rows.values()]);
  if (
    suspects
      .slice(0, maxSearched)
      .some((row) => [...lines.keys()].some((uid) => uid !== row.key && !fitsNone(row, uid)))
  )
    for (const suspect of suspects) {
      const { key, line, uid } = suspect;
      if (rows.get(key) !== suspect) continue; // rejected as a twin
      const reason = 'its values are those of another row: the table was sorted without the column uid';
      plan.changes.push(toSheetChange(line, { uid, outcome: 'invalid', reason }));
      rows.delete(key);
    }
  return { rows, lines };
}

/** Number of cells of a column of which the other rows are searched for their values. */
const maxCompared = 20;
/** Share of the edited cells of a column from which it was sorted, though a few cells were edited, too. */
const shuffledShare = 0.8;

/**
 * Marks the columns that were sorted, or moved up or down, without the column `was`: their edited cells have the exported
 * values of other edited rows, each that of another one.
 */
function markShuffled(rows: readonly EditedRow[]): void {
  for (const column of editableColumns) {
    const edited = rows.filter((row) => row.edited[column] !== undefined && row.hashes?.columns[column]);
    const sources = new Set<EditedRow>();
    const compared = sampleOf(edited, maxCompared);
    for (const row of compared) {
      const hasValue = ({ uid, hashes }: EditedRow) =>
        hashes?.columns[column]?.[0] === hashCell(uid, column, row.edited[column] ?? '');
      const source = edited.find((other) => other !== row && !sources.has(other) && hasValue(other));
      if (source) sources.add(source);
    }
    if (sources.size < 2 || sources.size < compared.length * shuffledShare) continue;
    for (const row of edited) row.shuffled = new Set([...(row.shuffled ?? []), column]);
  }
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

/** Returns a function that rejects two rows of one asset. Neither is written, since nothing tells which is meant. */
export function createTwinRejection({ changes }: ApplyPlan) {
  const rejected = new Set<number>();
  return (uid: string | null, one: number, other: number): void => {
    for (const [line, twin] of [
      [one, other],
      [other, one],
    ] as const)
      if (!rejected.has(line)) {
        rejected.add(line);
        const reason = `line ${twin} is for the same asset`;
        changes.push(toSheetChange(line, { uid, outcome: 'invalid', reason }));
      }
  };
}
