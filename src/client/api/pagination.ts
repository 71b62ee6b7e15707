import { fieldNamesFor, type NameOverrides } from '../../contract/assumptions.ts';
import type { PageEnvelope } from '../../contract/types.ts';
import { asNumber, asObject, isJsonObject, type JsonObject } from '../../shared/json-values.ts';
import { CodedError } from '../errors.ts';
import { unexpectedResponse } from '../http/error-response.ts';
import { parseRecord } from './resource.ts';

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

/** Returns the items of a page or plain array. @throws CodedError `invalid_response` (exit 10) if it is neither */
export function itemsOf<T extends JsonObject>(answer: unknown): T[] {
  const items = Array.isArray(answer) ? answer : asObject(answer).items;
  if (Array.isArray(items) && items.every(isJsonObject)) return items as T[];
  throw unexpectedResponse('the response is not an API page', { reason: 'it has no `items` array' });
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
  /** Called before the first page is yielded, with the total number of items if the service reports it. */
  onTotal?: (total: number | undefined) => void;
  /** Called at the end of a complete list with fewer items than the service says that there are. */
  onGap?: ((gap: ListGap) => void) | undefined;
};

/** A list that ended before its total, although the total stayed the same while it was read. */
export type ListGap = { listed: number; total: number };

/** Returns the error for lists that lack items of their own total; undefined for none. */
export function incompleteLists([gap, ...others]: readonly ListGap[]): CodedError | undefined {
  if (!gap) return undefined;
  const more = others.length > 0 ? `, and ${others.length} other ${others.length === 1 ? 'list' : 'lists'}` : '';
  return new CodedError(`the list is incomplete: ${gap.listed} of ${gap.total} assets${more}`, {
    code: 'list_incomplete',
    reason: `the service says that there are ${gap.total}, and lists ${gap.listed}`,
  });
}

const maxStalePages = 10;

const offsetIgnoredError = () =>
  unexpectedResponse('the service returns the same items on every page', {
    reason: 'it seems to ignore the offset',
  });

type FetchPage<T> = (limit: number, offset: number) => Promise<PageEnvelope<T>>;

type FetchedPage<T> = {
  items: T[];
  /** Offset of the page, and the number of items that were asked for. */
  at: number;
  asked: number;
  /** The `next` field as a boolean. Undefined if the service does not send that field. */
  hasNext: boolean | undefined;
  /** True for a plain array, which is the complete list. */
  isWhole: boolean;
};

/**
 * Yields the pages of a list in order until the list ends. Prefetches pages up to the reported total (assumption
 * A01). The total might be wrong, so the list ends only after a short page or a page without `next`. If there is no
 * total, the list ends at an empty page or at a page shorter than the first. An empty page before the total may be a
 * hole: the page with the last item of the total is read, and tells whether to read on. Items are deduped by `uid`, because
 * new items shift the offsets. If the total shrinks meanwhile, others have deleted items, and those after them have
 * moved to offsets that were already read: a complete list is then read again.
 *
 * @param maxInFlight returns the maximum number of concurrent requests, and is called before new requests
 * @throws CodedError `invalid_response` (exit 10) if the service ignores the offset; `list_changed` (exit 11) if the
 *   list shrinks each time it is read
 */
export async function* fetchPages<T extends JsonObject>(
  fetchPage: FetchPage<T>,
  { limit = Number.POSITIVE_INFINITY, offset = 0, mayBeUnpaged = false, onTotal, onGap }: ListWindow,
  names: NameOverrides,
  maxInFlight: () => number = () => 1,
): AsyncGenerator<T[]> {
  if (limit <= 0) return;
  const list = new PageReader({ fetchPage, names, mayBeUnpaged });
  for (let readings = 1; ; readings++) {
    let left = limit;
    for await (const page of readPages(list, { limit, offset, onTotal }, maxInFlight)) {
      left -= page.length;
      yield page;
    }
    if (left <= 0) return;
    if (!list.hasShrunk || limit !== Number.POSITIVE_INFINITY) {
      const gap = list.findGap(offset);
      if (gap) onGap?.(gap);
      return;
    }
    if (readings === maxReadings)
      throw new CodedError('the list is incomplete, because others delete items while it is read', {
        code: 'list_changed',
        reason: `it was shorter at the end than at the beginning, ${maxReadings} times`,
        retryable: true,
      });
    list.startAgain();
  }
}

