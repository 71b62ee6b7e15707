import type { BigIntStats } from 'node:fs';
import type { Context } from 'hono';

/**
 * What tells one state of a file from another (RFC 9110 §8.8). Media never change once they are
 * there; made anew, they are files that were written later.
 */
export type Validators = { etag: string; lastModifiedSeconds: number };

export function validatorsOf({ mtimeNs, size }: BigIntStats): Validators {
  return {
    etag: `"${mtimeNs.toString(36)}-${size.toString(36)}"`,
    lastModifiedSeconds: Number(mtimeNs / 1_000_000_000n),
  };
}

/** ETag and Last-Modified of an answer. */
export function setValidators(c: Context, { etag, lastModifiedSeconds }: Validators): void {
  c.header('ETag', etag);
  c.header('Last-Modified', new Date(lastModifiedSeconds * 1000).toUTCString());
}

/** Whether the caller has this very state: 304 (§13.1.2, §13.1.3, in the order of §13.2.2). */
export function isUnchanged(c: Context, { etag, lastModifiedSeconds }: Validators): boolean {
  const known = c.req.header('if-none-match');
  if (known !== undefined)
    return known.trim() === '*' || [...known.matchAll(/"[^"]*"/g)].some(([each]) => each === etag);
  const since = secondsOf(c.req.header('if-modified-since'));
  return since !== undefined && lastModifiedSeconds <= since;
}

/**
 * Whether a Range is of this very state (§13.1.5): without If-Range it is taken to be; a weak ETag
 * never is, nor a date that the file may have been changed again within.
 */
export function rangeIsOfIt(
  c: Context,
  { etag, lastModifiedSeconds }: Validators,
  now: number,
): boolean {
  const wanted = c.req.header('if-range')?.trim();
  if (wanted === undefined) return true;
  if (wanted.endsWith('"')) return wanted === etag;
  const isStrong = now / 1000 - lastModifiedSeconds >= 1; // §8.8.2.2
  return isStrong && secondsOf(wanted) === lastModifiedSeconds;
}

/** An HTTP date in seconds since the epoch; undefined where it is none. */
function secondsOf(date: string | undefined): number | undefined {
  const ms = Date.parse(date ?? '');
  return Number.isNaN(ms) ? undefined : ms / 1000;
}
