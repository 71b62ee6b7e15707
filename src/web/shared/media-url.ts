import { parseHttpUrl } from '../../shared/http-url.ts';
import { asObject, asText, isJsonObject } from '../../shared/json-values.ts';

/** URL from the playback info that a page can load, and its expiry time (ISO 8601). */
export type MediaUrl = { url: string; expiresAt?: string };

/** Parses an http or https URL, given as a string or an object with `url` and `expires_at` (assumptions A14 and A15). */
export function parseMediaUrl(value: unknown, base?: URL): MediaUrl | undefined {
  const url = parseHttpUrl(isJsonObject(value) ? value.url : value, base);
  if (!url) return undefined;
  const expiresAt = asText(asObject(value).expires_at);
  return { url: url.href, ...(expiresAt !== undefined && { expiresAt }) };
}