/** Maximum number of times that a list is read if it shrinks each time. */
const maxReadings = 5;

async function* readPages<T extends JsonObject>(
  list: PageReader<T>,
  { limit, offset, onTotal }: { limit: number; offset: number } & Pick<ListWindow, 'onTotal'>,
  maxInFlight: () => number,
): AsyncGenerator<T[]> {
  const first = await list.read(Math.min(maxPageSize, limit), offset);
  onTotal?.(list.total);
  const prefetched: Promise<FetchedPage<T> | undefined>[] = [];
  let page: FetchedPage<T> | undefined = first;
  let remaining = limit;
  let end = offset + limit;
  let at = offset + list.stride;
  for (; page && (page.items.length > 0 || (await list.isHole(page))); page = await prefetched.shift()) {
    const fresh = page.items.length > 0 ? list.dedupe(page) : [];
    if (!fresh) return;
    end += (page.items.length || page.asked) - fresh.length;
    if (fresh.length > 0) yield fresh.slice(0, remaining);
    remaining -= fresh.length;
    if (first.isWhole || remaining <= 0) return;
    if (prefetched.length === 0) end = Math.max(end, at + remaining); // a page may have had items of the one before
    const concurrency = Math.max(1, maxInFlight());
    while (prefetched.length < concurrency && at < Math.min(end, list.total ?? 0)) {
      const count = Math.min(list.stride, end - at);
      prefetched.push(thrownLater(list.readSpan(count, at)));
      at += count;
    }
    if (prefetched.length > 0 || !list.mayHaveMore(page)) continue;
    // Fetch sequentially beyond the reported total, or if there is no total.
    const more = list.readOrEnd(Math.min(maxPageSize, end - at), at).then((found) => {
      at += found?.items.length ?? 0;
      return found;
    });
    prefetched.push(thrownLater(more));
  }
  list.assertOffsetUsed();
}

/** Returns a promise whose error is thrown when it is awaited, without an unhandled rejection before. */
function thrownLater<T>(promise: Promise<T>): Promise<T> {
  promise.catch(() => {});
  return promise;
}

type PageSource<T> = { fetchPage: FetchPage<T>; names: NameOverrides; mayBeUnpaged: boolean };

/** Fetches the pages of one list, and learns from them how the service pages. */
class PageReader<T extends JsonObject> {
  total: number | undefined;
  #firstTotal: number | undefined;
  /** True if there are items behind an empty page; undefined as long as none was seen. */
  #hasHoles: boolean | undefined;
  /** Number of items of the first page, because a service might return smaller pages than requested. */
  stride = 0;
  readonly #list: PageSource<T>;
  readonly #seenUids = new Set<unknown>();
  #usesNext = false;
  /** True if a total was lower than one before. */
  hasShrunk = false;
  #isFirstReading = true;
  /** Number of consecutive pages without a new item. */
  #stalePages = 0;
  #previousUids: readonly unknown[] = [];

  constructor(list: PageSource<T>) {
    this.#list = list;
  }

