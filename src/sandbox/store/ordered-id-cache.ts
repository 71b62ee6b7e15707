import type { ColumnValue, SandboxStore } from './sandbox-store.ts';

/** Maximum number of cached lists. A list of 100,000 assets takes 800 kB. */
const maxCachedLists = 16;

/**
 * LRU cache of ordered query results (ids) for pagination. It makes the last page of results as fast as the first,
 * while OFFSET would walk all earlier rows. The number of ids is the total count. Any write to the database clears
 * the cache.
 */
export class OrderedIdCache {
  readonly #store: SandboxStore;
  readonly #lists = new Map<string, Float64Array>();
  #version = '';

  constructor(store: SandboxStore) {
    this.#store = store;
  }

  /** Returns the ids that a query selects, in order. */
  getIds(sql: string, values: ColumnValue[]): Float64Array {
    const version = this.#store.changeToken();
    if (version !== this.#version) this.#lists.clear();
    this.#version = version;
    const key = JSON.stringify([sql, values]);
    const ids = this.#lists.get(key) ?? this.#read(sql, values);
    this.#lists.delete(key); // re-insert as the most recently used
    this.#lists.set(key, ids);
    const [oldest] = this.#lists.keys();
    if (this.#lists.size > maxCachedLists && oldest !== undefined) this.#lists.delete(oldest);
    return ids;
  }

  /** Reads the ids as one JSON text, since a row per id would allocate an object per id. */
  #read(sql: string, values: ColumnValue[]): Float64Array {
    const list = this.#store.get<{ ids: string }>(`SELECT json_group_array(id) AS ids FROM (${sql})`, ...values);
    return Float64Array.from(JSON.parse(list?.ids ?? '[]'));
  }
}
