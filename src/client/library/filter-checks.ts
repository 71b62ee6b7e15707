import { parentOf } from '../../contract/asset.ts';
import { type AssetFilters, activeFilters } from '../../contract/asset-filters.ts';
import { asText } from '../../contract/json-values.ts';
import type { AssetRecord } from '../../contract/types.ts';
import { isSameUid } from '../../contract/uid.ts';
import type { AssetsApi } from '../api/assets.ts';
import { itemsOf } from '../api/pagination.ts';
import { CodedError } from '../errors.ts';
import type { FolderNode } from './folder-tree.ts';

/**
 * Verifies, before a bulk change, that the service applied the filters, because a service that ignores a filter
 * lists every asset. Each asset must match. If an asset's record does not contain a field, the service is queried
 * with a value that no asset matches.
 *
 * @throws CodedError `filter_ignored` (exit 6) if the service ignored a filter
 */
export async function assertFiltersApplied(
  assets: AssetsApi,
  filters: AssetFilters,
  found: readonly AssetRecord[],
  verb?: string,
): Promise<void> {
  if (found.length === 0) return;
  assertShownFilters(filters, found, verb);
  for (const { name, value, matches, unmatchable } of activeFilters(filters)) {
    if (found.every((asset) => matches(asset, value))) continue;
    const unlikely = unmatchable();
    if (await hasMatches(assets, { [name]: unlikely }))
      throw filterIgnored(name, `it lists assets by ${name}=${unlikely} too, which none can match`, verb);
  }
}

/** Verifies the filters as far as the listed records show them, without a request. @throws the same error */
export function assertShownFilters(filters: AssetFilters, found: readonly AssetRecord[], verb?: string): void {
  const wrong = findIgnoredFilter(filters, found);
  if (wrong) throw filterIgnored(wrong.filter, `it lists ${wrong.uid}, which does not match`, verb);
}

type FolderListOptions = {
  filters?: AssetFilters;
  name?: string | undefined;
  limit?: number | undefined;
  verb?: string;
};

/**
 * Lists what is directly in folders, one folder after the other. The uid of the top level is `root`.
 *
 * @param filters other filters; `name` lists only what a search for it finds; `limit` is the maximum number of assets per
 *   folder
 * @throws CodedError `filter_ignored` (exit 6) if the service lists assets of other folders
 */
export async function* listFolders(
  assets: AssetsApi,
  parents: Iterable<string>,
  { filters = {}, name, limit, verb }: FolderListOptions = {},
): AsyncGenerator<{ parent: string; page: AssetRecord[] }> {
  for (const parent of parents) {
    const inFolder = { ...filters, parent };
    const pages = name === undefined ? assets.list(inFolder, { limit }) : assets.listNamed(name, inFolder, { limit });
    for await (const page of pages) {
      await assertFiltersApplied(assets, { parent }, page, verb);
      yield { parent, page };
    }
  }
}

/** Returns the first filter that a listed asset does not match, with the asset's uid; undefined if all match. */
export function findIgnoredFilter(filters: AssetFilters, found: readonly AssetRecord[]) {
  for (const { name, value, matches } of activeFilters(filters)) {
    const other = found.find((asset) => matches(asset, value) === false);
    if (other) return { filter: name, uid: other.uid };
  }
  return undefined;
}

/**
 * Verifies, before a bulk change or a glob, that the service lists only what is directly in a folder. Needs requests
 * only if the assets do not show their folder, and the folder has others below it: looks for an asset in one of those,
 * then for the same asset in the folder.
 *
 * @param findBelow returns the folders in the folder, which may need a request
 * @param found assets that the service listed in the folder
 * @throws CodedError `filter_ignored` (exit 6) if it lists what is below, too
 */
export async function assertFolderIsFlat(
  assets: AssetsApi,
  { parent, findBelow }: { parent: string; findBelow: () => Promise<readonly FolderNode[]> },
  found: readonly AssetRecord[],
  verb?: string,
): Promise<void> {
  if (found.every((asset) => parentOf(asset) !== undefined)) return;
  for (const { folder } of (await findBelow()).slice(0, maxFoldersToProbe)) {
    const [inside] = itemsOf<AssetRecord>(await assets.page({ parent: folder.uid }, 1, 0));
    if (!inside) continue;
    for await (const page of assets.listNamed(asText(inside.name) ?? '', { parent }))
      if (page.some(({ uid }) => isSameUid(uid, inside.uid)))
        throw filterIgnored('parent', `it lists ${inside.uid}, which is in a folder below`, verb);
    return;
  }
}

/** Folders to look for an asset in, since each costs a request and may be empty. */
const maxFoldersToProbe = 5;

/** Returns true if any asset is listed. A 400, 404 or 422 counts as no match: the filter was evaluated. */
const hasMatches = (assets: AssetsApi, filters: AssetFilters): Promise<boolean> =>
  assets.page(filters, 1, 0).then(
    (page) => itemsOf(page).length > 0,
    (error) => {
      const status = error instanceof CodedError ? error.explanation.status : undefined;
      if (status !== undefined && [400, 404, 422].includes(status)) return false;
      throw error;
    },
  );

const filterIgnored = (filter: string, reason: string, verb?: string) =>
  new CodedError(`the service ignored a filter: ${filter}`, {
    code: 'filter_ignored',
    reason: `${reason}; nothing was changed`,
    remedy: ['use_uids', verb],
  });
