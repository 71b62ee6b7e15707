import { createReadStream } from 'node:fs';
import { readFile, stat } from 'node:fs/promises';
import { Readable } from 'node:stream';
import type { Context } from 'hono';
import { ServiceError } from '../service-error.ts';

/** Sends a file, or the part that a Range header requests (RFC 9110 §14). */
export async function sendFile(c: Context, path: string, contentType: string): Promise<Response> {
  const validators = await setValidators(c, path);
  if (isNotModified(c, validators)) return c.body(null, 304);
  const { size } = validators;
  c.header('Content-Type', contentType);
  c.header('Accept-Ranges', 'bytes');
  const range = isRangeCurrent(c, validators) ? parseRange(c.req.header('range'), size) : undefined;
  if (range === 'unsatisfiable') {
    c.header('Content-Range', `bytes */${size}`);
    return c.body(null, 416);
  }
  const { start, end } = range ?? { start: 0, end: size - 1 };
  c.header('Content-Length', String(end - start + 1));
  if (range) c.header('Content-Range', `bytes ${start}-${end}/${size}`);
  const status = range ? 206 : 200;
  if (c.req.method === 'HEAD' || size === 0) return c.body(null, status);
  const stream = createReadStream(path, { start, end, highWaterMark: 256 * 1024 });
  return c.body(Readable.toWeb(stream) as ReadableStream, status);
}

/** Sends a text file after `edit`, or 304, since a URL always returns the same text. */
export async function sendText(
  c: Context,
  path: string,
  contentType: string,
  edit: (text: string) => string,
): Promise<Response> {
  if (isNotModified(c, await setValidators(c, path))) return c.body(null, 304);
  c.header('Content-Type', contentType);
  return c.body(edit(await readFile(path, 'utf8').catch(throwMissing)));
}

const throwMissing = () => {
  throw new ServiceError(404, 'no such media');
};

/** HTTP validators of a file (RFC 9110 §8.8). Media files are immutable; a regenerated file has a later mtime. */
type Validators = { etag: string; lastModifiedSeconds: number; size: number };

/** Sets the ETag and Last-Modified headers. @throws ServiceError 404 if there is no such file */
async function setValidators(c: Context, path: string): Promise<Validators> {
  const { mtimeNs, size } = await stat(path, { bigint: true }).catch(throwMissing);
  const etag = `"${mtimeNs.toString(36)}-${size.toString(36)}"`;
  const lastModifiedSeconds = Number(mtimeNs / 1_000_000_000n);
  c.header('ETag', etag);
  c.header('Last-Modified', new Date(lastModifiedSeconds * 1000).toUTCString());
  return { etag, lastModifiedSeconds, size: Number(size) };
}

/** Returns true if a 304 suffices, since the client's cached version is current (RFC 9110 §13.1.2, §13.1.3). */
function isNotModified(c: Context, { etag, lastModifiedSeconds }: Validators): boolean {
  const known = c.req.header('if-none-match');
  if (known !== undefined) return known.trim() === '*' || known.match(/"[^"]*"/g)?.includes(etag) === true;
  const since = parseHttpDate(c.req.header('if-modified-since'));
  return since !== undefined && lastModifiedSeconds <= since;
}

/**
 * Returns true if there is no If-Range header or it matches the current version (RFC 9110 §13.1.5). A weak ETag never
 * matches, nor does a date within a second of the change, because the file might change again within that second.
 */
function isRangeCurrent(c: Context, { etag, lastModifiedSeconds }: Validators): boolean {
  const ifRange = c.req.header('if-range')?.trim();
  if (ifRange === undefined) return true;
  if (ifRange.endsWith('"')) return ifRange === etag;
  const isStrong = Date.now() / 1000 - lastModifiedSeconds >= 1; // RFC 9110 §8.8.2.2
  return isStrong && parseHttpDate(ifRange) === lastModifiedSeconds;
}

/** Parses an HTTP date to seconds since the epoch; undefined if it is invalid. */
function parseHttpDate(date: string | undefined): number | undefined {
  const ms = Date.parse(date ?? '');
  return Number.isNaN(ms) ? undefined : ms / 1000;
}

function parseRange(header: string | undefined, size: number) {
  const [, first = '', last = ''] = /^bytes=(\d*)-(\d*)$/.exec(header ?? '') ?? [];
  if (first === '' && last === '') return undefined;
  const start = first === '' ? Math.max(0, size - Number(last)) : Number(first);
  const end = first === '' || last === '' ? size - 1 : Math.min(Number(last), size - 1);
  return start > end || start >= size ? 'unsatisfiable' : { start, end };
}
