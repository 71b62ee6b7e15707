import { parseHttpUrl } from '../../contract/http-url.ts';
import { asObject, asText, isJsonObject } from '../../contract/json-values.ts';

/** A URL of the playback info that a page may load, and its expiry (ISO 8601). */
export type MediaUrl = { url: string; expiresAt?: string };

/** Parses a URL string or signed URL record (A14, A15). @returns undefined unless it is http or https */
export function parseMediaUrl(value: unknown, base?: URL): MediaUrl | undefined {
  const url = parseHttpUrl(isJsonObject(value) ? value.url : value, base);
  if (!url) return undefined;
  const expiresAt = asText(asObject(value).expires_at);
  return { url: url.href, ...(expiresAt !== undefined && { expiresAt }) };
}
