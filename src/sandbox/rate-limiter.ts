/** §8: requests per window and key; "X-RateLimit-*" on every response. */
export class RateLimiter {
  readonly #limit: number;
  readonly #windowMs: number;
  readonly #windows = new Map<string, { count: number; resetAt: number }>();

  constructor({ limit, windowSeconds }: { limit: number; windowSeconds: number }) {
    this.#limit = limit;
    this.#windowMs = windowSeconds * 1000;
  }

  /** Counts one request of a key. `retryAfterSeconds` where it is one too many. */
  count(keyHash: string, now: number) {
    let window = this.#windows.get(keyHash);
    if (!window || window.resetAt <= now) {
      window = { count: 0, resetAt: now + this.#windowMs };
      this.#windows.set(keyHash, window);
    }
    const over = window.count >= this.#limit;
    if (!over) window.count++;
    return {
      headers: {
        'X-RateLimit-Limit': String(this.#limit),
        'X-RateLimit-Remaining': String(this.#limit - window.count),
        'X-RateLimit-Reset': String(Math.ceil(window.resetAt / 1000)),
      },
      retryAfterSeconds: over ? Math.max(1, Math.ceil((window.resetAt - now) / 1000)) : undefined,
    };
  }
}
