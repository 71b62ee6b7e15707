import { createFolderPaths } from '../../../client/changes/sheet.ts';
import { parentFields, parentOf } from '../../../contract/asset.ts';
import { shownWorkspace, workspaceFields } from '../../../contract/asset-workspace.ts';
import { classifyStatus } from '../../../contract/assumptions.ts';
import type { AssetRecord } from '../../../contract/types.ts';
import { displayText, escapeControls, relativeTime, shortenUrl } from '../../../shared/sanitize.ts';
import type { Context } from '../../context.ts';
import { createFolderLookup } from '../../library/folder-lookup.ts';
import { fetchFolderTreeIfAny } from '../../library/folders.ts';
import { LocationNames } from '../../library/name-cache.ts';
import { cellOf } from '../../output/cells.ts';
import {
  type Column,
  type DetailRow,
  type ListResult,
  list,
  noResult,
  type RenderContext,
  type Result,
  record,
} from '../../output/result.ts';

const status = ({ status: value }: AssetRecord, { colors }: RenderContext) => {
  const color = { ready: colors.green, failed: colors.red, 'in progress': colors.yellow };
  return color[classifyStatus(value)](displayText(value));
};

const assetColumns: Column<AssetRecord>[] = [
  { field: 'uid', uid: 'asset' },
  { field: 'name', minWidth: 18, isFirst: true },
  { field: 'type', minWidth: 8, dropPriority: 2 },
  { field: 'status', value: status, minWidth: 6 },
  { field: 'duration', noTruncate: true, dropPriority: 3 },
  { field: 'size', noTruncate: true, dropPriority: 4, terminalOnly: true },
  { field: 'created_at', noTruncate: true, dropPriority: 1 },
  { field: 'tags', dropPriority: 5, terminalOnly: true },
];

/** Fields that asset records usually have (§2, assumption A09), and the path of the folder. */
export const knownFields: readonly string[] = [
  ...assetColumns.flatMap(({ field }) => field ?? []),
  ...['description', 'content_type', 'thumbnail_url', 'filename', 'failure_reason', 'updated_at'],
  ...['parent', 'workspace', 'folder'],
];

/** Minimum terminal width, in columns, for the FOLDER column, whose paths cost extra requests. */
const minColumnsForFolder = 120;

type AssetPages = AsyncIterable<AssetRecord[]> | Iterable<AssetRecord[]>;

type ListPlace = {
  /** Returns the path of an asset below the folder that is listed, which the table shows in place of its name. */
  pathOf?: ((asset: AssetRecord) => string) | undefined;
  /** True if all assets are in one folder, which the user has named. */
  isOneFolder?: boolean;
};

/** Returns assets as a table, with their folder paths if the terminal is wide enough, or if --fields names `folder`. */
export function assetList(
  context: Context,
  pages: AssetPages,
  empty: string,
  { pathOf, isOneFolder = false }: ListPlace = {},
): ListResult {
  const { fields } = context.settings.outputOptions;
  const path: Column<AssetRecord> | undefined = pathOf && {
    field: 'path',
    value: (asset) => escapeControls(pathOf(asset)),
    minWidth: 18,
    isFirst: true,
  };
  const columns = path ? assetColumns.map((column) => (column.field === 'name' ? path : column)) : assetColumns;
  if (fields) return list(withComputedFields(context, pages, fields, pathOf), columns, empty);
  const hasFolderColumn = context.isHumanOutput && context.terminal.columns >= minColumnsForFolder;
  if (!hasFolderColumn || path || isOneFolder) return list(pages, columns, empty);
  const places = new LocationNames(context);
  async function* withFolderPaths() {
    for await (const page of pages) {
      await places.load('folders', page.map(parentOf));
      yield page;
    }
  }
  const value = (asset: AssetRecord) => folderText(asset, places);
  const folder: Column<AssetRecord> = { field: 'folder', value, dropPriority: 6, terminalOnly: true };
  return list(withFolderPaths(), [...assetColumns, folder], empty);
}

