/** Rate limit window of the API key (§8), as reported by the last response. */
export type RateLimit = {
  limit: number;
  remaining: number;
  /** Milliseconds since the epoch. */
  resetAt: number;
};

export type ResponseHeaders = Record<string, string | undefined>;

/** Minimum clock skew to correct. `Date` has a resolution of one second and is delayed by the network. */
const minClockSkewMs = 5_000;

/**
 * Parses the `X-RateLimit-*` headers. Returns undefined unless all three are present.
 *
 * @param receivedAt time of the response; compared with its `Date` to correct for clock skew
 */
export function readRateLimit(
  headers: ResponseHeaders,
  receivedAt?: number,
): RateLimit | undefined {
  const number = (name: string) => Number(headers[name] ?? Number.NaN);
  const limit = number('x-ratelimit-limit');
  const remaining = number('x-ratelimit-remaining');
  const resetHeader = number('x-ratelimit-reset');
  // "Unix timestamp" (§8): a value this large can only be in milliseconds.
  const reset = resetHeader > 1e11 && resetHeader < 1e14 ? resetHeader / 1000 : resetHeader;
  const maxResetSeconds = 8.64e12; // seconds: the largest date that JavaScript can represent
  if (![limit, remaining, reset].every(Number.isFinite) || reset > maxResetSeconds)
    return undefined;
  const skewMs = receivedAt === undefined ? 0 : Date.parse(headers.date ?? '') - receivedAt;
  const isSkewed = Math.abs(skewMs) > minClockSkewMs;
  return { limit, remaining, resetAt: reset * 1000 - (isSkewed ? skewMs : 0) };
}

/**
 * Returns the retry delay of a 429 or 503 in milliseconds: `Retry-After` in seconds (§7) or as an HTTP date (RFC
 * 9110), otherwise the time until the rate limit resets, otherwise undefined.
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
