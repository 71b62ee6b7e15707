import type { Card, Query } from '../protocol.ts';
import { listPage, PageError } from './api.ts';

/** §8: a full page costs the same request as a small one. */
const pageSize = 100;
/** Pages that are kept; those looked at longest ago go first. */
const mostPages = 40;
/** Taller than that, in two columns of a phone, and browsers lay out no more. */
const mostItems = 300_000;
/** What flies past while somebody scrolls is not asked for. */
const settledMs = 90;
/** A view that moves without end is filled all the same. */
const impatientMs = 300;

/**
 * The list that is looked at: of any length, asked for page by page as it comes into view. A total that
 * the service does not tell grows with what was seen; one that is wrong is mended.
 */
export class Shelf {
  readonly #query: Query;
  readonly #onChange: () => void;
  readonly #pages = new Map<number, Card[]>();
  readonly #asked = new Map<number, AbortController>();
  #total: number | null = null;
  /** Where the list was seen to end. */
  #end: number | undefined;
  #seenTo = 0;
  #range: [from: number, to: number] = [0, pageSize];
  #timer: ReturnType<typeof setTimeout> | undefined;
  #filledAt = 0;
  #isClosed = false;
  #isStale = false;
  /** What the service tells is no total: it counts the page, or promises what is not there. */
  #liesOnTotal = false;
  #hasProbed = false;
  /** Pages to ask for once more when their answer has come. */
  readonly #again = new Set<number>();
  /** Pages that could not be had: somebody, or some time, must ask for them. */
  readonly #failed = new Set<number>();
  problem: PageError | undefined;

  readonly #held: Promise<void>;

  /** @param holdMs how long to wait for another change of the filters before the first request */
  constructor(query: Query, onChange: () => void, holdMs: number) {
    this.#held = new Promise((resolve) => setTimeout(resolve, holdMs));
    this.#query = query;
    this.#onChange = onChange;
    void this.#ask(0);
  }

  /** Undefined until the first answer. */
  get length(): number | undefined {
    if (this.#end !== undefined) return Math.min(this.#end, mostItems);
    if (this.#pages.size === 0 && this.#seenTo === 0) return undefined;
    // One page more than was seen: scrolling asks for it.
    return Math.min(Math.max(this.#total ?? this.#seenTo + pageSize, this.#seenTo), mostItems);
  }

  /** False where the service does not tell how many there are. */
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

  /** What is in view from now on: [from, to). */
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

  /** What is in view, once more. @param isLooking nobody asked: it gives way to people */
  async refresh(isLooking: boolean): Promise<void> {
    const inView = this.#inView();
    for (const number of [...this.#pages.keys()])
      if (!inView.includes(number)) this.#pages.delete(number);
    this.#end = undefined;
    this.#isStale = false;
    if (this.#pages.size > 0) this.#seenTo = 0; // else it keeps its length while its pages are under way
    for (const [number, page] of this.#pages) this.#see(number, page);
    await Promise.all(inView.map((number) => this.#ask(number, isLooking, true)));
  }

  /** Something came or went that is not seen yet. */
  expectNews(): void {
    this.#isStale = true;
    this.#onChange();
  }

  /** Whether anything in view is, or will be in a while, something else. */
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

  /** What could not be asked for, once more. */
  retry(): void {
    this.#failed.clear();
    if (this.length === undefined) void this.#ask(0);
    else this.#fill();
  }

  /** A card that may not have come yet; undefined past the end. */
  async reach(index: number): Promise<Card | undefined> {
    if (index < 0 || index >= (this.length ?? 0)) return undefined;
    if (!this.at(index)) await this.#ask(Math.floor(index / pageSize));
    return this.at(index);
  }

  /** @param isRefresh an answer that is under way may be too old */
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
    // Some services count the page alone: whether there is one more, one look tells.
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

  /** A page that is short is the last one, unless nobody knows what is before it. */
  #endsAt(number: number, length: number): void {
    const before = this.#pages.get(number - 1);
    if (length > 0 || number === 0 || before?.length === pageSize)
      this.#end = number * pageSize + length;
    // The list has become shorter, and its total says so.
    else if (this.#total && this.#total <= number * pageSize) this.#end = this.#total;
    else this.#distrust();
  }

  #distrust(): void {
    this.#liesOnTotal = true;
    this.#total = null;
  }
}
