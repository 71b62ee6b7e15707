import { createHash } from 'node:crypto';
import { parentOf, slugsOf } from '../../contract/asset.ts';
import { parseTags, type SlugEdit } from '../../contract/slug.ts';
import type { AssetRecord } from '../../contract/types.ts';
import { normalizeUid } from '../../contract/uid.ts';
import { asText } from '../../shared/json-values.ts';
import type { AssetsApi } from '../api/assets.ts';
import type { WorkspaceFolderTree } from '../library/folder-tree.ts';
import type { FoundBy } from '../library/workspace-in-use.ts';
import type { SourceWrite } from './change-history.ts';
import { writtenOf } from './change-item.ts';
import { applyTagEdit, isEmptyEdit } from './tag-change.ts';

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
  /** Hash of the workspace's uid; undefined if it was not known, or in a table of an earlier version. */
  workspace: string | undefined;
  /** Columns that were exported with spaces at their ends, or with accents that are not composed. */
  inexact: ReadonlySet<EditableColumn>;
};

const [version, earlierVersion] = ['v3', 'v2'];
const notShown = '_';
const inexactMark = '~';
const none: ReadonlySet<EditableColumn> = new Set();

const folderHash = (uid: string, folder: string | null) => hashCell(uid, 'folder', `uid ${normalizeUid(folder ?? '')}`);

const workspaceHash = (uid: string, workspace: string) =>
  hashCell(uid, 'folder', `workspace ${normalizeUid(workspace)}`);

/** Returns the source of a row's asset: the workspace in use, another workspace, or a list if that is unknown. */
export const foundByRow = (uid: string, { workspace }: RowHashes, inUse: string | undefined): FoundBy =>
  workspace === undefined || inUse === undefined
    ? 'list'
    : workspace === workspaceHash(uid, inUse)
      ? 'row'
      : 'otherRow';

/** Returns true if the folder of an asset is one that the table or its applies know. */
export const isKnownFolder = (uid: string, hashes: RowHashes | undefined, folder: string | null | undefined): boolean =>
  folder !== undefined && (hashes?.folders?.includes(folderHash(uid, folder)) ?? false);

/**
 * Returns the cell `was`: version, export time, a hash per editable column, and one of the folder's and the workspace's uid.
 * It begins with a letter, so it is no number.
 */
const formatHashes = (uid: string, values: SheetValues, { folder, workspace, exportedAt }: ExportedPlace): string =>
  [
    version,
    Math.floor(exportedAt / 1000).toString(36),
    ...editableColumns.map((column) => {
      const value = values[column];
      if (value === undefined) return notShown;
      return hashCell(uid, column, value) + (isExact(value) ? '' : inexactMark);
    }),
    folder === undefined ? notShown : folderHash(uid, folder),
    workspace === undefined ? notShown : workspaceHash(uid, workspace),
  ].join('.');

/** Returns true for a text that `normalizeCell` leaves as it is, but for its line ends. */
export const isExact = (text: string) => normalizeCell(text) === text.replace(/\r\n?/g, '\n');

/** Parses the cell `was`. @returns undefined if it was damaged */
export function parseHashes(text: string): RowHashes | undefined {
  const [found, seconds = '', ...cells] = text.split('.');
  const isValid = (hash: string) => hash === notShown || /^[\w-]{8}~?$/.test(hash);
  const isEarlier = found === earlierVersion;
  const isComplete = cells.length === editableColumns.length + (isEarlier ? 1 : 2) && cells.every(isValid);
  if ((found !== version && !isEarlier) || !/^[0-9a-z]{1,9}$/.test(seconds) || !isComplete) return undefined;
  const hashOf = (cell = notShown) => (cell === notShown ? undefined : [cell.replace(inexactMark, '')]);
  const hashes = editableColumns.map((column, at) => [column, hashOf(cells[at])]);
  return {
    exportedAt: Number.parseInt(seconds, 36) * 1000,
    columns: Object.fromEntries(hashes),
    folders: hashOf(cells[editableColumns.length]),
    workspace: isEarlier ? undefined : hashOf(cells.at(-1))?.[0],
    inexact: text.includes(inexactMark)
      ? new Set(editableColumns.filter((_, at) => cells[at]?.endsWith(inexactMark)))
      : none,
  };
}

/**
 * Returns the hashes of a row after the writes of earlier applies, and of their undos. Tags that others have added are not
 * among the values that the table knows, though a write has kept them.
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
  const earlier = new Map<EditableColumn | 'folders', (readonly string[] | undefined)[]>();
  let knownTags: readonly string[] | undefined;
  for (const { item, isUndo, folderPaths } of writes) {
    const after = writtenOf(item)?.after;
    if (!after) continue;
    const add = (column: EditableColumn | 'folders', known: readonly string[] | undefined, hash: string) => {
      const past = earlier.get(column) ?? [];
      if (!isUndo) earlier.set(column, [...past, known]);
      // An undo may write back what others had set, and an apply has overruled. The table does not know that.
      const isForeign = isUndo && !past.some((hashes) => hashes?.includes(hash));
      const now = isForeign ? (past.at(-1) ?? []) : [hash];
      return item.state === 'done' ? now : [...(known ?? []), ...now];
    };
    const folder = assets.folderIn(after);
    const path = folder ? (folderPaths[normalizeUid(folder)] ?? paths.pathOf(folder)) : undefined;
    // An apply starts from tags that the table knows, or overrules others; an undo from those that the asset has.
    const read = assets.tagsIn(item.before ?? {}) ?? [];
    const isKnown = () => columns.tags?.includes(hashCell(uid, 'tags', sortTags(read) ?? ''));
    const start = !isUndo ? read : (knownTags ?? (isKnown() ? read : undefined));
    const tags = isEmptyEdit(item.tags) ? assets.tagsIn(after) : start && applyTagEdit(start, item.tags as SlugEdit);
    knownTags = tags ?? knownTags;
    const { name, description } = after;
    const written = {
      ...{ uid, ...(name !== undefined && { name }) },
      ...{ ...(description !== undefined && { description }), ...(tags && { tags }) },
    };
    const cells = sheetValuesOf(written, { pathOf: () => path }, folder);
    for (const column of editableColumns) {
      const value = cells[column];
      if (value !== undefined) columns[column] = add(column, columns[column], hashCell(uid, column, value));
    }
    if (folder !== undefined) folders = add('folders', folders, folderHash(uid, folder));
  }
  return { ...hashes, columns, folders };
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

type ExportedPlace = {
  /** Uid of the asset's folder, null for the top level, undefined if it is not known. */
  folder: string | null | undefined;
  /** Uid of its workspace; undefined if it is not known. */
  workspace: string | undefined;
  /** Time before the asset was read, in ms since the epoch. */
  exportedAt: number;
};

/** Returns the row of an exported table. */
export const sheetRow = (asset: AssetRecord, values: SheetValues, place: ExportedPlace) => ({
  ...asset,
  ...values,
  was: formatHashes(asset.uid, values, place),
});
