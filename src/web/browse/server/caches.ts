import { systemClock } from '../../../shared/clock.ts';

/** Cache with a maximum size and a time-to-live. Evicts the entry that was set longest ago; reading does not count. */
export class TtlCache<Value> {
  readonly #maxSize: number;
  readonly #entries = new Map<string, { value: Value; expiresAt: number }>();

  constructor(maxSize: number) {
    this.#maxSize = maxSize;
  }

  get(key: string): Value | undefined {
    const entry = this.#entries.get(key);
    return entry && systemClock.now() < entry.expiresAt ? entry.value : undefined;
  }

  set(key: string, value: Value, expiresAt = Number.POSITIVE_INFINITY): void {
    this.#entries.delete(key);
    this.#entries.set(key, { value, expiresAt });
    const [oldest] = this.#entries.keys();
    if (this.#entries.size > this.#maxSize && oldest !== undefined) this.#entries.delete(oldest);
  }

  delete(key: string): void {
    this.#entries.delete(key);
  }
}

/** Dedupes requests, and caches their results until `expiryOf`, in Unix milliseconds. Failures are not cached. */
export function fetchCached<Value>(
  cache: TtlCache<Promise<Value>>,
  key: string,
  fetchValue: () => Promise<Value>,
  expiryOf: (value: Value) => number,
): Promise<Value> {
  const cached = cache.get(key);
  if (cached) return cached;
  const promise = fetchValue();
  cache.set(key, promise);
  const expiry = promise.then(expiryOf, () => 0);
  void expiry.then((expiresAt) => cache.get(key) === promise && cache.set(key, promise, expiresAt));
  return promise;
}
