import { type NameOverrides, namesFor } from '../../contract/assumptions.ts';
import { type Fields, fieldsIn, isFields, numberIn } from '../../contract/reading.ts';
import type { Page } from '../../contract/types.ts';
import { identified } from '../http/identifier.ts';
import { unexpectedAnswer } from '../http/unexpected-answer.ts';

/** Maximum page size (§8: `limit` is 1 to 100). Full pages are requested to save requests. */
export const maxPageSize = 100;

/** Maximum number of pages to prefetch at once, if the rate limit allows it. */
export const mostPagesInFlight = 8;

/**
 * Returns the total number of items according to a page envelope (A01), or undefined. Of several numbers the
 * largest counts: another one may be the page size.
 */
export function totalOf(page: Page<unknown>, names: NameOverrides): number | undefined {
  const totals = namesFor('page_total', names).flatMap((name) => numberIn(page[name]) ?? []);
  return totals.length > 0 ? Math.max(...totals) : undefined;
}

/** Returns the items of a response that should be a page. A plain array is the only page. */
export function itemsOf<T extends Fields>(answer: unknown): T[] {
  const items = Array.isArray(answer) ? answer : fieldsIn(answer).items;
  if (Array.isArray(items) && items.every(isFields)) return items as T[];
  throw unexpectedAnswer('the answer is not a page of the API', {
    reason: 'it has no `items` array of records',
  });
}

/** Validates a page and the uid of each item. */
export function identifiedPage<T extends Fields & { uid: string }>(answer: object): Page<T> {
  const items = itemsOf(answer).map((item) => identified<T>(item));
  return Array.isArray(answer) ? (items as unknown as Page<T>) : { ...answer, items };
}

export type Window = {
  /** Maximum number of records. Undefined for all. */
  limit?: number | undefined;
  offset?: number | undefined;
  /** True if the specification shows no pagination for this list: the service may return all of it at once. */
  mayBeWhole?: boolean;
};

const mostStalePages = 10;

const notPaging = () =>
  unexpectedAnswer('the service sends the same items again and again', {
    reason: 'it seems to ignore the offset',
    hint: 'mediactl api /assets/?offset=100, to see what it sends',
  });

type FetchPage<T> = (limit: number, offset: number) => Promise<Page<T>>;

/** A received page. `hasNext` is the `next` field as a boolean, or undefined if the service sends none. */
type Fetched<T> = { items: T[]; asked: number; hasNext: boolean | undefined };

/**
 * Yields the pages of a list in order until the end. Prefetches pages as far as the total (A01) suggests. The
 * total may be wrong, so the last page must be short or have no `next`. Without a total, the list ends at an
 * empty page or one shorter than the first. Items are deduped by `uid`, since new items shift the offsets.
 *
 * @param maxInFlight returns the maximum number of concurrent requests; called before each
 * @throws MediactlError `unexpected_answer` if the service ignores the offset
 */
export async function* pages<T extends Fields>(
  fetchPage: FetchPage<T>,
  { limit = Number.POSITIVE_INFINITY, offset = 0, mayBeWhole = false }: Window,
  names: NameOverrides,
  inFlight: () => number = () => 1,
): AsyncGenerator<T[]> {
  const seen = new Set<unknown>();
  let total: number | undefined;
  let wanted = limit;
  let end = offset + limit;
  let freshPages = 0;
  let stalePages = 0;
  let staleInARow = 0;
  let usesNext = false;

  const fetched = async (count: number, at: number): Promise<Fetched<T> & { whole: boolean }> => {
    const page = await fetchPage(count, at);
    total = totalOf(page, names) ?? total;
    const { next } = fieldsIn(page);
    const hasNext = next === undefined ? undefined : Boolean(next);
    usesNext ||= hasNext === true;
    // A plain array is the complete list.
    return { items: itemsOf<T>(page), asked: count, hasNext, whole: Array.isArray(page) };
  };
  /** Fetches `count` items from offset `at`. If a page is short, requests the rest. */
  const span = async (at: number, count: number): Promise<Fetched<T>> => {
    const all = await fetched(count, at);
    let more = all;
    while (
      more.items.length > 0 &&
      all.items.length < count &&
      at + all.items.length < (total ?? 0)
    ) {
      more = await fetched(count - all.items.length, at + all.items.length);
      all.items.push(...more.items);
    }
    return { ...all, hasNext: more.hasNext };
  };
  /** Dedupes items by uid and keeps records without one. Returns undefined at the end of the list. */
  const freshOf = ({ items, asked }: Fetched<T>, stride: number): T[] | undefined => {
    const fresh = items.filter(({ uid }) => uid === undefined || !seen.has(uid));
    for (const { uid } of fresh) seen.add(uid);
    if (fresh.length > 0) freshPages++;
    else stalePages++;
    staleInARow = fresh.length > 0 ? 0 : staleInARow + 1;
    // The service sent the whole list at once: fewer items than requested, then the same again.
    const isWhole = total === undefined ? !usualSizes.includes(stride) : mayBeWhole;
    if (staleInARow > 0 && isWhole && (total ?? seen.size) === seen.size && stride < asked)
      return undefined;
    // With a total, repeated items may be caused by new ones at the head, unless that happens too often.
    if (staleInARow >= (total === undefined ? 1 : mostStalePages)) throw notPaging();
    return fresh;
  };

  if (limit <= 0) return;
  const first = await fetched(Math.min(maxPageSize, limit), offset);
  // Advance by the received size, since a service may return smaller pages than requested.
  const stride = first.items.length;
  let page: Fetched<T> | undefined = first;
  let last: Fetched<T> = first;
  const underway: Promise<Fetched<T> | undefined>[] = [];
  let at = offset + stride;
  for (; page && page.items.length > 0; page = await underway.shift()) {
    last = page;
    const fresh = freshOf(page, stride);
    if (!fresh) return;
    end += page.items.length - fresh.length;
    if (fresh.length > 0) yield fresh.slice(0, wanted);
    wanted -= fresh.length;
    if (first.whole || wanted <= 0) return;
    const most = Math.max(1, inFlight());
    while (underway.length < most && at < Math.min(end, total ?? 0)) {
      const count = Math.min(stride, end - at);
      const more = span(at, count);
      more.catch(() => {}); // thrown when the page is consumed; avoids an unhandled rejection
      underway.push(more);
      at += count;
    }
    if (underway.length > 0 || !mayHaveMore(last, { stride, total, usesNext, mayBeWhole }))
      continue;
    // Beyond the reported total, or without one: fetch sequentially.
    const more = fetched(Math.min(maxPageSize, end - at), at).then(
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
    underway.push(more);
  }
  if (freshPages === 1 && stalePages > 0) throw notPaging();
}

/** Page sizes that some services enforce regardless of the request. */
const usualSizes = [10, 20, 25, 30, 40, 50];

/** Returns false once a total, a shorter page or a missing `next` proves that the list has ended. */
function mayHaveMore(
  { items, asked, hasNext }: Fetched<unknown>,
  list: { stride: number; total: number | undefined; usesNext: boolean; mayBeWhole: boolean },
): boolean {
  const { stride, total, usesNext, mayBeWhole } = list;
  if (hasNext !== undefined && (hasNext || usesNext || total !== undefined)) return hasNext;
  if (items.length >= asked) return true;
  if (items.length < stride) return false; // shorter than the previous pages
  if (total === undefined && !mayBeWhole) return true;
  // A total equal to the page size may count only this page.
  return usualSizes.includes(stride) && (total === undefined || total === stride);
}
