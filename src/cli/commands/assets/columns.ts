import { parentFields, parentOf, workspaceOf } from '../../../contract/asset.ts';
import { classifyStatus } from '../../../contract/assumptions.ts';
import { formatBytes, formatDuration } from '../../../contract/figures.ts';
import { asNumber } from '../../../contract/json-values.ts';
import { displayText, escapeControls, relativeTime, shortenUrl } from '../../../contract/sanitize.ts';
import type { AssetRecord } from '../../../contract/types.ts';
import type { Context } from '../../context.ts';
import { LocationNames } from '../../library/name-cache.ts';
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

const created = ({ created_at }: AssetRecord, { isTerminal, now }: RenderContext) =>
  isTerminal ? relativeTime(created_at, now) : displayText(created_at);

/** Formats a duration as minutes and seconds on a terminal. A pipe gets the service's value. */
function length({ duration: value }: AssetRecord, { isTerminal }: RenderContext): string {
  const seconds = asNumber(value);
  return seconds === undefined || !isTerminal ? displayText(value) : formatDuration(seconds);
}

function sizeText({ size }: AssetRecord, { isTerminal }: RenderContext): string {
  const count = asNumber(size);
  return count === undefined || !isTerminal ? displayText(size) : formatBytes(count);
}

const assetColumns: Column<AssetRecord>[] = [
  { header: 'UID', field: 'uid', value: ({ uid }) => escapeControls(uid), uid: 'asset' },
  { header: 'NAME', field: 'name', value: ({ name }) => displayText(name), minWidth: 18, isFirst: true },
  { header: 'TYPE', field: 'type', value: ({ type }) => displayText(type), minWidth: 8, dropPriority: 2 },
  { header: 'STATUS', field: 'status', value: status, minWidth: 6 },
  { header: 'LENGTH', field: 'duration', value: length, noTruncate: true, dropPriority: 3 },
  { header: 'SIZE', field: 'size', value: sizeText, noTruncate: true, dropPriority: 4, terminalOnly: true },
  { header: 'CREATED', field: 'created_at', value: created, noTruncate: true, dropPriority: 1 },
  { header: 'TAGS', field: 'tags', value: ({ tags }) => displayText(tags), dropPriority: 5, terminalOnly: true },
];

/** Fields that asset records usually have (§2, assumption A09). */
export const knownFields: readonly string[] = [
  ...assetColumns.flatMap(({ field }) => field ?? []),
  ...[
    'description',
    'content_type',
    'thumbnail_url',
    'filename',
    'failure_reason',
    'updated_at',
    'parent',
    'workspace',
  ],
];

/** Minimum terminal width, in columns, for the FOLDER column, whose paths cost extra requests. */
const minColumnsForFolder = 120;

/** Returns assets as a table, with their folder paths if the terminal is wide enough. */
export function assetList(
  context: Context,
  pages: AsyncIterable<AssetRecord[]> | Iterable<AssetRecord[]>,
  empty: string,
): ListResult {
  if (!context.isHumanOutput || context.terminal.columns < minColumnsForFolder)
    return list(pages, assetColumns, empty) as ListResult;
  const places = new LocationNames(context);
  async function* withFolderPaths() {
    for await (const page of pages) {
      await places.load('folders', page.map(parentOf));
      yield page;
    }
  }
  const value = (asset: AssetRecord) => folderText(asset, places);
  const folder: Column<AssetRecord> = { header: 'FOLDER', value, dropPriority: 6, terminalOnly: true };
  return list(withFolderPaths(), [...assetColumns, folder], empty) as ListResult;
}

function folderText(asset: AssetRecord, places: LocationNames): string {
  const parent = parentOf(asset);
  return parent === null ? '/' : places.displayName(parent);
}

const workspaceFields = ['workspace', 'workspace_uid'];

/** Formats an asset as rows, the main fields first, then all others that the service sent. */
const assetRows =
  (places: LocationNames) =>
  (asset: AssetRecord, render: RenderContext): DetailRow[] => {
    const { uid, name, type, status: _, duration: __, size: ___, created_at: ____, ...rest } = asset;
    const { isTerminal } = render;
    const folder = folderText(asset, places);
    const other = ([field, value]: [string, unknown]): DetailRow => {
      const label = field.replaceAll('_', ' ');
      if (isTerminal && parentFields.includes(field)) return ['folder', folder];
      if (isTerminal && workspaceFields.includes(field)) return ['workspace', places.displayName(workspaceOf(asset))];
      if (isTerminal && field.endsWith('_at')) return [label, relativeTime(value, render.now)];
      return [label, isTerminal ? shortenUrl(displayText(value)) : displayText(value)];
    };
    return [
      ['uid', escapeControls(uid)],
      ['name', displayText(name)],
      ['type', displayText(type)],
      ['status', status(asset, render)],
      ['length', length(asset, render)],
      ['size', sizeText(asset, render)],
      ['created', created(asset, render)],
      ...Object.entries(rest).map(other),
    ];
  };

/** Returns one asset as a record. On a terminal, its folder and workspace are shown by name. */
export async function assetRecord(context: Context, asset: AssetRecord): Promise<Result> {
  const places = new LocationNames(context);
  if (context.isHumanOutput) {
    await places.load('folders', [parentOf(asset)]);
    await places.load('workspaces', [workspaceOf(asset)]);
  }
  return record(asset, asset.uid, assetRows(places), { uid: 'asset', columns: assetColumns });
}

/** Returns a list of assets. Without a machine-readable format, a single requested asset is shown with all its fields. */
export async function recordOrList(context: Context, assets: readonly AssetRecord[], requestedCount: number) {
  const [only] = assets;
  if (requestedCount !== 1 || context.isMachineReadable) return assetList(context, [[...assets]], '');
  return only ? assetRecord(context, only) : noResult;
}
