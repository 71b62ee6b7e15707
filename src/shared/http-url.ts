/** Parses an http or https URL, or an absolute path on `base`. Returns undefined for others, such as `javascript:`. */
export function parseHttpUrl(text: unknown, base?: URL): URL | undefined {
  if (typeof text !== 'string' || !URL.canParse(text, base?.href)) return undefined;
  if (!URL.canParse(text) && !/^\/[^/\\]/.test(text)) return undefined;
  const url = new URL(text, base);
  return url.protocol === 'https:' || url.protocol === 'http:' ? url : undefined;
}
