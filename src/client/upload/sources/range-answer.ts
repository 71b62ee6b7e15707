import { isAnyType } from '../../api/download.ts';
import type { ApiResponse } from '../../http/messages.ts';
import type { Headers } from '../../http/rate-limit.ts';
import type { FileIdentity } from './source.ts';

export type Answer = { status: number; headers: Headers };

/** What tells one version of a file from another: a time only where there is no strong ETag. */
export type Version = { etag?: string; modified?: string };

export function versionIn({ etag, 'last-modified': modified }: Headers): Version {
  return {
    ...(etag !== undefined && /^"[^"]*"$/.test(etag) && { etag }),
    ...(!Number.isNaN(Date.parse(modified ?? '')) && { modified }),
  };
}

export function identityOf(sizeBytes: number, { etag, modified }: Version): FileIdentity {
  const mtimeNs = modified === undefined ? '0' : String(BigInt(Date.parse(modified)) * 1_000_000n);
  return { sizeBytes, mtimeNs, ...(etag !== undefined && { validator: etag }) };
}

/**
 * The size of the file, by the answer to a request for its first byte: in words, why it tells none;
 * undefined where it is a refusal.
 */
export function sizeIn({ status, headers, bytes }: ApiResponse): number | string | undefined {
  const range = headers['content-range'] ?? '';
  if (status === 416) return range === 'bytes */0' ? 0 : 'its server does not send its first byte';
  if (status > 299) return undefined;
  if (isEncoded(headers)) return `its server sends it encoded as ${headers['content-encoding']}`;
  if (status !== 206) return bytes.length === 0 ? 0 : 'its server does not send parts of it';
  const size = /^bytes 0-0\/(\d{1,15})$/.exec(range)?.[1];
  return size === undefined ? 'its server does not tell its length' : Number(size);
}

export const isEncoded = ({ 'content-encoding': encoding = 'identity' }: Headers) =>
  encoding.toLowerCase() !== 'identity';

export function mediaTypeIn(header = ''): string | undefined {
  const type = header.split(';')[0]?.trim().toLowerCase() ?? '';
  return /^[\w.+-]+\/[\w.+-]+$/.test(type) && !isAnyType(type) ? type : undefined;
}
