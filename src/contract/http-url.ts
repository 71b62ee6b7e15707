/**
 * Parses an http or https URL, or a path relative to `base`. Returns undefined for anything else: `javascript:`,
 * `data:`, plain text …
 */
export function parseHttpUrl(text: unknown, base?: URL): URL | undefined {
  if (typeof text !== 'string' || !URL.canParse(text, base?.href)) return undefined;
  if (!URL.canParse(text) && !/^\/[^/\\]/.test(text)) return undefined;
  const url = new URL(text, base);
  return url.protocol === 'https:' || url.protocol === 'http:' ? url : undefined;
}
