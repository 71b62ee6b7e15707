import { fieldNamesFor, type NameOverrides } from '../../contract/assumptions.ts';
import { asNumber, asObject, isJsonObject, type JsonObject } from '../../contract/json-values.ts';
import type { PageEnvelope } from '../../contract/types.ts';
import { parseRecord } from '../http/identifier.ts';
import { unexpectedResponse } from '../http/unexpected-response.ts';

/** Maximum page size (§8: `limit` is 1 to 100). Full pages are requested to save requests. */
export const maxPageSize = 100;

/** Maximum number of pages to request at once. Fewer are requested if the rate limit requires it. */
export const maxPagesInFlight = 8;

/**
 * Returns the total number of items according to a page envelope (assumption A01), or undefined if it shows none.
 * If several fields contain a number, the largest counts, because the others might be the page size.
 */
export function totalOf(page: PageEnvelope<unknown>, names: NameOverrides): number | undefined {
  const totals = fieldNamesFor('page_total', names).flatMap((name) => asNumber(page[name]) ?? []);
  return totals.length > 0 ? Math.max(...totals) : undefined;
}

/**
 * Returns the items of a page of results. A plain array counts as the only page.
 *
 * @throws MediactlError `unexpected_answer` (exit 10) if the response is neither
 */
export function itemsOf<T extends JsonObject>(answer: unknown): T[] {
  const items = Array.isArray(answer) ? answer : asObject(answer).items;
  if (Array.isArray(items) && items.every(isJsonObject)) return items as T[];
  throw unexpectedResponse('the answer is not a page of the API', {
    reason: 'it has no `items` array of records',
  });
}

/** Validates a page of results and the uid of each item. */
export function parsePage<T extends JsonObject & { uid: string }>(answer: object): PageEnvelope<T> {
  const items = itemsOf(answer).map((item) => parseRecord<T>(item));
  return Array.isArray(answer) ? (items as unknown as PageEnvelope<T>) : { ...answer, items };
}

export type ListWindow = {
  /** Maximum number of items to return. Undefined for all items. */
  limit?: number | undefined;
  offset?: number | undefined;
  /** True if the specification shows no pagination for this list, so the service might return all of it at once. */
  mayBeUnpaged?: boolean;
};

const maxStalePages = 10;

const offsetIgnoredError = () =>
  unexpectedResponse('the service sends the same items again and again', {
    reason: 'it seems to ignore the offset',
    hint: 'mediactl api /assets/?offset=100, to see what it sends',
  });

type FetchPage<T> = (limit: number, offset: number) => Promise<PageEnvelope<T>>;

/**
 * A received page of results. `asked` is the number of items requested. `hasNext` is the `next` field as a boolean,
 * or undefined if the service does not send that field.
 */
type FetchedPage<T> = { items: T[]; asked: number; hasNext: boolean | undefined };

/**
 * Yields the pages of a list in order until the list ends. Prefetches pages up to the reported total (assumption
 * A01). The total might be wrong, so the list ends only after a short page or a page without `next`. If there is no
 * total, the list ends at an empty page or at a page shorter than the first. Items are deduped by `uid`, because
 * new items shift the offsets.
 *
 * @param maxInFlight returns the maximum number of concurrent requests, and is called before new requests
 * @throws MediactlError `unexpected_answer` (exit 10) if the service ignores the offset
 */
