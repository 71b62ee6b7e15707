import type { Wanted } from '../sources/wanted.ts';

/**
 * Who is next: what was begun before comes first, since sessions live for a day. Of the rest one lane in
 * four takes the largest and the others the smallest: large files fill the line, small ones spend the
 * requests, and both are full at once. One lane alone keeps to the order it was given.
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

  /** How many are left. */
  get left(): number {
    return this.#first.length + this.#to - this.#from;
  }

  /** @param lane counted from 0 */
  take(lane: number): Wanted | undefined {
    const begun = this.#first.pop();
    if (begun) return begun;
    if (this.#from >= this.#to) return undefined;
    return lane < this.#largeLanes ? this.#rest[--this.#to] : this.#rest[this.#from++];
  }
}
