import { itemsOf, totalOf } from '../../client/api/pagination.ts';
import { CodedError } from '../../client/errors.ts';
import type { AssetFilters } from '../../contract/asset-filters.ts';
import type { Collection } from '../../contract/paths.ts';
import type { Context } from '../context.ts';

/**
 * Returns the number of assets that match the filters. Some services report the size of the page as the total, or
 * cap the total. Therefore uses the reported total only if the last asset is at that position; otherwise counts the
 * assets on all pages.
 *
 * @throws CodedError `invalid_response` (exit 10) if the service reports no total
 */
export async function countAssets(context: Context, collection: Collection, filters: AssetFilters): Promise<number> {
  const { folderReader: reader, api } = await context.library();
  const first = await reader.page(filters, 1, 0, collection);
  const total = totalOf(first, api.names) ?? (itemsOf(first).length === 0 ? 0 : undefined);
  if (total === undefined)
    throw new CodedError('the service does not report a total', {
      code: 'invalid_response',
      reason: 'its pages have no total under a known name (A01)',
      hint: 'count them: mediactl ls --all -q | wc -l',
    });
  const last = total === 0 ? first : await reader.page(filters, 2, total - 1, collection);
  if (itemsOf(last).length === Math.min(total, 1)) return total;
  let count = 0;
  for await (const page of reader.list(filters, {}, collection)) count += page.length;
  return count;
}
