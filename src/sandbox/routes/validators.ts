import type { BigIntStats } from 'node:fs';
import type { Context } from 'hono';

/** HTTP validators of a file (RFC 9110 §8.8). Media files are immutable; a regenerated file has a later mtime. */
export type Validators = { etag: string; lastModifiedSeconds: number };

export function validatorsOf({ mtimeNs, size }: BigIntStats): Validators {
  return {
    etag: `"${mtimeNs.toString(36)}-${size.toString(36)}"`,
    lastModifiedSeconds: Number(mtimeNs / 1_000_000_000n),
  };
}

/** Sets the ETag and Last-Modified headers. */
export function setValidators(c: Context, { etag, lastModifiedSeconds }: Validators): void {
  c.header('ETag', etag);
  c.header('Last-Modified', new Date(lastModifiedSeconds * 1000).toUTCString());
}

/** Returns true if a 304 suffices, since the client's cached version is current (RFC 9110 §13.1.2, §13.1.3). */
export function isNotModified(c: Context, { etag, lastModifiedSeconds }: Validators): boolean {
  const known = c.req.header('if-none-match');
  if (known !== undefined)
    return known.trim() === '*' || [...known.matchAll(/"[^"]*"/g)].some(([each]) => each === etag);
  const since = parseHttpDate(c.req.header('if-modified-since'));
  return since !== undefined && lastModifiedSeconds <= since;
}

/**
 * Returns true if a Range request has no If-Range header or its validator matches the current version (RFC 9110
 * §13.1.5). A weak ETag never matches, nor does a date if the file was modified less than a second ago, because it
 * might change again within that second.
 */
export function isRangeCurrent(c: Context, { etag, lastModifiedSeconds }: Validators, now: number): boolean {
  const ifRange = c.req.header('if-range')?.trim();
  if (ifRange === undefined) return true;
  if (ifRange.endsWith('"')) return ifRange === etag;
  const isStrong = now / 1000 - lastModifiedSeconds >= 1; // RFC 9110 §8.8.2.2
  return isStrong && parseHttpDate(ifRange) === lastModifiedSeconds;
}

/** Parses an HTTP date to seconds since the epoch. Returns undefined if it is invalid. */
function parseHttpDate(date: string | undefined): number | undefined {
  const ms = Date.parse(date ?? '');
  return Number.isNaN(ms) ? undefined : ms / 1000;
}
