import type { Context } from 'hono';
import type { EmbedSettings } from './store/embed-settings.ts';

/** What a browser says it is fetching for when a page takes another one in (Fetch Metadata). */
const embeddingDestinations = new Set(['iframe', 'frame', 'object', 'embed', 'fencedframe']);

/** §4 Workspaces: whether the page that takes this one in may. Its Referer tells which one it is. */
export function mayEmbed(c: Context, settings: EmbedSettings): boolean {
  if (!embeddingDestinations.has(c.req.header('sec-fetch-dest') ?? '')) return true;
  // Without a Referer, `frame-ancestors` is left to decide.
  return isAllowed(c, c.req.header('referer'), settings);
}

/** Whether a page may call with its token. Servers send neither header, and are never held off. */
export const mayCall = (c: Context, settings: EmbedSettings): boolean =>
  isAllowed(c, c.req.header('origin') ?? c.req.header('referer'), settings);

function isAllowed(c: Context, page: string | undefined, settings: EmbedSettings): boolean {
  if (!settings.enabled || page === undefined) return true;
  if (!URL.canParse(page)) return false; // "null": a page that hides where it is from
  const { hostname, port } = new URL(page);
  const isOwn = ownNames.has(hostname) && port === new URL(c.req.url).port;
  return isOwn || settings.domains.includes(hostname);
}

/** Of the sandbox: those that its Host check lets in. */
const ownNames = new Set(['localhost', '127.0.0.1']);

/** The directive that lets these pages alone take this one in; none where anybody may. */
export function frameAncestors({ enabled, domains }: EmbedSettings): string | undefined {
  if (!enabled) return undefined;
  const listed = domains.flatMap((domain) => [`http://${domain}:*`, `https://${domain}:*`]);
  return ['frame-ancestors', "'self'", ...listed].join(' ');
}
