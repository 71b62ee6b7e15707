import { httpUrl } from '../../contract/http-url.ts';
import { fieldsIn, isFields, textIn } from '../../contract/reading.ts';

/** A URL of the playback info that a page may load, and its expiry (ISO 8601). */
export type MediaUrl = { url: string; expiresAt?: string };

/** Parses a URL string or signed URL record (A14, A15). @returns undefined unless it is http or https */
export function parseMediaUrl(value: unknown, base?: URL): MediaUrl | undefined {
  const url = httpUrl(isFields(value) ? value.url : value, base);
  if (!url) return undefined;
  const expiresAt = textIn(fieldsIn(value).expires_at);
  return { url: url.href, ...(expiresAt !== undefined && { expiresAt }) };
}
