import { createHash } from 'node:crypto';
import { parentOf, slugsOf } from '../../contract/asset.ts';
import { asText, type JsonObject } from '../../contract/json-values.ts';
import { applySlugEdit, parseTags } from '../../contract/slug.ts';
import type { AssetRecord } from '../../contract/types.ts';
import { normalizeUid } from '../../contract/uid.ts';
import type { AssetsApi } from '../api/assets.ts';
import type { WorkspaceFolderTree } from '../library/folder-tree.ts';
import type { SourceWrite } from './change-history.ts';
import { type StoredItem, writtenOf } from './change-item.ts';

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
    .update(`${normalizeUid(uid)}\0${column}\0${normalizeCell(value).replace(/(?!\n)\p{Cc}/gu, '')}`)
    .digest('base64url')
    .slice(0, 8);

/** Hashes of the values that the library had, as far as the table and its applies know. */
export type RowHashes = {
  /** Time of the export, in ms since the epoch. */
  exportedAt: number;
  /**
   * Hashes of the value that the library had last, and of those that a write whose outcome is not known may have set.
   * Undefined for a value that the service did not show.
   */
  columns: { readonly [Column in EditableColumn]: readonly string[] | undefined };
  /** The same of the folder's uid, since the path of a folder can change. */
  folders: readonly string[] | undefined;
  /** Columns that were exported with spaces at their ends, or with accents that are not composed. */
  inexact: ReadonlySet<EditableColumn>;
};

const version = 'v2';
const notShown = '_';
const inexactMark = '~';

const folderHash = (uid: string, folder: string | null) => hashCell(uid, 'folder', `uid ${normalizeUid(folder ?? '')}`);

/** Returns true if the folder of an asset is one that the table or its applies know. */
export const isKnownFolder = (uid: string, hashes: RowHashes | undefined, folder: string | null | undefined): boolean =>
  folder !== undefined && (hashes?.folders?.includes(folderHash(uid, folder)) ?? false);

/**
 * Returns the cell `was`: version, export time, a hash per editable column, and one of the folder's uid. It begins with a
 * letter, so it is no number.
 */
const formatHashes = (
  uid: string,
  values: SheetValues,
  folder: string | null | undefined,
  exportedAt: number,
): string =>
  [
    version,
    Math.floor(exportedAt / 1000).toString(36),
    ...editableColumns.map((column) => {
      const value = values[column];
      if (value === undefined) return notShown;
      return hashCell(uid, column, value) + (isExact(value) ? '' : inexactMark);
    }),
    folder === undefined ? notShown : folderHash(uid, folder),
  ].join('.');

/** Returns true for a text that `normalizeCell` leaves as it is, but for its line ends. */
export const isExact = (text: string) => normalizeCell(text) === text.replace(/\r\n?/g, '\n');

/** Parses the cell `was`. @returns undefined if it was damaged */
export function parseHashes(text: string): RowHashes | undefined {
  const [found, seconds = '', ...cells] = text.split('.');
  const isValid = (hash: string) => hash === notShown || /^[\w-]{8}~?$/.test(hash);
  const isComplete = cells.length === editableColumns.length + 1 && cells.every(isValid);
  if (found !== version || !/^[0-9a-z]{1,9}$/.test(seconds) || !isComplete) return undefined;
  const hashOf = (cell = notShown) => (cell === notShown ? undefined : [cell.replace(inexactMark, '')]);
  const hashes = editableColumns.map((column, at) => [column, hashOf(cells[at])]);
  return {
    exportedAt: Number.parseInt(seconds, 36) * 1000,
    columns: Object.fromEntries(hashes),
    folders: hashOf(cells.at(-1)),
    inexact: new Set(editableColumns.filter((_, at) => cells[at]?.endsWith(inexactMark))),
  };
}

/**
 * Returns the hashes of a row after the writes of earlier applies, and of their undos. The tags are those that the table
 * and its applies have set: others that the asset had when it was written are not known to the table.
 */
export function advanceHashes(
  assets: AssetsApi,
  uid: string,
  hashes: RowHashes,
  writes: readonly SourceWrite[],
  paths: FolderPaths,
): RowHashes {
  const columns: Record<EditableColumn, readonly string[] | undefined> = { ...hashes.columns };
  let { folders } = hashes;
  let tagSets: readonly (readonly string[])[] = [];
  for (const { item, folderPaths } of writes) {
    const written = writtenOf(item);
    if (!written?.after) continue;
    const isDone = item.state === 'done';
    const add = (known: readonly string[] | undefined, values: readonly string[]) =>
      isDone ? values : [...(known ?? []), ...values];
    const edited = editTags(assets, item, tagSets);
    if (written.tags) tagSets = isDone ? edited : [...tagSets, ...edited];
    const { folder, ...values } = valuesIn(assets, written.after);
    const path = folder ? (folderPaths[normalizeUid(folder)] ?? paths.pathOf(folder)) : undefined;
    const shown = (written.tags ? edited : [undefined]).map((tags) => {
      return sheetValuesOf({ uid, ...values, ...(tags && { tags }) }, { pathOf: () => path }, folder);
    });
    for (const column of editableColumns) {
      const found = shown.flatMap(({ [column]: value }) => (value === undefined ? [] : [hashCell(uid, column, value)]));
      if (found.length > 0) columns[column] = add(columns[column], found);
    }
    if (folder !== undefined) folders = add(folders, [folderHash(uid, folder)]);
  }
  return { ...hashes, columns, folders };
}

/**
 * Returns the tags after an edit.
 *
 * @param known sets of which one was there before, as far as the table knows
 */
function editTags(
  assets: AssetsApi,
  { before, tags }: StoredItem,
  known: readonly (readonly string[])[],
): (readonly string[])[] {
  const shown = assets.tagsIn(before ?? {}) ?? [];
  const same = known.filter((each) => sortTags(each) === sortTags(shown));
  const bases = same.length > 0 ? same : known.length > 0 ? known : [shown];
  return bases.map((each) => applySlugEdit(each, tags ?? { add: [], remove: [] }));
}

/** Returns the values that an asset gets by fields of a PATCH, by their names in a record. */
function valuesIn(assets: AssetsApi, after: JsonObject) {
  const tags = assets.tagsIn(after);
  return {
    ...('name' in after && { name: after.name }),
    ...('description' in after && { description: after.description }),
    ...(tags && { tags }),
    folder: assets.folderIn(after),
  };
}

/**
 * Returns the folder that the last apply with a folder moved an asset to, if it had a path then, whatever its path is now.
 */
export function findAppliedFolder(assets: AssetsApi, writes: readonly SourceWrite[], path: string): string | undefined {
  for (const { item, folderPaths } of writes.toReversed()) {
    const folder = assets.folderIn(writtenOf(item)?.after ?? {});
    if (folder) return folderPaths[normalizeUid(folder)] === path ? folder : undefined;
  }
  return undefined;
}

/**
 * Returns the row of an exported table.
 *
 * @param folder uid of the asset's folder, null for the top level, undefined if it is not known
 * @param exportedAt time before the asset was read, in ms since the epoch
 */
export const sheetRow = (
  asset: AssetRecord,
  values: SheetValues,
  folder: string | null | undefined,
  exportedAt: number,
) => ({
  ...asset,
  ...values,
  was: formatHashes(asset.uid, values, folder, exportedAt),
});
