import { backoff, retryUntil } from '../../../shared/retry.ts';
import type { Card, CardPage, Query } from '../protocol.ts';
import { fetchCardPage, PageError } from './api.ts';
import { whenVisible } from './hooks.ts';

/** Number of assets per request. A full page of results costs the same as a small one (§8). */
const pageSize = 100;
/** Maximum number of cached pages. The least recently fetched pages are evicted first. */
const maxCachedPages = 40;
/** Maximum list length, because browsers limit the height of an element. */
const maxItems = 300_000;
/** Time for which the scroll must rest before pages are fetched. */
const scrollRestMs = 120;
/** Time after which slow scrolling within one page of results fetches, though it does not rest. */
const slowScrollMs = 300;
/** Maximum number of pages that a selected range loads. */
const maxRangePages = 20;
const minRetryMs = 5_000;
/** Order of a list without another one (§4). */
const newestFirst = '-created_at';

/**
 * List of assets that fetches pages of results as they scroll into view, and caches them. If the service reports no
 * total, the length grows with each loaded page. A wrong total is ignored.
 */
export class PagedList {
  readonly #query: Query;
  readonly #onChange: () => void;
  readonly #debounced: Promise<void>;
  readonly #pages = new Map<number, Card[]>();
  readonly #inFlight = new Map<number, AbortController>();
  /** Total as the service reported it last; null if it is not known, or wrong. */
  total: number | null = null;
  /** Length of the list; undefined until its last page has loaded. */
  #knownLength: number | undefined;
  #loadedTo = 0;
  /** Number of assets that pages leave out, since they are in another workspace; without those that leave out none. */
  readonly #leftOut = new Map<number, number>();
  /** Pages with an asset that may be in any workspace. */
  readonly #unknown = new Set<number>();
  #visibleRange: [from: number, to: number] = [0, pageSize];
  #debounceTimer: ReturnType<typeof setTimeout> | undefined;
  /** First visible page, and since when. */
  #inView = { page: -1, since: 0 };
  #isStale = false;
  /** True after the service reported a wrong total, which counted only one page or exceeded the list. */
  #totalIsUnreliable = false;
  #hasProbed = false;
  /** Creation time of the first asset, as it was loaded last. */
  #firstCreatedAt: string | null = null;
  problem: PageError | undefined;

  /** @param debounceMs delay of the first request, in case the filters change again */
  constructor(query: Query, onChange: () => void, debounceMs: number) {
    this.#debounced = new Promise((resolve) => setTimeout(resolve, debounceMs));
    this.#query = query;
    this.#onChange = onChange;
    void this.#fetchPage(0);
  }

