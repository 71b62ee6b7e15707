import { createHash } from 'node:crypto';
import { parentOf, slugsOf } from '../../contract/asset.ts';
import { asText } from '../../contract/json-values.ts';
import type { Asset } from '../../contract/types.ts';
import type { WorkspaceFolderTree } from '../api/folder-tree.ts';
import type { BulkItem } from './run-store.ts';

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

export function sheetValuesOf(asset: Asset, { pathOf }: FolderPaths, folder = parentOf(asset)): SheetValues {
  return {
    name: 'name' in asset ? (asText(asset.name) ?? '') : undefined,
    description: 'description' in asset ? (asText(asset.description) ?? '') : undefined,
    tags: sortTags(slugsOf(asset)),
    folder: folder === null ? '/' : folder && pathOf(folder),
  };
}

export const sortTags = (tags: readonly string[] | undefined) => tags && [...new Set(tags)].sort().join(' ');

/** Normalizes a text for comparison, because spreadsheets and services trim texts and change line ends and accents. */
export const normalizeCell = (text: string) => text.normalize('NFC').replace(/\r\n?/g, '\n').trim();

/** Returns a short hash of a value, without its tabs and other control characters, which LibreOffice drops. */
export const markOf = (uid: string, column: EditableColumn, value: string): string =>
  createHash('sha256')
    .update(`${uid.toLowerCase()}\0${column}\0${normalizeCell(value).replace(/(?!\n)\p{Cc}/gu, '')}`)
    .digest('base64url')
    .slice(0, 8);

const version = 'v1';
const notShown = '_';

/** Returns the cell `was`: a mark for each editable column. It begins with a letter, so that it is no number. */
export const formatMarks = (uid: string, values: SheetValues): string =>
  [
    version,
    ...editableColumns.map((column) => (values[column] === undefined ? notShown : markOf(uid, column, values[column]))),
  ].join('.');

/** Marks by column; undefined for a value that the service did not show. */
export type Marks = { readonly [Column in EditableColumn]: string | undefined };

/** Parses the cell `was`. @returns undefined if it was damaged */
export function parseMarks(text: string): Marks | undefined {
  const [found, ...marks] = text.split('.');
  const isValid = (mark: string) => mark === notShown || /^[\w-]{8}$/.test(mark);
  if (found !== version || marks.length !== editableColumns.length || !marks.every(isValid)) return undefined;
  return Object.fromEntries(
    editableColumns.map((column, at) => [column, marks[at] === notShown ? undefined : marks[at]]),
  ) as Marks;
}

/** Returns the marks of a table as they would be had it been exported after the writes of earlier applies. */
export function advanceMarks(uid: string, marks: Marks, writes: readonly BulkItem[], paths: FolderPaths): Marks {
  const advanced: Record<EditableColumn, string | undefined> = { ...marks };
  for (const { before, after } of writes) {
    const [from, to] = [before, after].map((values) => sheetValuesOf({ uid, ...values }, paths));
    for (const column of editableColumns) {
      const [old, written] = [from?.[column], to?.[column]];
      if (old !== undefined && written !== undefined && markOf(uid, column, old) === advanced[column])
        advanced[column] = markOf(uid, column, written);
    }
  }
  return advanced;
}

/** Returns the row of an exported table. */
export const sheetRow = (asset: Asset, values: SheetValues) => ({
  ...asset,
  ...values,
  was: formatMarks(asset.uid, values),
});
