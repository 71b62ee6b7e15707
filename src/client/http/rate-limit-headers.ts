/** Rate limit window of the API key (§8), as reported by a response. */
export type RateWindow = {
  limit: number;
  remaining: number;
  /** Time at which the window resets, in milliseconds since the epoch. */
  resetAt: number;
};

export type ResponseHeaders = Record<string, string | undefined>;

/** Minimum clock skew to correct. `Date` has a resolution of one second, and the network delays the response. */
const minClockSkewMs = 5_000;

/** Returns how far the clock of the service is ahead, in ms; undefined if a response does not say so. */
export function clockSkewOf(headers: ResponseHeaders, receivedAt: number): number | undefined {
  const skewMs = Date.parse(headers.date ?? '') - receivedAt;
  return Math.abs(skewMs) > minClockSkewMs ? skewMs : undefined;
}

/**
 * Parses the `X-RateLimit-*` headers. Returns undefined unless all three are present and valid.
 *
 * @param receivedAt time of the response in milliseconds since the epoch, compared with its `Date` header to
 *   correct for clock skew
 */
export function readRateLimit(headers: ResponseHeaders, receivedAt?: number): RateWindow | undefined {
  const number = (name: string) => Number(headers[name]?.trim() || Number.NaN); // Number('') is 0
  const limit = number('x-ratelimit-limit');
  const remaining = number('x-ratelimit-remaining');
  const resetHeader = number('x-ratelimit-reset');
  // §8 defines the reset time as a "Unix timestamp". A value this large can only be in milliseconds.
  const reset = resetHeader > 1e11 && resetHeader < 1e14 ? resetHeader / 1000 : resetHeader;
  const maxResetSeconds = 8.64e12; // the largest date that JavaScript can represent
  if (![limit, remaining, reset].every(Number.isFinite) || reset > maxResetSeconds) return undefined;
  const skewMs = receivedAt === undefined ? undefined : clockSkewOf(headers, receivedAt);
  return { limit, remaining, resetAt: reset * 1000 - (skewMs ?? 0) };
}

/**
 * Returns how long to wait before the retry of a 429 or 503, in milliseconds. This is the value of `Retry-After`,
 * in seconds (§7) or as an HTTP date (RFC 9110), or else the time until an exhausted rate limit resets. Returns
 * undefined if neither is known.
 */
export function retryAfterMs(headers: ResponseHeaders, now: number): number | undefined {
  const header = headers['retry-after'];
  if (header !== undefined) {
    if (/^\d+(\.\d+)?$/.test(header.trim())) return Number(header) * 1000;
    const date = Date.parse(header);
    if (!Number.isNaN(date)) return Math.max(0, date - now);
  }
  const window = readRateLimit(headers, now);
  return window && window.remaining === 0 ? Math.max(0, window.resetAt - now) : undefined;
}
