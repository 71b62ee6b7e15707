/** Cache of bounded size. Evicts the entry that was written longest ago; reads do not count. */
export class Kept<Key, Value> {
  readonly #most: number;
  readonly #values = new Map<Key, Value>();

  constructor(most: number) {
    this.#most = most;
  }

  get(key: Key): Value | undefined {
    return this.#values.get(key);
  }

  set(key: Key, value: Value): void {
    this.#values.delete(key);
    this.#values.set(key, value);
    const [oldest] = this.#values.keys();
    if (this.#values.size > this.#most && oldest !== undefined) this.#values.delete(oldest);
  }

  delete(key: Key): void {
    this.#values.delete(key);
  }
}

/**
 * Cache of promises: dedupes requests in flight and reuses their values until they expire. A failed request is
 * not cached.
 */
export class Shared<Value> {
  readonly #answers: Kept<string, { until: number; answer: Promise<Value> }>;
  readonly #now: () => number;
  readonly #until: (value: Value, askedAt: number) => number;

  /** @param until returns when a value expires, in milliseconds since the epoch; requests in flight never expire */
  constructor(most: number, now: () => number, until: (value: Value, askedAt: number) => number) {
    this.#answers = new Kept(most);
    this.#now = now;
    this.#until = until;
  }

  get(key: string, ask: () => Promise<Value>): Promise<Value> {
    const known = this.#answers.get(key);
    const askedAt = this.#now();
    if (known && askedAt < known.until) return known.answer;
    const asked = { until: Number.POSITIVE_INFINITY, answer: ask() };
    this.#answers.set(key, asked);
    asked.answer.then(
      (value) => {
        asked.until = this.#until(value, askedAt);
      },
      () => this.delete(key),
    );
    return asked.answer;
  }

  delete(key: string): void {
    this.#answers.delete(key);
  }
}
