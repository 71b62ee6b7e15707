import { isGenericType } from '../../api/download.ts';
import type { ApiResponse } from '../../http/api-request.ts';
import type { ResponseHeaders } from '../../http/rate-limit-headers.ts';
import type { FileIdentity } from './source.ts';

export type RangeResponse = { status: number; headers: ResponseHeaders };

/** Version of a remote file: strong ETag and Last-Modified, which is compared only if there is no ETag. */
export type ContentVersion = { etag?: string; modified?: string };

/** Extracts a file's version from response headers. Ignores a weak ETag and an invalid date. */
export function parseVersion({ etag, 'last-modified': modified }: ResponseHeaders): ContentVersion {
  return {
    ...(etag !== undefined && /^"[^"]*"$/.test(etag) && { etag }),
    ...(!Number.isNaN(Date.parse(modified ?? '')) && { modified }),
  };
}

/** Returns the identity that the journal stores for a remote file. */
export function identityOf(sizeBytes: number, { etag, modified }: ContentVersion): FileIdentity {
  const mtimeNs = modified === undefined ? '0' : String(BigInt(Date.parse(modified)) * 1_000_000n);
  return { sizeBytes, mtimeNs, ...(etag !== undefined && { validator: etag }) };
}

/**
 * Returns the file size in bytes from the response to a request for the first byte. Returns the reason as a string
 * if the response does not show the size, and undefined for an error status.
 */
export function parseSize({ status, headers, bytes }: ApiResponse): number | string | undefined {
  const range = headers['content-range'] ?? '';
  if (status === 416) return range === 'bytes */0' ? 0 : 'its server does not send its first byte';
  if (status > 299) return undefined;
  if (isEncoded(headers)) return `its server sends it encoded as ${headers['content-encoding']}`;
  if (status !== 206) return bytes.length === 0 ? 0 : 'its server does not send parts of it';
  const size = /^bytes 0-0\/(\d{1,15})$/.exec(range)?.[1];
  return size === undefined ? 'its server does not tell its length' : Number(size);
}

/**
 * Returns true if a response is compressed or otherwise encoded, so that its offsets differ from those in the file.
 */
export const isEncoded = ({ 'content-encoding': encoding = 'identity' }: ResponseHeaders) =>
  encoding.toLowerCase() !== 'identity';

/** Returns the media type from a Content-Type header; undefined if it is malformed or just `octet-stream`. */
export function parseMediaType(header = ''): string | undefined {
  const type = header.split(';')[0]?.trim().toLowerCase() ?? '';
  return /^[\w.+-]+\/[\w.+-]+$/.test(type) && !isGenericType(type) ? type : undefined;
}
