/** §8: the state of the key's window, as the last answer told it. */
export type RateLimit = {
  limit: number;
  remaining: number;
  /** Milliseconds since the epoch. */
  resetAt: number;
};

export type Headers = Record<string, string | undefined>;

/** `Date` is in whole seconds, and takes its time to come. */
const clockSkewMs = 5_000;

/**
 * Reads `X-RateLimit-*`; undefined where an answer does not carry all three.
 *
 * @param receivedAt when the answer came: its `Date` tells how far this machine's clock is off
 */
export function readRateLimit(headers: Headers, receivedAt?: number): RateLimit | undefined {
  const number = (name: string) => Number(headers[name] ?? Number.NaN);
  const limit = number('x-ratelimit-limit');
  const remaining = number('x-ratelimit-remaining');
  const told = number('x-ratelimit-reset');
  // "Unix timestamp" (§8): in milliseconds it would be thousands of years away.
  const reset = told > 1e11 && told < 1e14 ? told / 1000 : told;
  const farthest = 8.64e12; // seconds: no later date can be written
  if (![limit, remaining, reset].every(Number.isFinite) || reset > farthest) return undefined;
  const skewMs = receivedAt === undefined ? 0 : Date.parse(headers.date ?? '') - receivedAt;
  const isOff = Math.abs(skewMs) > clockSkewMs;
  return { limit, remaining, resetAt: reset * 1000 - (isOff ? skewMs : 0) };
}

/**
 * How long a 429 or 503 asks to wait, in milliseconds: `Retry-After` in seconds (§7) or as an HTTP
 * date (RFC 9110), else the end of the window, else undefined.
 */
export function retryAfterMs(headers: Headers, now: number): number | undefined {
  const header = headers['retry-after'];
  if (header !== undefined) {
    if (/^\d+(\.\d+)?$/.test(header.trim())) return Number(header) * 1000;
    const date = Date.parse(header);
    if (!Number.isNaN(date)) return Math.max(0, date - now);
  }
  const window = readRateLimit(headers, now);
  return window && window.remaining === 0 ? Math.max(0, window.resetAt - now) : undefined;
}
