import { isGlob } from '../../../client/glob.ts';
import type { FolderReader } from '../../../client/library/folder-reader.ts';
import { descendantsOf, isRootPath } from '../../../client/library/library-paths.ts';
import type { AssetFilters } from '../../../contract/asset-filters.ts';
import type { AssetRecord } from '../../../contract/types.ts';
import { asNumber, asText, parseTimestamp } from '../../../shared/json-values.ts';
import type { Context } from '../../context.ts';
import { fetchFolderTree, resolveFolder } from '../../library/folders.ts';

/** Returns the assets at an address or that match a glob, sorted. @throws CodedError `not_found` for an address */
export async function listMatches(context: Context, pattern: string, filters: AssetFilters): Promise<AssetRecord[]> {
  const { findAssetsByPath } = await import('../../../client/library/find-assets.ts');
  const { noAssetAt, noticeFolderCount } = await import('../../library/asset-paths.ts');
  const { tree } = await fetchFolderTree(context);
  const onFolderCount = (count: number) => noticeFolderCount(context, count);
  const { found } = await findAssetsByPath((await context.library()).folderReader, pattern, tree, {
    filters,
    onFolderCount,
  });
  if (found.length === 0 && !isGlob(pattern)) throw noAssetAt(pattern, tree);
  return found.sort(comparatorFor(filters.ordering ?? '-created_at'));
}

/** Returns the uids of a folder and of all its subfolders. The uid of the top level is `root`. */
export async function collectFolderUids(context: Context, folder: string): Promise<string[]> {
  const { tree } = await fetchFolderTree(context);
  const top = isRootPath(folder) ? undefined : await resolveFolder(context, tree, folder);
  const inside = top ? [top, ...descendantsOf(top)] : tree.all;
  const uids = [...(top ? [] : ['root']), ...inside.map((each) => each.folder.uid)];
  const { noticeFolderCount } = await import('../../library/asset-paths.ts');
  noticeFolderCount(context, uids.length);
  return uids;
}

/**
 * Returns the assets of several folders as one sorted list.
 *
 * @param limit maximum number of assets of each folder; `parents` receives the folder of each asset, by their uids
 */
export async function listAssetsInFolders(
  reader: FolderReader,
  filters: AssetFilters,
  folders: readonly string[],
  { limit, parents }: { limit: number | undefined; parents: Map<string, string> },
): Promise<AssetRecord[]> {
  const found: AssetRecord[] = [];
  for await (const { parent, page } of reader.listEach(folders, { filters, limit })) {
    found.push(...page);
    for (const { uid } of page) parents.set(uid, parent);
  }
  return found.sort(comparatorFor(filters.ordering ?? '-created_at'));
}

/** Returns the function that finds the path of an asset below a folder, such as `day2/clip.mp4`. */
export async function createRelativePaths(
  context: Context,
  top: string,
  parents: ReadonlyMap<string, string>,
): Promise<(asset: AssetRecord) => string> {
  const { tree } = await fetchFolderTree(context);
  const pathOf = (uid: string) => tree.find(uid)?.path ?? '';
  const start = pathOf(top).length;
  const prefixes = new Map([...new Set(parents.values())].map((uid) => [uid, `${pathOf(uid)}/`.slice(start + 1)]));
  return ({ uid, name }) => `${prefixes.get(parents.get(uid) ?? top) ?? ''}${asText(name) ?? uid}`;
}

/** Returns a function that compares assets by an ordering, `created_at`, `name` or `duration` (§4). */
function comparatorFor(ordering: string): (one: AssetRecord, other: AssetRecord) => number {
  const sign = ordering.startsWith('-') ? -1 : 1;
  const field = ordering.replace(/^-/, '');
  const numberOf = (asset: AssetRecord) =>
    (field === 'duration' ? asNumber(asset.duration) : parseTimestamp(asset.created_at)) ?? 0;
  if (field !== 'name') return (one, other) => sign * (numberOf(one) - numberOf(other));
  return ({ name: one }, { name: other }) => sign * (asText(one) ?? '').localeCompare(asText(other) ?? '');
}
