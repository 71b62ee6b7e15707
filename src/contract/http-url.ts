/**
 * An http or https URL, absolute or a path against a base; undefined for anything else that a service
 * sends: javascript:, data:, words …
 */
export function httpUrl(text: unknown, base?: URL): URL | undefined {
  if (typeof text !== 'string' || !URL.canParse(text, base?.href)) return undefined;
  if (!URL.canParse(text) && !/^\/[^/\\]/.test(text)) return undefined;
  const url = new URL(text, base);
  return url.protocol === 'https:' || url.protocol === 'http:' ? url : undefined;
}