/**
 * Adds the fields that records of the service do not have, if --fields names them: `folder`, the path of the folder (in
 * place of the service's own field of that name), and `path` below the folder that is listed.
 */
async function* withComputedFields(
  context: Context,
  pages: AssetPages,
  fields: readonly string[],
  pathOf: ListPlace['pathOf'],
): AsyncGenerator<AssetRecord[]> {
  const folderPathOf = fields.includes('folder') ? await createFolderPathLookup(context) : undefined;
  for await (const page of pages) {
    const computed: AssetRecord[] = [];
    for (const asset of page)
      computed.push({
        ...asset,
        ...(pathOf && { path: pathOf(asset) }),
        ...(folderPathOf && { folder: await folderPathOf(asset) }),
      });
    yield computed;
  }
}

/** Returns a function that finds the path of an asset's folder; null if it is not known. Tells that it asks for folders. */
async function createFolderPathLookup(context: Context): Promise<(asset: AssetRecord) => Promise<string | null>> {
  const paths = createFolderPaths(await fetchFolderTreeIfAny(context));
  context.terminal.info('the folders were read too, in one request, for the field folder');
  const folderOf = await createFolderLookup(context);
  return async (asset) => {
    const folder = await folderOf(asset);
    return folder === null ? '/' : ((folder && paths.pathOf(folder)) ?? null);
  };
}

function folderText(asset: AssetRecord, places: LocationNames): string {
  const parent = parentOf(asset);
  return parent === null ? '/' : places.displayName(parent);
}

function workspaceText(asset: AssetRecord): string | undefined {
  const { uids, names } = shownWorkspace(asset);
  return uids[0] ?? names[0];
}

const mainFields = ['uid', 'name', 'type', 'status', 'duration', 'size', 'created_at'];

/** Formats an asset as rows, the main fields first, then all others that the service sent. */
const assetRows =
  (places: LocationNames) =>
  (asset: AssetRecord, render: RenderContext): DetailRow[] => {
    const { isTerminal } = render;
    const rowOf = (field: string): DetailRow => {
      const [label, value] = [field.replaceAll('_', ' '), asset[field]];
      const column = assetColumns.find((each) => each.field === field);
      if (column) return [label, cellOf(column, asset, render)];
      if (isTerminal && parentFields.includes(field)) return ['folder', folderText(asset, places)];
      if (isTerminal && workspaceFields().includes(field))
        return ['workspace', places.displayName(workspaceText(asset))];
      if (isTerminal && field.endsWith('_at')) return [label, relativeTime(value, render.now)];
      return [label, isTerminal ? shortenUrl(displayText(value)) : displayText(value)];
    };
    return [...new Set([...mainFields, ...Object.keys(asset)])].map(rowOf);
  };

/** Returns one asset as a record. On a terminal, its folder and workspace are shown by name. */
export async function assetRecord(context: Context, asset: AssetRecord): Promise<Result> {
  const places = new LocationNames(context);
  const { fields } = context.settings.outputOptions;
  const folder = fields?.includes('folder') && { folder: await (await createFolderPathLookup(context))(asset) };
  if (!folder && context.isHumanOutput) {
    await places.load('folders', [parentOf(asset)]);
    await places.load('workspaces', [workspaceText(asset)]);
  }
  return record<AssetRecord>({ ...asset, ...folder }, asset.uid, assetRows(places), {
    uid: 'asset',
    columns: assetColumns,
  });
}

/** Returns a list of assets. Without a machine-readable format, a single requested asset is shown with all its fields. */
export async function recordOrList(context: Context, assets: readonly AssetRecord[], requestedCount: number) {
  const [only] = assets;
  if (requestedCount !== 1 || context.isMachineReadable) return assetList(context, [[...assets]], '');
  return only ? assetRecord(context, only) : noResult;
}