  async read(count: number, at: number): Promise<FetchedPage<T>> {
    const page = await this.#list.fetchPage(count, at);
    const items = itemsOf<T>(page);
    const total = totalOf(page, this.#list.names);
    // A number that is too low for its own page is not the total of the list.
    const isTotal = total !== undefined && total > 0 && (items.length === 0 || total >= at + items.length);
    this.hasShrunk ||= isTotal && total < (this.total ?? 0);
    this.total = total ?? this.total;
    this.#firstTotal ??= total;
    this.stride ||= items.length || count;
    const { next } = asObject(page);
    const hasNext = next === undefined ? undefined : Boolean(next);
    this.#usesNext ||= hasNext === true;
    return { items, at, asked: count, hasNext, isWhole: Array.isArray(page) };
  }

  /** Returns true for an empty page before the last item of the list, which is read the first time. */
  async isHole({ at }: FetchedPage<T>): Promise<boolean> {
    const { total = 0 } = this;
    if (at >= total - 1) return false;
    this.#hasHoles ??= ((await this.readOrEnd(1, total - 1))?.items.length ?? 0) > 0;
    return this.#hasHoles;
  }

  /** Compares what was listed from an offset to the end with the total. A total that changed cannot be compared. */
  findGap(offset: number): ListGap | undefined {
    const { total = 0 } = this;
    const listed = this.#seenUids.size;
    return total === this.#firstTotal && offset < total && offset + listed < total ? { listed, total } : undefined;
  }

  /** Prepares for reading the list from its beginning; items that were yielded are not yielded again. */
  startAgain(): void {
    this.hasShrunk = false;
    this.#firstTotal = undefined;
    this.#isFirstReading = false;
  }

  /** Fetches `count` items from offset `at`. If the service returns fewer items, requests the rest. */
  async readSpan(count: number, at: number): Promise<FetchedPage<T>> {
    const all = await this.read(count, at);
    let more = all;
    while (more.items.length > 0 && all.items.length < count && at + all.items.length < (this.total ?? 0)) {
      more = await this.read(count - all.items.length, at + all.items.length);
      all.items.push(...more.items);
    }
    return { ...all, hasNext: more.hasNext };
  }

  /** Fetches a page, or returns undefined for a 404, by which some services respond to an offset past the end. */
  readOrEnd(count: number, at: number): Promise<FetchedPage<T> | undefined> {
    return this.read(count, at).catch((error) => {
      if (error.explanation?.status !== 404) throw error;
      return undefined;
    });
  }

  /** Dedupes the items of a page by uid, and keeps items without a uid. Returns undefined at the end of the list. */
  dedupe({ items, asked }: FetchedPage<T>): T[] | undefined {
    const { total, stride } = this;
    const fresh = items.filter(({ uid }) => uid === undefined || !this.#seenUids.has(uid));
    const [uids, previous] = [items.map(({ uid }) => uid), this.#previousUids];
    this.#previousUids = uids;
    for (const { uid } of fresh) this.#seenUids.add(uid);
    this.#stalePages = fresh.length > 0 || !this.#isFirstReading ? 0 : this.#stalePages + 1;
    if (fresh.length > 0 || !this.#isFirstReading) return fresh;
    // If a page has fewer items than requested and the next page repeats them, the service sent the whole list at once.
    const isWhole = this.#list.mayBeUnpaged && (total ?? this.#seenUids.size) === this.#seenUids.size;
    if (isWhole && stride < asked) return undefined;
    // Some services answer an offset past the end with the last page, which is not the first one here.
    const isLastPage = uids.length === previous.length && uids.every((uid, n) => uid === previous[n]);
    if (isLastPage && total === undefined && this.#seenUids.size > stride) return undefined;
    // With a total, items might repeat because new items were added at the head, unless that happens too often.
    if (this.#stalePages >= (total === undefined ? 1 : maxStalePages)) throw offsetIgnoredError();
    return fresh;
  }

  /** Returns false once a total, a shorter page or a missing `next` proves that the list has ended. */
  mayHaveMore({ items, asked, hasNext }: FetchedPage<T>): boolean {
    const { total, stride } = this;
    if (hasNext !== undefined && (hasNext || this.#usesNext || total !== undefined)) return hasNext;
    if (items.length >= asked) return true;
    return total === undefined && items.length === stride; // the service might return smaller pages than requested
  }

  /** Asserts that the list did not end by repeating its first page. */
  assertOffsetUsed(): void {
    const [firstUid] = this.#seenUids;
    const isFirstPage = this.#previousUids[0] === firstUid;
    if (this.#stalePages > 0 && this.#seenUids.size <= this.stride && isFirstPage) throw offsetIgnoredError();
  }
}
