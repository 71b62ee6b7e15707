import { renderNoticePage } from '../../watch/server/page.ts';
import type { BrowseBackend } from './backend.ts';
import { BadRequestError } from './bad-request-error.ts';
import { EventBroadcaster } from './event-broadcaster.ts';
import { renderEntryPage } from './gallery-page.ts';
import { htmlResponse, problemResponse } from './responses.ts';
import { type BuiltScripts, createRoutes } from './routes.ts';
import { BrowseSessions, crossSiteReason } from './session.ts';

export type BrowseOptions = {
  library: BrowseBackend;
  /** Returns the origin that serves the page. It is called only after the server has started listening. */
  origin(): string;
  now(): number;
  scripts: BuiltScripts;
  /** Hint on the locked page that explains how to get an entry URL. */
  accessHint: string;
  onTokenRedeemed?: () => void;
};

/** The browse application, with its request handler, its one-time entry URLs and its events. */
export type BrowseApp = {
  /** Handles a request. Returns undefined if its path does not belong to the application. */
  handle(request: Request): Promise<Response | undefined>;
  /** Creates a URL that can be opened only once. `view` is the query string of the initial view. */
  createEntryUrl(view?: string): string;
  broadcaster: EventBroadcaster;
};

/** Creates the browse application with its routes, authentication, and checks against CSRF and DNS rebinding. */
export function createBrowseApp(options: BrowseOptions): BrowseApp {
  const { library, origin, now, scripts } = options;
  const sessions = new BrowseSessions();
  const broadcaster = new EventBroadcaster();
  const routes = createRoutes({ library, broadcaster, scripts, base: sessions.basePath, now });

  const handleEntry = (query: URLSearchParams) => {
    const cookie = sessions.redeem(query.get('token') ?? '');
    query.delete('token');
    if (!cookie) return lockedResponse(options.accessHint);
    options.onTokenRedeemed?.();
    const view = query.size > 0 ? `?${query}` : '';
    return htmlResponse(renderEntryPage(`${sessions.basePath}${view}`), "'none'", {
      headers: { 'set-cookie': cookie },
    });
  };

  const handleRoute = async (request: Request, path: string, query: URLSearchParams) => {
    if (crossSiteReason(request, origin())) return lockedResponse(options.accessHint);
    if (!sessions.isAuthenticated(request)) return lockedResponse(options.accessHint);
    const matches = routes.flatMap(([method, pattern, reply]) => {
      const match = method === request.method ? pattern.exec(path) : null;
      return match ? [{ reply, params: match.slice(1) }] : [];
    });
    const [route] = matches;
    if (!route) return problemResponse({ status: 404, problem: 'there is nothing here' });
    try {
      return await route.reply({ request, query, params: route.params });
    } catch (error) {
      return problemResponse(BadRequestError.findIn(error) ?? library.toProblem(error), library.budget());
    }
  };

  return {
    broadcaster,
    createEntryUrl: (view = '') => {
      const url = new URL('/', origin());
      url.search = view;
      url.searchParams.set('token', sessions.createToken());
      return url.href;
    },
    handle: async (request) => {
      const { host, pathname, searchParams } = new URL(request.url);
      // Rejects other Host names, because DNS rebinding could otherwise give another site access.
      if (host !== new URL(origin()).host) return lockedResponse(options.accessHint);
      if (pathname === '/' && request.method === 'GET') return handleEntry(searchParams);
      if (!pathname.startsWith('/b/')) return undefined;
      if (!pathname.startsWith(sessions.basePath)) return lockedResponse(options.accessHint);
      return handleRoute(request, pathname.slice(sessions.basePath.length), searchParams);
    },
  };
}

const lockedResponse = (accessHint: string) =>
  htmlResponse(
    renderNoticePage('This page is locked', `An address lets in one browser, once. ${accessHint}`),
    "'none'",
    { status: 403 },
  );
