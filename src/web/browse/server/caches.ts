/** Cache with a maximum size. Evicts the entry that was set longest ago; reading an entry does not count. */
export class BoundedCache<Key, Value> {
  readonly #maxSize: number;
  readonly #values = new Map<Key, Value>();

  constructor(maxSize: number) {
    this.#maxSize = maxSize;
  }

  get(key: Key): Value | undefined {
    return this.#values.get(key);
  }

  set(key: Key, value: Value): void {
    this.#values.delete(key);
    this.#values.set(key, value);
    const [oldest] = this.#values.keys();
    if (this.#values.size > this.#maxSize && oldest !== undefined) this.#values.delete(oldest);
  }

  delete(key: Key): void {
    this.#values.delete(key);
  }
}

/** Cache of promises. Dedupes requests in flight and reuses their values until they expire. Does not cache failures. */
export class InFlightCache<Value> {
  readonly #entries: BoundedCache<string, { until: number; value: Promise<Value> }>;
  readonly #now: () => number;
  readonly #until: (value: Value, askedAt: number) => number;

  /**
   * @param until returns the time when a value expires, in milliseconds since the Unix epoch; requests in flight do
   *   not expire
   */
  constructor(maxSize: number, now: () => number, until: (value: Value, askedAt: number) => number) {
    this.#entries = new BoundedCache(maxSize);
    this.#now = now;
    this.#until = until;
  }

  get(key: string, fetchValue: () => Promise<Value>): Promise<Value> {
    const cached = this.#entries.get(key);
    const askedAt = this.#now();
    if (cached && askedAt < cached.until) return cached.value;
    const entry = { until: Number.POSITIVE_INFINITY, value: fetchValue() };
    this.#entries.set(key, entry);
    entry.value.then(
      (value) => {
        entry.until = this.#until(value, askedAt);
      },
      () => this.delete(key),
    );
    return entry.value;
  }

  delete(key: string): void {
    this.#entries.delete(key);
  }
}
