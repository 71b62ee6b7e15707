import type { Store, Value } from './database.ts';

/** Lists remembered at once; one of 100,000 assets takes 800 kB. */
const most = 16;

/**
 * Which row stands where in a list. An OFFSET would walk all rows before it for every page; the ids
 * of a whole list are read once, and again only after the store changed, so that the last page costs
 * what the first one does. They also are the count.
 */
export class Positions {
  readonly #store: Store;
  readonly #lists = new Map<string, Float64Array>();
  #version = '';

  constructor(store: Store) {
    this.#store = store;
  }

  /** The ids that a query selects, in its order. */
  of(sql: string, values: Value[]): Float64Array {
    const version = this.#store.version();
    if (version !== this.#version) this.#lists.clear();
    this.#version = version;
    const key = JSON.stringify([sql, values]);
    const ids = this.#lists.get(key) ?? this.#read(sql, values);
    this.#lists.delete(key); // the one asked for last is forgotten last
    this.#lists.set(key, ids);
    const [oldest] = this.#lists.keys();
    if (this.#lists.size > most && oldest !== undefined) this.#lists.delete(oldest);
    return ids;
  }

  /** As one text: a row each would cost an object each. */
  #read(sql: string, values: Value[]): Float64Array {
    const list = this.#store.get<{ ids: string }>(
      `SELECT json_group_array(id) AS ids FROM (${sql})`,
      ...values,
    );
    return Float64Array.from(JSON.parse(list?.ids ?? '[]'));
  }
}
