import { CodedError, type Explanation } from '../../client/errors.ts';
import { hasFilters } from '../../client/library/select-assets.ts';
import type { AssetFilters } from '../../contract/asset-filters.ts';
import type { Collection } from '../../contract/paths.ts';

/** Error for an id, name or address without an asset, for commands that add a hint of their own. */
export class NoAssetError extends CodedError {
  /** Id, name or address as the user typed it. */
  readonly typed: string;
  /** True if it is the address of a folder. */
  readonly isFolder: boolean;

  constructor(typed: string, problem: string, explanation: Explanation, isFolder = false) {
    super(problem, explanation);
    this.typed = typed;
    this.isFolder = isFolder;
  }
}

/**
 * Describes that a list, a search or filters have found nothing, which is no error. A name or glob without an asset is
 * one: `NoAssetError`.
 *
 * @param where of the list or search, such as ` in /Inbox`
 */
export function describeNone(collection: Collection, filters: AssetFilters, where = ''): string {
  const isFiltered = hasFilters({ ...filters, search: undefined, parent: undefined, ordering: undefined });
  return `no ${collection}${isFiltered ? ' match the filters' : ''}${where}`;
}
