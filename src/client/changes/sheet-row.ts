import { slugsOf } from '../../contract/asset.ts';
import { parseTags } from '../../contract/slug.ts';
import { isUid, normalizeUid } from '../../contract/uid.ts';
import { asText, parseJsonOrUndefined } from '../../shared/json-values.ts';
import { normalizePath } from '../library/folder-tree.ts';
import { clearingCell, unguardCell } from '../table/guard.ts';
import { cellText, type TableRow } from '../table/read-table.ts';
import {
  type EditableColumn,
  editableColumns,
  hashCell,
  isExact,
  normalizeCell,
  parseHashes,
  type RowHashes,
  sortTags,
  tagsIn,
} from './sheet.ts';

/** A row of a table, with its cells that can be changed. An empty text clears the value. */
export type SheetRow = {
  line: number;
  /** Uid as in the table; empty if the row has a path. */
  uid: string;
  /** Path of the asset; empty if the row has a uid. */
  path: string;
  /** Uid or path, normalized so that two rows of one asset have the same. */
  key: string;
  cells: Partial<Record<EditableColumn, string>>;
  /** Those of the cells that are not the same letter by letter in the file. */
  texts: Partial<Record<EditableColumn, string>>;
  /** Columns whose cell begins with `'`, so that a spreadsheet has not changed it. */
  literalColumns: EditableColumn[];
  /** Hashes from the column `was`; undefined in a table without it. */
  hashes: RowHashes | undefined;
};

export type RowProblem = { outcome: 'skipped' | 'invalid'; reason: string };

const invalid = (reason: string): RowProblem => ({ outcome: 'invalid', reason });

export type RowOptions = {
  /** True for JSON lines, whose values have types: an empty text or list clears the value. */
  isJson: boolean;
  /** Cell of a table without the column `was` that clears the value; undefined if none does. */
  clearWith: string | undefined;
};

export function readSheetRow({ line, cells }: TableRow, { isJson, clearWith }: RowOptions): SheetRow | RowProblem {
  const [uid, typedPath] = [cellText(cells.uid).trim(), cellText(cells.path).trim()];
  if (uid === '' && typedPath === '')
    return { outcome: 'skipped', reason: 'it has no uid and no path; upload adds assets' };
  if (uid !== '' && !isUid(uid)) return invalid(`${JSON.stringify(uid.slice(0, 50))} is not a uid`);
  const path = uid === '' ? normalizePath(typedPath) : '';
  const hashes = 'was' in cells ? parseHashes(cellText(cells.was).trim()) : undefined;
  if ('was' in cells && !hashes) return invalid('the column was is damaged; export the table again');
  const row: SheetRow = {
    line,
    uid,
    path,
    key: path || normalizeUid(uid),
    cells: {},
    texts: {},
    literalColumns: [],
    hashes,
  };
  const isGuarded = hashes !== undefined && !isJson;
  for (const column of editableColumns) {
    const value = cells[column];
    if (value === undefined || value === null) continue;
    const shown = textOf(column, value);
    if (shown === undefined) return invalid(`${column} is not a text`);
    const cell = normalizeCell(shown);
    const isCleared = isJson ? cell === '' : isGuarded ? cell === clearingCell : cell === clearWith;
    if (cell === '' && !isCleared) continue;
    row.cells[column] = normalizers[column](isCleared ? '' : isGuarded ? unguardCell(cell) : cell);
    if (cell !== shown) row.texts[column] = isGuarded ? unguardCell(shown) : shown;
    if (isGuarded && cell.startsWith("'")) row.literalColumns.push(column);
  }
  return row;
}

/** Returns the text of a value; that of a list of tags, which `--csv` prints as JSON, is JSON. Undefined if it has none. */
function textOf(column: EditableColumn, value: unknown): string | undefined {
  const text = typeof value === 'boolean' ? undefined : asText(value);
  const list = text === undefined ? value : text.startsWith('[') ? parseJsonOrUndefined(text) : undefined;
  if (column !== 'tags' || !Array.isArray(list)) return text;
  const tags = parseTags(list.map((tag) => slugsOf({ tags: [tag] })?.[0] ?? tag));
  return tags?.length === 0 ? '' : tags && JSON.stringify(tags);
}

const normalizers: Record<EditableColumn, (text: string) => string> = {
  name: normalizeCell,
  description: normalizeCell,
  tags: (text) => {
    const tags = tagsIn(text);
    const sorted = sortTags(tags) ?? '';
    return tagsIn(sorted).length === tags.length ? sorted : JSON.stringify(tags); // with a tag that is no slug
  },
  folder: (text) => (isUid(text) || text === '' ? text.toLowerCase() : normalizePath(text)),
};

/** Cells of a row that the library has to be read for. */
export type RowEdits = {
  /** Cells that were edited, or that differ from the exported value in spaces or accents only. */
  edited: SheetRow['cells'];
  /** Cells that equal their exported value, though an apply of this table has, or may have, written another one. */
  outdated: SheetRow['cells'];
};

/** @param known hashes after the writes of earlier applies */
export function findEdits(
  { uid, cells, texts, literalColumns, hashes }: SheetRow,
  known: RowHashes | undefined,
): RowEdits {
  const edits: RowEdits = { edited: {}, outdated: {} };
  for (const [column, text] of Object.entries(cells) as [EditableColumn, string][]) {
    const hash = hashCell(uid, column, text);
    // The protection of a cell takes its outer spaces away.
    const isCleaned = hashes?.inexact.has(column) && !literalColumns.includes(column) && isExact(texts[column] ?? text);
    if (hash !== hashes?.columns[column]?.[0] || isCleaned) edits.edited[column] = text;
    else if (known?.columns[column]?.some((each) => each !== hash)) edits.outdated[column] = text;
  }
  return edits;
}

/** Returns true if a row has hashes, and none of its cells fits them if they are of the asset `uid`. */
export function fitsNone({ cells, hashes }: SheetRow, uid: string): boolean {
  const known = (Object.entries(cells) as [EditableColumn, string][]).filter(([column]) => hashes?.columns[column]);
  return (
    known.length > 0 && known.every(([column, text]) => hashes?.columns[column]?.[0] !== hashCell(uid, column, text))
  );
}
