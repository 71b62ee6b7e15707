import type { Context } from 'hono';
import type { EmbedRestriction } from './store/workspaces.ts';

/** Sec-Fetch-Dest values (Fetch Metadata) of requests for content embedded in a web page. */
const embeddingDestinations = new Set(['iframe', 'frame', 'object', 'embed', 'fencedframe']);

/** Returns true if the content is not embedded, or the page that embeds it (its Referer) may do so (§4 Workspaces). */
export function mayEmbed(c: Context, settings: EmbedRestriction): boolean {
  if (!embeddingDestinations.has(c.req.header('sec-fetch-dest') ?? '')) return true;
  // Without a Referer, the CSP directive `frame-ancestors` decides.
  return isAllowed(c, c.req.header('referer'), settings);
}

/** Returns true if a web page may call the API with its playback token. Servers send no Origin or Referer: they may. */
export const mayCall = (c: Context, settings: EmbedRestriction): boolean =>
  isAllowed(c, c.req.header('origin') ?? c.req.header('referer'), settings);

function isAllowed(c: Context, page: string | undefined, settings: EmbedRestriction): boolean {
  if (!settings.enabled || page === undefined) return true;
  if (!URL.canParse(page)) return false; // "null": a page with an opaque origin
  const { hostname, port } = new URL(page);
  const isOwn = ownHosts.has(hostname) && port === new URL(c.req.url).port;
  return isOwn || settings.domains.includes(hostname);
}

/** Host names of the sandbox itself, which are the ones that `checkHost` accepts. */
const ownHosts = new Set(['localhost', '127.0.0.1']);

/** Returns the CSP directive that lets only listed domains embed the content; undefined if all domains may. */
export function frameAncestors({ enabled, domains }: EmbedRestriction): string | undefined {
  if (!enabled) return undefined;
  const listed = domains.flatMap((domain) => [`http://${domain}:*`, `https://${domain}:*`]);
  return ['frame-ancestors', "'self'", ...listed].join(' ');
}
