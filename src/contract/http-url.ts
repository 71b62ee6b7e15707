/**
 * Parses an http or https URL, or an absolute path, which is resolved against `base`. Returns undefined for any
 * other text, such as a `javascript:` or `data:` URL.
 */
export function parseHttpUrl(text: unknown, base?: URL): URL | undefined {
  if (typeof text !== 'string' || !URL.canParse(text, base?.href)) return undefined;
  if (!URL.canParse(text) && !/^\/[^/\\]/.test(text)) return undefined;
  const url = new URL(text, base);
  return url.protocol === 'https:' || url.protocol === 'http:' ? url : undefined;
}
