import { httpUrl } from '../wire/http-url.ts';
import type { SignedUrl } from '../wire/types.ts';

/** A URL of the playback info that a page may load, and when it stops working (ISO 8601). */
export type MediaUrl = { url: string; expiresAt?: string };

/** A string or a signed URL (A14, A15); undefined unless it is absolute http or https. */
export function mediaUrl(value: string | SignedUrl | null | undefined): MediaUrl | undefined {
  const url = httpUrl(typeof value === 'string' ? value : value?.url);
  if (!url) return undefined;
  const expiresAt = typeof value === 'string' ? undefined : value?.expires_at;
  return { url: url.href, ...(expiresAt !== undefined && { expiresAt }) };
}
