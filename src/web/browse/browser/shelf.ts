import type { Card, Query } from '../protocol.ts';
import { listPage, PageError } from './api.ts';

/** Assets per request: a full page costs the same as a small one (§8). */
const pageSize = 100;
/** Maximum number of cached pages; the least recently fetched are evicted first. */
const mostPages = 40;
/** Maximum list length: browsers limit the height of an element. */
const mostItems = 300_000;
/** Debounce while scrolling. */
const settledMs = 90;
/** Maximum debounce: continuous scrolling still fetches pages. */
const impatientMs = 300;

/**
 * List of assets that fetches and caches its pages as they scroll into view. Without a total, the length
 * grows with the pages loaded; a wrong total is ignored.
 */
export class Shelf {
  readonly #query: Query;
  readonly #onChange: () => void;
  readonly #pages = new Map<number, Card[]>();
  readonly #asked = new Map<number, AbortController>();
  #total: number | null = null;
  /** Length of the list, once its last page was loaded. */
  #end: number | undefined;
  #seenTo = 0;
  #range: [from: number, to: number] = [0, pageSize];
  #timer: ReturnType<typeof setTimeout> | undefined;
  #filledAt = 0;
  #isClosed = false;
  #isStale = false;
  /** True after a wrong total: it counted the page alone, or exceeded the list. */
  #liesOnTotal = false;
  #hasProbed = false;
  /** Pages to refetch when their current request ends. */
  readonly #again = new Set<number>();
  /** Pages whose request failed; fetched again by `retry` only. */
  readonly #failed = new Set<number>();
  problem: PageError | undefined;

  readonly #held: Promise<void>;

  /** @param debounceMs delay of the first request, in case the filters change again */
  constructor(query: Query, onChange: () => void, holdMs: number) {
    this.#held = new Promise((resolve) => setTimeout(resolve, holdMs));
    this.#query = query;
    this.#onChange = onChange;
    void this.#ask(0);
  }

