import { httpUrl } from '../../contract/http-url.ts';
import { fieldsIn, isFields, textIn } from '../../contract/reading.ts';

/** A URL of the playback info that a page may load, and when it stops working (ISO 8601). */
export type MediaUrl = { url: string; expiresAt?: string };

/** A string or a signed URL (A14, A15); undefined unless it is http or https, against the base. */
export function mediaUrl(value: unknown, base?: URL): MediaUrl | undefined {
  const url = httpUrl(isFields(value) ? value.url : value, base);
  if (!url) return undefined;
  const expiresAt = textIn(fieldsIn(value).expires_at);
  return { url: url.href, ...(expiresAt !== undefined && { expiresAt }) };
}
