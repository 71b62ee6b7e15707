import { exitCodes, MediactlError } from '../errors.ts';
import { type NameOverrides, namesFor } from '../wire/assumptions.ts';
import type { Page } from '../wire/types.ts';

/** §8: `limit` is 1 to 100; requests are the currency, so a full page is asked for. */
export const maxPageSize = 100;

/** The grand total of a page envelope (A01); undefined where it carries none. */
export function totalOf(page: Page<unknown>, names: NameOverrides): number | undefined {
  for (const name of namesFor('page_total', names)) {
    const value = page[name];
    if (typeof value === 'number') return value;
  }
  return undefined;
}

/** The items of an answer that should be a page; a plain array is taken as its only page. */
export function itemsOf<T>(answer: unknown): T[] {
  const items = Array.isArray(answer) ? answer : (answer as { items?: unknown } | null)?.items;
  if (Array.isArray(items) && items.every((item) => typeof item === 'object' && item !== null))
    return items;
  throw new MediactlError('the answer is not a page of the API', {
    code: 'unexpected_answer',
    exitCode: exitCodes.unreachable,
    reason: 'it has no `items` array of records',
    hint: 'check the base URL: mediactl auth status',
  });
}

export type Window = {
  /** How many records at most; undefined for all of them. */
  limit?: number | undefined;
  offset?: number | undefined;
};

/**
 * Yields page after page. Advances by the number of items received; stops at the total, else on a
 * short page; drops repeats by `uid`, since new items shift the offsets.
 */
export async function* pages<T>(
  fetchPage: (limit: number, offset: number) => Promise<Page<T>>,
  { limit = Number.POSITIVE_INFINITY, offset = 0 }: Window,
  names: NameOverrides,
): AsyncGenerator<T[]> {
  const seen = new Set<unknown>();
  let wanted = limit;
  let at = offset;
  while (wanted > 0) {
    const size = Math.min(maxPageSize, wanted);
    const page = await fetchPage(size, at);
    const items = itemsOf<T>(page);
    // Records without a uid cannot be told apart, and are all kept.
    const fresh = items.filter((item) => uidOf(item) === undefined || !seen.has(uidOf(item)));
    for (const item of fresh) seen.add(uidOf(item));
    if (fresh.length > 0) yield fresh;
    at += items.length;
    wanted -= fresh.length;
    const total = totalOf(page, names);
    // A plain array is all there is; a page of nothing new would come for ever.
    if (Array.isArray(page) || fresh.length === 0) return;
    if (total === undefined ? items.length < size : at >= total) return;
  }
}

const uidOf = (item: unknown) => (item as { uid?: unknown } | null)?.uid;
