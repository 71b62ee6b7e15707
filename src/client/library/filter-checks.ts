import { type AssetFilterName, type AssetFilters, activeFilters, assetFilters } from '../../contract/asset-filters.ts';
import type { AssetRecord, PageEnvelope } from '../../contract/types.ts';
import type { AssetsApi } from '../api/assets.ts';
import { itemsOf } from '../api/pagination.ts';
import { CodedError } from '../errors.ts';

/**
 * Verifies, before a bulk change, that the service applied the filters, because a service that ignores a filter
 * lists every asset. Each asset must match. If an asset's record does not contain a field, the service is queried
 * with a value that no asset matches.
 *
 * @throws CodedError `filter_ignored` (exit 6) if the service ignored a filter
 */
export async function assertFiltersApplied(
  fetchPage: FetchListPage,
  filters: AssetFilters,
  found: readonly AssetRecord[],
  verb?: string,
): Promise<void> {
  if (found.length === 0) return;
  assertShownFilters(filters, found, verb);
  for (const { name, value, matches } of activeFilters(filters))
    if (!found.every((asset) => matches(asset, value))) await assertFilterWorks(fetchPage, name, verb);
}

export type FetchListPage = AssetsApi<AssetFilters>['page'];

/** Verifies that the service lists nothing for a value that no asset matches. @throws the same error */
export async function assertFilterWorks(fetchPage: FetchListPage, name: AssetFilterName, verb?: string): Promise<void> {
  const unlikely = assetFilters[name].unmatchable();
  if (await hasMatches(fetchPage({ [name]: unlikely }, 1, 0)))
    throw filterIgnored(name, `it lists assets by ${name}=${unlikely} too, which none can match`, verb);
}

/** Verifies the filters as far as the listed records show them, without a request. @throws the same error */
export function assertShownFilters(filters: AssetFilters, found: readonly AssetRecord[], verb?: string): void {
  const wrong = findIgnoredFilter(filters, found);
  if (wrong) throw filterIgnored(wrong.filter, `it lists ${wrong.uid}, which does not match`, verb);
}

/** Returns the first filter that a listed asset does not match, with the asset's uid; undefined if all match. */
export function findIgnoredFilter(filters: AssetFilters, found: readonly AssetRecord[]) {
  for (const { name, value, matches } of activeFilters(filters)) {
    const other = found.find((asset) => matches(asset, value) === false);
    if (other) return { filter: name, uid: other.uid };
  }
  return undefined;
}

/** Returns true if any asset is listed. A 400, 404 or 422 counts as no match: the filter was evaluated. */
const hasMatches = (listed: Promise<PageEnvelope<AssetRecord>>): Promise<boolean> =>
  listed.then(
    (page) => itemsOf(page).length > 0,
    (error) => {
      const status = error instanceof CodedError ? error.explanation.status : undefined;
      if (status !== undefined && [400, 404, 422].includes(status)) return false;
      throw error;
    },
  );

export const filterIgnored = (filter: string, reason: string, verb?: string) =>
  new CodedError(`the service ignored a filter: ${filter}`, {
    code: 'filter_ignored',
    reason: `${reason}; nothing was changed`,
    remedy: ['use_uids', verb],
  });
