import type { AssetFilters, AssetsApi } from '../../../client/api/assets.ts';
import { usageError } from '../../../client/errors.ts';
import { pluralize } from '../../../contract/figures.ts';
import { asNumber, asText, parseTimestamp } from '../../../contract/json-values.ts';
import type { Asset } from '../../../contract/types.ts';
import type { Context } from '../../context.ts';
import { descendantsOf, fetchFolderTree, isRootPath, resolveFolder } from '../../library/folders.ts';

/** Maximum number of folders to list without a notice. Each folder costs a request. */
const maxFoldersWithoutNotice = 20;

/**
 * Returns the uids of a folder and of all its subfolders. The uid of the top level is `root`.
 *
 * @throws MediactlError `usage` (exit 2) if no folder is given, `not_found` (exit 3) if it does not exist
 */
export async function collectFolderUids(context: Context, folder: string | undefined): Promise<string[]> {
  if (folder === undefined) throw usageError('--recursive is for a folder', '--folder /PATH --recursive');
  const { tree } = await fetchFolderTree(context);
  const top = isRootPath(folder) ? undefined : await resolveFolder(context, tree, folder);
  const inside = top ? [top, ...descendantsOf(top)] : tree.all;
  const uids = [...(top ? [] : ['root']), ...inside.map((each) => each.folder.uid)];
  if (uids.length > maxFoldersWithoutNotice)
    context.terminal.info(`${pluralize(uids.length, 'folder')}: a request for each, or more`);
  return uids;
}

/**
 * Returns the assets of several folders as one sorted list.
 *
 * @param maxPerFolder maximum number of assets per folder; undefined for no limit
 */
export async function listAssetsInFolders(
  assets: AssetsApi,
  filters: AssetFilters,
  folders: readonly string[],
  maxPerFolder: number | undefined,
): Promise<Asset[]> {
  const found: Asset[] = [];
  for (const parent of folders)
    for await (const page of assets.list({ ...filters, parent }, { limit: maxPerFolder })) found.push(...page);
  return found.sort(comparatorFor(filters.ordering ?? '-created_at'));
}

/** Returns a function that compares assets by an ordering, `created_at`, `name` or `duration` (§4). */
function comparatorFor(ordering: string): (one: Asset, other: Asset) => number {
  const sign = ordering.startsWith('-') ? -1 : 1;
  const field = ordering.replace(/^-/, '');
  const numberOf = (asset: Asset) =>
    (field === 'duration' ? asNumber(asset.duration) : parseTimestamp(asset.created_at)) ?? 0;
  if (field !== 'name') return (one, other) => sign * (numberOf(one) - numberOf(other));
  return ({ name: one }, { name: other }) => sign * (asText(one) ?? '').localeCompare(asText(other) ?? '');
}