  /** Length of the list, estimated if the service reports no total; undefined until the first response. */
  get length(): number | undefined {
    if (this.#end !== undefined) return Math.min(this.#end, mostItems);
    if (this.#pages.size === 0 && this.#seenTo === 0) return undefined;
    // Without a total, one page more than was loaded: scrolling fetches it.
    return Math.min(Math.max(this.#total ?? this.#seenTo + pageSize, this.#seenTo), mostItems);
  }

  /** False if `length` is an estimate. */
  get isCounted(): boolean {
    return this.#end !== undefined || this.#total !== null;
  }

  at(index: number): Card | undefined {
    return this.#pages.get(Math.floor(index / pageSize))?.[index % pageSize];
  }

  indexOf(uid: string): number {
    for (const [number, page] of this.#pages) {
      const at = page.findIndex((card) => card.uid === uid);
      if (at >= 0) return number * pageSize + at;
    }
    return -1;
  }

  /** Sets the visible range [from, to); fetches its missing pages, debounced. */
  show(from: number, to: number): void {
    this.#range = [from, to];
    clearTimeout(this.#timer);
    const isOverdue = performance.now() - this.#filledAt > impatientMs;
    if (isOverdue) this.#fill();
    else this.#timer = setTimeout(() => this.#fill(), settledMs);
  }

  #fill(): void {
    this.#filledAt = performance.now();
    for (const number of this.#inView())
      if (!this.#pages.has(number) && !this.#failed.has(number)) void this.#ask(number);
  }

  #inView(): number[] {
    const [from, to] = this.#range;
    const end = Math.min(to, this.length ?? pageSize);
    const first = Math.floor(from / pageSize);
    const last = Math.max(first, Math.floor(Math.max(0, end - 1) / pageSize));
    return Array.from({ length: last - first + 1 }, (_, n) => first + n);
  }

  /** Refetches the visible pages and drops the others. @param isBackground gives it low priority, as for a poll */
  async refresh(isLooking: boolean): Promise<void> {
    const inView = this.#inView();
    for (const number of [...this.#pages.keys()])
      if (!inView.includes(number)) this.#pages.delete(number);
    this.#end = undefined;
    this.#isStale = false;
    if (this.#pages.size > 0) this.#seenTo = 0; // else the length stays while pages are in flight
    for (const [number, page] of this.#pages) this.#see(number, page);
    await Promise.all(inView.map((number) => this.#ask(number, isLooking, true)));
  }

  /** Marks the list as stale: an asset was added or removed. */
  expectNews(): void {
    this.#isStale = true;
    this.#onChange();
  }

  /** True if the list is stale, or a visible asset is being processed. */
  get expectsNews(): boolean {
    const isChanging = (number: number) =>
      this.#pages.get(number)?.some(({ means }) => means === 'in progress');
    return this.#isStale || this.#inView().some(isChanging);
  }

  replace(card: Card): void {
    for (const page of this.#pages.values()) {
      const at = page.findIndex(({ uid }) => uid === card.uid);
      if (at >= 0) page[at] = card;
    }
    this.#onChange();
  }

  close(): void {
    this.#isClosed = true;
    clearTimeout(this.#timer);
    for (const asking of this.#asked.values()) asking.abort();
  }

  /** Retries failed pages. */
  retry(): void {
    this.#failed.clear();
    if (this.length === undefined) void this.#ask(0);
    else this.#fill();
  }

  /** Returns a card, fetching its page if needed; undefined past the end. */
  async reach(index: number): Promise<Card | undefined> {
    if (index < 0 || index >= (this.length ?? 0)) return undefined;
    if (!this.at(index)) await this.#ask(Math.floor(index / pageSize));
    return this.at(index);
  }

  /** Fetches a page, deduped while in flight. @param isRefresh refetches after a request already in flight */
  async #ask(number: number, isLooking = false, isRefresh = false): Promise<void> {
    if (this.#isClosed) return;
    if (this.#asked.has(number)) {
      if (isRefresh) this.#again.add(number);
      return;
    }
    const asking = new AbortController();
    this.#asked.set(number, asking);
    this.#failed.delete(number);
    try {
      await this.#held;
      const offset = number * pageSize;
      const how = { isLooking, isFresh: isRefresh, signal: asking.signal };
      const { items, total } = await listPage(this.#query, pageSize, offset, how);
      this.problem = undefined;
      this.#take(number, items.slice(0, pageSize), total);
    } catch (error) {
      if (asking.signal.aborted) return;
      this.#failed.add(number);
      this.problem = error instanceof PageError ? error : new PageError({ problem: String(error) });
    } finally {
      this.#asked.delete(number);
      if (!this.#isClosed) this.#onChange();
    }
    if (this.#again.delete(number)) await this.#ask(number, isLooking, true);
  }

  #take(number: number, items: Card[], total: number | null): void {
    const isRepeat = number > 0 && items[0] && this.at(0)?.uid === items[0].uid;
    const page = isRepeat ? [] : items;
    this.#pages.delete(number);
    this.#pages.set(number, page);
    this.#see(number, page);
    this.#total = this.#liesOnTotal ? null : total;
    const to = number * pageSize + page.length;
    if (page.length < pageSize) this.#endsAt(number, page.length);
    else if (total !== null && total < to) this.#distrust();
    // Some services count the page alone: one probe of the next page finds out.
    else if (total !== null && total <= this.#seenTo && !this.#hasProbed) {
      this.#hasProbed = true;
      void this.#ask(number + 1);
    }
    for (const [kept] of this.#pages)
      if (this.#pages.size > mostPages && !this.#inView().includes(kept)) this.#pages.delete(kept);
  }

  #see(number: number, page: Card[]): void {
    if (page.length > 0) this.#seenTo = Math.max(this.#seenTo, number * pageSize + page.length);
  }

  /** Handles a short page: it is the last one if it has items or the previous page is full. */
  #endsAt(number: number, length: number): void {
    const before = this.#pages.get(number - 1);
    if (length > 0 || number === 0 || before?.length === pageSize)
      this.#end = number * pageSize + length;
    // The list became shorter, and its total agrees.
    else if (this.#total && this.#total <= number * pageSize) this.#end = this.#total;
    else this.#distrust();
  }

  #distrust(): void {
    this.#liesOnTotal = true;
    this.#total = null;
  }
}
