import type { Wanted } from '../sources/wanted.ts';

/**
 * Schedules files over the upload slots (lanes). Resumed uploads come first, since sessions expire after a
 * day. Of the rest, one slot in four sends the largest files and the others the smallest: large files use
 * the bandwidth and small ones the rate limit, so both are used fully at the same time. A single slot
 * sends the files in the given order.
 */
export class Order {
  readonly #first: Wanted[];
  readonly #rest: Wanted[];
  readonly #largeLanes: number;
  #from = 0;
  #to: number;

  constructor(files: readonly Wanted[], isBegun: (file: Wanted) => boolean, lanes: number) {
    this.#first = files.filter(isBegun);
    this.#rest = files.filter((file) => !isBegun(file));
    this.#largeLanes = lanes > 1 ? Math.ceil(lanes / 4) : 0;
    if (lanes > 1) this.#rest.sort((a, b) => (a.sizeBytes ?? 0) - (b.sizeBytes ?? 0));
    this.#first.reverse();
    this.#to = this.#rest.length;
  }

  /** Number of files not handed out yet. */
  get left(): number {
    return this.#first.length + this.#to - this.#from;
  }

  /** Removes and returns the next file of a lane. @param lane counted from 0 */
  take(lane: number): Wanted | undefined {
    const begun = this.#first.pop();
    if (begun) return begun;
    if (this.#from >= this.#to) return undefined;
    return lane < this.#largeLanes ? this.#rest[--this.#to] : this.#rest[this.#from++];
  }
}
