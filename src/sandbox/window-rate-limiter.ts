type RateLimitWindow = { count: number; resetAt: number };

/** Number of windows from which on expired windows are removed. */
const cleanupThreshold = 1_000;

/** Fixed-window rate limiter, which creates the "X-RateLimit-*" headers of every response (§8). */
export class WindowRateLimiter {
  readonly #limit: number;
  readonly #windowMs: number;
  readonly #windows = new Map<string, RateLimitWindow>();

  constructor({ limit, windowSeconds }: { limit: number; windowSeconds: number }) {
    this.#limit = limit;
    this.#windowMs = windowSeconds * 1000;
  }

  /** Counts a request. `retryAfterSeconds` is set if the caller is over the limit. */
  count(caller: string, now: number) {
    const window = this.#windowOf(caller, now);
    const isOverLimit = window.count >= this.#limit;
    if (!isOverLimit) window.count++;
    return {
      headers: this.#headersOf(window),
      retryAfterSeconds: isOverLimit ? Math.max(1, Math.ceil((window.resetAt - now) / 1000)) : undefined,
    };
  }

  /** Returns the headers of a caller's window without counting a request. */
  headersFor(caller: string, now: number): Record<string, string> {
    return this.#headersOf(this.#windowOf(caller, now));
  }

  #headersOf({ count, resetAt }: RateLimitWindow): Record<string, string> {
    return {
      'X-RateLimit-Limit': String(this.#limit),
      'X-RateLimit-Remaining': String(this.#limit - count),
      'X-RateLimit-Reset': String(Math.ceil(resetAt / 1000)),
    };
  }

  #windowOf(caller: string, now: number): RateLimitWindow {
    const current = this.#windows.get(caller);
    if (current && current.resetAt > now) return current;
    if (this.#windows.size >= cleanupThreshold)
      for (const [each, { resetAt }] of this.#windows) if (resetAt <= now) this.#windows.delete(each);
    const window = { count: 0, resetAt: now + this.#windowMs };
    this.#windows.set(caller, window);
    return window;
  }
}
