import { type NameOverrides, namesFor } from '../../contract/assumptions.ts';
import { type Fields, fieldsIn, isFields, numberIn } from '../../contract/reading.ts';
import type { Page } from '../../contract/types.ts';
import { identified } from '../http/identifier.ts';
import { unexpectedAnswer } from '../http/unexpected-answer.ts';

/** §8: `limit` is 1 to 100; requests are the currency, so a full page is asked for. */
export const maxPageSize = 100;

/** How many pages may be asked for at once, where the request budget allows it. */
export const mostPagesInFlight = 8;

/**
 * The grand total of a page envelope (A01); undefined where it carries none. Of several numbers the
 * largest: another one counts the page.
 */
export function totalOf(page: Page<unknown>, names: NameOverrides): number | undefined {
  const totals = namesFor('page_total', names).flatMap((name) => numberIn(page[name]) ?? []);
  return totals.length > 0 ? Math.max(...totals) : undefined;
}

/** The items of an answer that should be a page; a plain array is taken as its only page. */
export function itemsOf<T extends Fields>(answer: unknown): T[] {
  const items = Array.isArray(answer) ? answer : fieldsIn(answer).items;
  if (Array.isArray(items) && items.every(isFields)) return items as T[];
  throw unexpectedAnswer('the answer is not a page of the API', {
    reason: 'it has no `items` array of records',
  });
}

/** The same page, its items with uids that are one (identifier.ts); a plain array stays one. */
export function identifiedPage<T extends Fields & { uid: string }>(answer: object): Page<T> {
  const items = itemsOf(answer).map((item) => identified<T>(item));
  return Array.isArray(answer) ? (items as unknown as Page<T>) : { ...answer, items };
}

export type Window = {
  /** How many records at most; undefined for all of them. */
  limit?: number | undefined;
  offset?: number | undefined;
  /** The specification shows no paging of this list: it may come whole, whatever is asked for. */
  mayBeWhole?: boolean;
};

const mostStalePages = 10;

const notPaging = () =>
  unexpectedAnswer('the service sends the same items again and again', {
    reason: 'it seems to ignore the offset',
    hint: 'mediactl api /assets/?offset=100, to see what it sends',
  });

type FetchPage<T> = (limit: number, offset: number) => Promise<Page<T>>;

/** A page as it came: whether the service says by its `next` that there is more, if it says so. */
type Fetched<T> = { items: T[]; asked: number; hasNext: boolean | undefined };

/**
 * Yields page after page, in order, until the service has no more: a total (A01) says how many pages
 * may be asked for at once, and may be wrong, so the page that should be the last one must be short,
 * or say that there is no next one. Without a total the list ends at an empty page, or one shorter than the
 * first. Repeats are dropped by `uid`, since new items shift the offsets.
 *
 * @param inFlight asked before each request: how many at most
 * @throws MediactlError `unexpected_answer` where the service does not heed the offset
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
    // A plain array is all there is.
    return { items: itemsOf<T>(page), asked: count, hasNext, whole: Array.isArray(page) };
  };
  /** `count` items from `at` on, or to the end: a page that came short is asked on. */
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
  /** The items that came for the first time; records without a uid are all kept. Undefined at the list's end. */
  const freshOf = ({ items, asked }: Fetched<T>, stride: number): T[] | undefined => {
    const fresh = items.filter(({ uid }) => uid === undefined || !seen.has(uid));
    for (const { uid } of fresh) seen.add(uid);
    if (fresh.length > 0) freshPages++;
    else stalePages++;
    staleInARow = fresh.length > 0 ? 0 : staleInARow + 1;
    // The whole list came at once: less than was asked for, and the same again.
    const isWhole = total === undefined ? !usualSizes.includes(stride) : mayBeWhole;
    if (staleInARow > 0 && isWhole && (total ?? seen.size) === seen.size && stride < asked)
      return undefined;
    // With a total it may be new items at the head, until it is a service that does not page.
    if (staleInARow >= (total === undefined ? 1 : mostStalePages)) throw notPaging();
    return fresh;
  };

  if (limit <= 0) return;
  const first = await fetched(Math.min(maxPageSize, limit), offset);
  // The stride is what came, not what was asked for: a service may give less.
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
      more.catch(() => {}); // told when its turn comes; nobody may be left to hear it
      underway.push(more);
      at += count;
    }
    if (underway.length > 0 || !mayHaveMore(last, { stride, total, usesNext, mayBeWhole }))
      continue;
    // Past what the total says, if it says anything: one page after another.
    const more = fetched(Math.min(maxPageSize, end - at), at).then(
      (one) => {
        at += one.items.length;
        return one;
      },
      (error) => {
        if (error.explanation?.status !== 404) throw error;
        return undefined; // some services refuse an offset past the end
      },
    );
    more.catch(() => {});
    underway.push(more);
  }
  if (freshPages === 1 && stalePages > 0) throw notPaging();
}

/** Page sizes that a service may insist on, whatever it is asked for. */
const usualSizes = [10, 20, 25, 30, 40, 50];

/** Returns false once something vouches for the end: a total, a shorter page, a `next` that was used before. */
function mayHaveMore(
  { items, asked, hasNext }: Fetched<unknown>,
  list: { stride: number; total: number | undefined; usesNext: boolean; mayBeWhole: boolean },
): boolean {
  const { stride, total, usesNext, mayBeWhole } = list;
  if (hasNext !== undefined && (hasNext || usesNext || total !== undefined)) return hasNext;
  if (items.length >= asked) return true;
  if (items.length < stride) return false; // shorter than the pages before it
  if (total === undefined && !mayBeWhole) return true;
  // A total of one page may count that page alone.
  return usualSizes.includes(stride) && (total === undefined || total === stride);
}
