import { createHash } from 'node:crypto';
import { parentOf, slugsOf } from '../../contract/asset.ts';
import { asText } from '../../contract/json-values.ts';
import { parseTags } from '../../contract/slug.ts';
import type { AssetRecord } from '../../contract/types.ts';
import type { WorkspaceFolderTree } from '../library/folder-tree.ts';
import type { StoredItem } from './change-history.ts';

/** Columns of an exported table that can be changed. */
export const editableColumns = ['name', 'description', 'tags', 'folder'] as const;
export type EditableColumn = (typeof editableColumns)[number];

/** Columns of an exported table. `was` shows what the service had, so that only what was edited is changed. */
export const sheetColumns = [
  ...(['uid', ...editableColumns] as const),
  ...(['type', 'status', 'duration', 'created_at', 'was'] as const),
];

/** Values of an asset in a table: tags separated by spaces, the folder as its path. Undefined if it is not shown. */
export type SheetValues = { readonly [Column in EditableColumn]: string | undefined };

export type FolderPaths = { pathOf(uid: string): string | undefined };

/** Returns the paths of folders. A folder that shares its path with another one is named by its uid. */
export function createFolderPaths(tree: WorkspaceFolderTree | undefined): FolderPaths {
  const counts = new Map<string, number>();
  const paths = new Map<string, string>();
  for (const { path } of tree?.all ?? []) counts.set(path, (counts.get(path) ?? 0) + 1);
  for (const { path, folder } of tree?.all ?? []) paths.set(folder.uid, counts.get(path) === 1 ? path : folder.uid);
  return { pathOf: (uid) => paths.get(uid) };
}

/**
 * Returns the cells of an asset's row.
 *
 * @param folder uid of the asset's folder, null for the top level, undefined if it is not known
 */
export function sheetValuesOf(asset: AssetRecord, { pathOf }: FolderPaths, folder = parentOf(asset)): SheetValues {
  const tags = slugsOf(asset);
  return {
    name: 'name' in asset ? (asText(asset.name) ?? '') : undefined,
    description: 'description' in asset ? (asText(asset.description) ?? '') : undefined,
    // A tag that is no slug cannot be told from several tags.
    tags: tags?.some((tag) => tagsIn(tag).length !== 1) ? undefined : sortTags(tags),
    folder: folder === null ? '/' : folder && pathOf(folder),
  };
}

export const tagsIn = (text: string) => parseTags(text) ?? [];

export const sortTags = (tags: readonly string[] | undefined) => tags && [...new Set(tags)].sort().join(' ');

/** Normalizes a text for comparison, because spreadsheets and services trim texts and change line ends and accents. */
export const normalizeCell = (text: string) => text.normalize('NFC').replace(/\r\n?/g, '\n').trim();

/** Returns a short hash of a value, without its tabs and other control characters, which LibreOffice drops. */
export const hashCell = (uid: string, column: EditableColumn, value: string): string =>
  createHash('sha256')
    .update(`${uid.toLowerCase()}\0${column}\0${normalizeCell(value).replace(/(?!\n)\p{Cc}/gu, '')}`)
    .digest('base64url')
    .slice(0, 8);

/** Hashes of the values that a row was exported with. */
export type RowHashes = {
  /** Time of the export, in ms since the epoch. */
  exportedAt: number;
  /**
   * Hashes of the value that the library had, and of those that a write whose outcome is not known may have set.
   * Undefined for a value that the service did not show.
   */
  columns: { readonly [Column in EditableColumn]: readonly string[] | undefined };
};

const version = 'v1';
const notShown = '_';

/** Returns the cell `was`: version, export time, and a hash per editable column. It begins with a letter, so it is no number. */
const formatHashes = (uid: string, values: SheetValues, exportedAt: number): string =>
  [
    version,
    Math.floor(exportedAt / 1000).toString(36),
    ...editableColumns.map((column) =>
      values[column] === undefined ? notShown : hashCell(uid, column, values[column]),
    ),
  ].join('.');

/** Parses the cell `was`. @returns undefined if it was damaged */
export function parseHashes(text: string): RowHashes | undefined {
  const [found, seconds = '', ...cells] = text.split('.');
  const isValid = (hash: string) => hash === notShown || /^[\w-]{8}$/.test(hash);
  const isComplete = cells.length === editableColumns.length && cells.every(isValid);
  if (found !== version || !/^[0-9a-z]{1,9}$/.test(seconds) || !isComplete) return undefined;
  const hashes = editableColumns.map((column, at) => [column, cells[at] === notShown ? undefined : [cells[at]]]);
  return { exportedAt: Number.parseInt(seconds, 36) * 1000, columns: Object.fromEntries(hashes) };
}

/** Returns the hashes of a row after the writes of earlier applies. */
export function advanceHashes(
  uid: string,
  hashes: RowHashes,
  writes: readonly StoredItem[],
  paths: FolderPaths,
): RowHashes {
  const columns: Record<EditableColumn, readonly string[] | undefined> = { ...hashes.columns };
  for (const { before, after, state } of writes) {
    const [from, to] = [before, after].map((values) => sheetValuesOf({ uid, ...values }, paths));
    for (const column of editableColumns) {
      const [old, written, known] = [from?.[column], to?.[column], columns[column]];
      if (old === undefined || written === undefined || !known?.includes(hashCell(uid, column, old))) continue;
      const hash = hashCell(uid, column, written);
      columns[column] = state === 'done' ? [hash] : [...known, hash];
    }
  }
  return { ...hashes, columns };
}

/** Returns the row of an exported table. @param exportedAt time before the asset was read, in ms since the epoch */
export const sheetRow = (asset: AssetRecord, values: SheetValues, exportedAt: number) => ({
  ...asset,
  ...values,
  was: formatHashes(asset.uid, values, exportedAt),
});
