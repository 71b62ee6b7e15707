import { type NameOverrides, namesFor } from '../wire/assumptions.ts';
import type { Page } from '../wire/types.ts';
import { unexpectedAnswer } from './unexpected-answer.ts';

/** §8: `limit` is 1 to 100; requests are the currency, so a full page is asked for. */
export const maxPageSize = 100;

/** How many pages may be asked for at once, where the request budget allows it. */
export const mostPagesInFlight = 8;

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
  throw unexpectedAnswer('the answer is not a page of the API', {
    reason: 'it has no `items` array of records',
  });
}

export type Window = {
  /** How many records at most; undefined for all of them. */
  limit?: number | undefined;
  offset?: number | undefined;
};

const mostStalePages = 10;

const notPaging = () =>
  unexpectedAnswer('the service sends the same items again and again', {
    reason: 'it does not seem to heed the offset',
    hint: 'mediactl api /assets/?offset=100, to see what it sends',
  });

type FetchPage<T> = (limit: number, offset: number) => Promise<Page<T>>;

/**
 * Yields page after page, in order; stops at the total (A01), else on a short page; drops repeats by
 * `uid`, since new items shift the offsets. Once the total is known, several pages are on their way
 * at once.
 *
 * @param inFlight asked before each request: how many at most
 */
export async function* pages<T>(
  fetchPage: FetchPage<T>,
  { limit = Number.POSITIVE_INFINITY, offset = 0 }: Window,
  names: NameOverrides,
  inFlight: () => number = () => 1,
): AsyncGenerator<T[]> {
  const seen = new Set<unknown>();
  let total: number | undefined;
  let wanted = limit;
  let end = offset + limit;
  let stale = 0;

  const fetched = async (count: number, at: number) => {
    const page = await fetchPage(count, at);
    total = totalOf(page, names) ?? total;
    return page;
  };
  /** `count` items from `at` on, or to the end: a page that came short is asked on. */
  const span = async (at: number, count: number) => {
    const items = itemsOf<T>(await fetched(count, at));
    const isShort = () => items.length < count && at + items.length < (total ?? 0);
    for (let more = items; more.length > 0 && isShort(); items.push(...more))
      more = itemsOf<T>(await fetched(count - items.length, at + items.length));
    return items;
  };

  if (limit <= 0) return;
  const first = await fetched(Math.min(maxPageSize, limit), offset);
  let items: T[] | undefined = itemsOf<T>(first);
  // The stride is what came, not what was asked for: a service may give less.
  const stride = total === undefined ? maxPageSize : items.length;
  const underway: Promise<T[]>[] = [];
  for (let at = offset + items.length; items && items.length > 0; items = await underway.shift()) {
    // Records without a uid cannot be told apart, and are all kept.
    const fresh = items.filter((item) => uidOf(item) === undefined || !seen.has(uidOf(item)));
    for (const item of fresh) seen.add(uidOf(item));
    end += items.length - fresh.length;
    if (fresh.length > 0) yield fresh.slice(0, wanted);
    wanted -= fresh.length;
    // A plain array is all there is.
    if (Array.isArray(first) || wanted <= 0) return;
    stale = fresh.length === 0 ? stale + 1 : 0;
    // Without a total, a page of nothing new would come for ever; with one it may be new items at
    // the head, until it is a service that does not page.
    if (total === undefined && (items.length < stride || stale > 0)) return;
    if (stale >= mostStalePages) throw notPaging();
    const most = total === undefined ? 1 : Math.max(1, inFlight());
    while (underway.length < most && at < Math.min(end, total ?? end)) {
      const count = Math.min(stride, end - at);
      const page = span(at, count);
      page.catch(() => {}); // told when its turn comes; nobody may be left to hear it
      underway.push(page);
      at += count;
    }
  }
}

const uidOf = (item: unknown) => (item as { uid?: unknown } | null)?.uid;