  /** Length of the list; an estimate if the service reports no total, and undefined until the first response. */
  get length(): number | undefined {
    const { leftOut } = this.scope;
    if (this.#knownLength !== undefined) return Math.min(this.#knownLength - leftOut, maxItems);
    if (this.#pages.size === 0 && this.#loadedTo === 0) return undefined;
    // Without a total, assumes one more page than was loaded, so that scrolling fetches it.
    return Math.min(Math.max(this.total ?? this.#loadedTo + pageSize, this.#loadedTo) - leftOut, maxItems);
  }

  /** Which workspaces the list has, as far as it is loaded. */
  get scope(): { isAll: boolean; leftOut: number } {
    return {
      isAll: this.#unknown.size > 0,
      leftOut: [...this.#leftOut.values()].reduce((sum, count) => sum + count, 0),
    };
  }

  get hasExactLength(): boolean {
    return this.#knownLength !== undefined || this.total !== null;
  }

  /** Creation time of the newest asset; undefined if it is not the first. */
  get newest(): string | null | undefined {
    return (this.#query.ordering ?? newestFirst) === newestFirst ? this.#firstCreatedAt : undefined;
  }

  /** Reads the creation time of the newest asset, at one request. */
  async fetchNewest(): Promise<string | null> {
    const how = { isBackground: false, isFresh: true, signal: new AbortController().signal };
    return (await fetchCardPage({ ...this.#query, ordering: newestFirst }, 1, 0, how)).firstCreatedAt;
  }

  #startOf(number: number): number {
    let start = number * pageSize;
    for (const [before, count] of this.#leftOut) if (before < number) start -= count;
    return start;
  }

  #pageOf(index: number): number {
    let number = Math.floor(index / pageSize);
    while (this.#startOf(number + 1) <= index) number++;
    return number;
  }

  /** Returns the numbers of the pages of a range [from, to). */
  #pagesOf(from: number, to: number): number[] {
    const [first, last] = [this.#pageOf(from), this.#pageOf(Math.max(from, to - 1))];
    return Array.from({ length: last - first + 1 }, (_, n) => first + n);
  }

  at(index: number): Card | undefined {
    const number = this.#pageOf(index);
    return this.#pages.get(number)?.[index - this.#startOf(number)];
  }

  indexOf(uid: string): number {
    for (const [number, page] of this.#pages) {
      const at = page.findIndex((card) => card.uid === uid);
      if (at >= 0) return this.#startOf(number) + at;
    }
    return -1;
  }

  /**
   * Sets the visible range [from, to), and fetches its missing pages once the scroll rests, or if it stays within one page
   * of results for a while. So a drag of the scroll bar fetches what it ends at, and not what it passes.
   */
  setVisibleRange(from: number, to: number): void {
    this.#visibleRange = [from, to];
    clearTimeout(this.#debounceTimer);
    const page = this.#pageOf(from);
    const now = performance.now();
    if (page !== this.#inView.page) this.#inView = { page, since: now };
    if (now - this.#inView.since > slowScrollMs) this.#fetchVisible();
    else this.#debounceTimer = setTimeout(() => this.#fetchVisible(), scrollRestMs);
  }

  #fetchVisible(): void {
    if (this.problem?.isLasting) return; // only the user can tell that it has ended
    for (const number of this.#visiblePages())
      if (!this.#pages.has(number) && !this.#inFlight.has(number)) void this.#fetchPage(number);
  }

  #visiblePages(): number[] {
    const [from, to] = this.#visibleRange;
    return this.#pagesOf(from, Math.min(to, this.length ?? pageSize));
  }

  /**
   * Refetches the visible pages and drops the other pages.
   * @param isBackground true for a poll, which has low priority
   */
  async refresh(isBackground: boolean): Promise<void> {
    const inView = this.#visiblePages();
    for (const number of [...this.#pages.keys()]) if (!inView.includes(number)) this.#pages.delete(number);
    this.#knownLength = undefined;
    this.#isStale = false;
    if (this.#pages.size > 0) this.#loadedTo = 0; // otherwise, the length stays until a page arrives
    for (const [number, page] of this.#pages) this.#recordLoaded(number, this.#countListed(number, page));
    await Promise.all(inView.map((number) => this.#fetchPage(number, { isBackground, isFresh: true })));
  }

  /** Asks the serving process again for pages with assets that may be in any workspace, since more is known now. */
  askAgain(): void {
    for (const number of this.#unknown) if (this.#pages.has(number)) void this.#fetchPage(number);
  }

  /** Marks the list as stale, because an asset was added or removed. */
  markStale(): void {
    this.#isStale = true;
    this.#onChange();
  }

  /** True if the list is stale, or a visible asset is being processed. */
  get expectsChanges(): boolean {
    const isChanging = (number: number) => this.#pages.get(number)?.some(({ means }) => means === 'in progress');
    return this.#isStale || this.#visiblePages().some(isChanging);
  }

  replace(card: Card): void {
    for (const page of this.#pages.values()) {
      const at = page.findIndex(({ uid }) => uid === card.uid);
      if (at >= 0) page[at] = card;
    }
    this.#onChange();
  }

  close(): void {
    clearTimeout(this.#debounceTimer);
    for (const request of this.#inFlight.values()) request.abort();
  }

  /** Repeats the failed requests of visible pages now, instead of after their backoff delay. */
  retry(): void {
    this.problem = undefined;
    for (const number of this.#visiblePages()) if (!this.#pages.has(number)) void this.#fetchPage(number);
    this.#onChange();
  }

  /** Returns the card at an index, and fetches its page if needed; undefined if the list has no such card. */
  async fetchCard(index: number): Promise<Card | undefined> {
    if (index < 0 || index >= (this.length ?? 0)) return undefined;
    if (!this.at(index)) await this.#fetchPage(this.#pageOf(index));
    return this.at(index);
  }

  /** Returns true if all cards of a range [from, to) are loaded. */
  hasAll(from: number, to: number): boolean {
    return this.#pagesOf(from, to).every((number) => this.#pages.has(number));
  }

  /** Returns true if a range has more pages that are not loaded than a selection loads. */
  isLongToFetch(from: number, to: number): boolean {
    return this.#pagesOf(from, to).filter((number) => !this.#pages.has(number)).length > maxRangePages;
  }

  /** Returns the cards of a range [from, to), and fetches those that are missing; undefined for a card that cannot be. */
  async fetchRange(from: number, to: number): Promise<(Card | undefined)[]> {
    // Held here, since the cache may drop pages while others load.
    const cards: (Card | undefined)[] = [];
    // Where the pages are before any is loaded, since one that leaves out assets moves all that follow.
    const extentOf = (number: number) => ({ number, start: this.#startOf(number), end: this.#startOf(number + 1) });
    for (const { number, start, end } of this.#pagesOf(from, to).map(extentOf)) {
      if (!this.#pages.has(number)) await this.#fetchPage(number);
      const page = this.#pages.get(number);
      for (let index = Math.max(from, start); index < Math.min(to, end); index++) cards.push(page?.[index - start]);
    }
    return cards;
  }

  /**
   * Fetches a page of results. Cancels an earlier request for it. Retries until the page is no longer visible.
   * @param how `isFresh` bypasses the cache of the serving process
   */
  async #fetchPage(number: number, how = { isBackground: false, isFresh: false }): Promise<void> {
    this.#inFlight.get(number)?.abort();
    const request = new AbortController();
    const { signal } = request;
    this.#inFlight.set(number, request);
    const fetchOnce = async (attempt: number) => {
      await (attempt === 0 ? this.#debounced : whenVisible());
      return fetchCardPage(this.#query, pageSize, number * pageSize, { ...how, signal });
    };
    const delayAfter = (error: unknown, attempt: number) => {
      this.problem = error instanceof PageError ? error : new PageError({ problem: String(error) });
      this.#onChange();
      const canHelp = this.#visiblePages().includes(number) && !this.problem.isLasting;
      return canHelp ? backoff(attempt, { minMs: minRetryMs }) : undefined;
    };
    try {
      const page = await retryUntil(signal, fetchOnce, { delayAfter });
      this.problem = undefined;
      this.#storePage(number, page);
    } catch {
      if (signal.aborted) return;
    }
    this.#inFlight.delete(number);
    this.#onChange();
  }

  #storePage(number: number, { items, leftOut, total, isAll, firstCreatedAt }: CardPage): void {
    const isRepeat = number > 0 && items[0] && this.at(0)?.uid === items[0].uid;
    const page = isRepeat ? [] : items.slice(0, pageSize);
    const listedCount = isRepeat ? 0 : page.length + leftOut;
    this.#pages.delete(number);
    this.#pages.set(number, page);
    this.#leftOut.delete(number);
    if (leftOut > 0 && !isRepeat) this.#leftOut.set(number, leftOut);
    if (isAll) this.#unknown.add(number);
    else this.#unknown.delete(number);
    this.#recordLoaded(number, listedCount);
    this.total = this.#totalIsUnreliable ? null : total;
    if (number === 0) this.#firstCreatedAt = firstCreatedAt;
    const to = number * pageSize + listedCount;
    if (leftOut > 0) this.setVisibleRange(...this.#visibleRange); // other pages are in view now
    if (listedCount < pageSize) this.#handleShortPage(number, listedCount);
    else if (total !== null && total < to) this.#ignoreTotal();
    // Some services count only the items of the page. Fetching the next page once shows that.
    else if (total !== null && total <= this.#loadedTo && !this.#hasProbed) {
      this.#hasProbed = true;
      void this.#fetchPage(number + 1);
    }
    for (const [cached] of this.#pages)
      if (this.#pages.size > maxCachedPages && !this.#visiblePages().includes(cached)) this.#pages.delete(cached);
  }

  /** Returns the number of assets that the service lists on a page. */
  #countListed(number: number, page: readonly Card[]): number {
    return page.length + (this.#leftOut.get(number) ?? 0);
  }

  #recordLoaded(number: number, count: number): void {
    if (count > 0) this.#loadedTo = Math.max(this.#loadedTo, number * pageSize + count);
  }

  /** Handles a page that is not full. It is the last page if it has items or the previous page is full. */
  #handleShortPage(number: number, length: number): void {
    const before = this.#pages.get(number - 1);
    const isAfterFull = before && this.#countListed(number - 1, before) === pageSize;
    if (length > 0 || number === 0 || isAfterFull) this.#knownLength = number * pageSize + length;
    // The list became shorter, and its total confirms that.
    else if (this.total && this.total <= number * pageSize) this.#knownLength = this.total;
    else this.#ignoreTotal();
  }

  #ignoreTotal(): void {
    this.#totalIsUnreliable = true;
    this.total = null;
  }
}