export async function* fetchPages<T extends JsonObject>(
  fetchPage: FetchPage<T>,
  { limit = Number.POSITIVE_INFINITY, offset = 0, mayBeUnpaged = false }: ListWindow,
  names: NameOverrides,
  maxInFlight: () => number = () => 1,
): AsyncGenerator<T[]> {
  const seenKeys = new Set<unknown>();
  let total: number | undefined;
  let remaining = limit;
  let end = offset + limit;
  let freshPages = 0;
  let stalePages = 0;
  let consecutiveStale = 0;
  let usesNext = false;

  const fetchOnce = async (count: number, at: number): Promise<FetchedPage<T> & { whole: boolean }> => {
    const page = await fetchPage(count, at);
    total = totalOf(page, names) ?? total;
    const { next } = asObject(page);
    const hasNext = next === undefined ? undefined : Boolean(next);
    usesNext ||= hasNext === true;
    // A plain array is the complete list.
    return { items: itemsOf<T>(page), asked: count, hasNext, whole: Array.isArray(page) };
  };
  /** Fetches `count` items from offset `at`. If the service returns fewer items, requests the rest. */
  const fetchSpan = async (at: number, count: number): Promise<FetchedPage<T>> => {
    const all = await fetchOnce(count, at);
    let more = all;
    while (more.items.length > 0 && all.items.length < count && at + all.items.length < (total ?? 0)) {
      more = await fetchOnce(count - all.items.length, at + all.items.length);
      all.items.push(...more.items);
    }
    return { ...all, hasNext: more.hasNext };
  };
  /** Dedupes the items of a page by uid, and keeps items without a uid. Returns undefined at the end of the list. */
  const dedupe = ({ items, asked }: FetchedPage<T>, stride: number): T[] | undefined => {
    const fresh = items.filter(({ uid }) => uid === undefined || !seenKeys.has(uid));
    for (const { uid } of fresh) seenKeys.add(uid);
    if (fresh.length > 0) freshPages++;
    else stalePages++;
    consecutiveStale = fresh.length > 0 ? 0 : consecutiveStale + 1;
    // If a page has fewer items than requested and the next page repeats them, the service sent the whole list at once.
    const isWhole = total === undefined ? !commonPageSizes.includes(stride) : mayBeUnpaged;
    if (consecutiveStale > 0 && isWhole && (total ?? seenKeys.size) === seenKeys.size && stride < asked)
      return undefined;
    // With a total, items might repeat because new items were added at the head, unless that happens too often.
    if (consecutiveStale >= (total === undefined ? 1 : maxStalePages)) throw offsetIgnoredError();
    return fresh;
  };

  if (limit <= 0) return;
  const first = await fetchOnce(Math.min(maxPageSize, limit), offset);
  // Advance by the number of received items, because a service might return smaller pages than requested.
  const stride = first.items.length;
  let page: FetchedPage<T> | undefined = first;
  let last: FetchedPage<T> = first;
  const prefetched: Promise<FetchedPage<T> | undefined>[] = [];
  let at = offset + stride;
  for (; page && page.items.length > 0; page = await prefetched.shift()) {
    last = page;
    const fresh = dedupe(page, stride);
    if (!fresh) return;
    end += page.items.length - fresh.length;
    if (fresh.length > 0) yield fresh.slice(0, remaining);
    remaining -= fresh.length;
    if (first.whole || remaining <= 0) return;
    const concurrency = Math.max(1, maxInFlight());
    while (prefetched.length < concurrency && at < Math.min(end, total ?? 0)) {
      const count = Math.min(stride, end - at);
      const more = fetchSpan(at, count);
      more.catch(() => {}); // thrown when the page is consumed; avoids an unhandled rejection
      prefetched.push(more);
      at += count;
    }
    if (prefetched.length > 0 || !mayHaveMore(last, { stride, total, usesNext, mayBeWhole: mayBeUnpaged })) continue;
    // Fetch sequentially beyond the reported total, or if there is no total.
    const more = fetchOnce(Math.min(maxPageSize, end - at), at).then(
      (one) => {
        at += one.items.length;
        return one;
      },
      (error) => {
        if (error.explanation?.status !== 404) throw error;
        return undefined; // some services respond 404 to an offset past the end
      },
    );
    more.catch(() => {});
    prefetched.push(more);
  }
  if (freshPages === 1 && stalePages > 0) throw offsetIgnoredError();
}

/** Page sizes that some services enforce regardless of the request. */
const commonPageSizes = [10, 20, 25, 30, 40, 50];

/** Returns false once a total, a shorter page or a missing `next` proves that the list has ended. */
function mayHaveMore(
  { items, asked, hasNext }: FetchedPage<unknown>,
  list: { stride: number; total: number | undefined; usesNext: boolean; mayBeWhole: boolean },
): boolean {
  const { stride, total, usesNext, mayBeWhole } = list;
  if (hasNext !== undefined && (hasNext || usesNext || total !== undefined)) return hasNext;
  if (items.length >= asked) return true;
  if (items.length < stride) return false; // shorter than the previous pages
  if (total === undefined && !mayBeWhole) return true;
  // A total equal to the page size might count only this page.
  return commonPageSizes.includes(stride) && (total === undefined || total === stride);
}
