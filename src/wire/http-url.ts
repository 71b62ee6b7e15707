/**
 * An http or https URL, absolute or against a base; undefined for anything else that a service sends:
 * javascript:, data: …
 */
export function httpUrl(text: unknown, base?: URL): URL | undefined {
  if (typeof text !== 'string' || text === '' || !URL.canParse(text, base?.href)) return undefined;
  const url = new URL(text, base);
  return url.protocol === 'https:' || url.protocol === 'http:' ? url : undefined;
}
