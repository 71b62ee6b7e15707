import { noticePage } from '../../watch/server/page.ts';
import { document, refusal } from './answer.ts';
import { entryPage } from './gallery-page.ts';
import { Hub } from './hub.ts';
import type { Library } from './library.ts';
import { PageProblem } from './page-problem.ts';
import { routesFor, type Scripts } from './routes.ts';
import { Sessions, strangeness } from './session.ts';

export type BrowseOptions = {
  library: Library;
  /** Returns the origin that the page is served from; called only after the server listens. */
  origin(): string;
  now(): number;
  scripts: Scripts;
  /** Text of the locked page: how to get an entry URL. */
  howIn: string;
  onEntered?: () => void;
};

/** The browse application: its request handler, its one-time entry URLs and its events. */
export type Browse = {
  /** Handles a request. @returns undefined for a path outside the application */
  answer(request: Request): Promise<Response | undefined>;
  /** Creates a URL that one browser may open once; `view` is the query string of the initial view. */
  address(view?: string): string;
  hub: Hub;
};

/** Creates the browse application: authentication, CSRF and DNS rebinding checks, routes. */
export function browse(options: BrowseOptions): Browse {
  const { library, origin, now, scripts } = options;
  const sessions = new Sessions();
  const hub = new Hub();
  const routes = routesFor({ library, hub, scripts, base: sessions.base, now });

  const entered = (query: URLSearchParams) => {
    const cookie = sessions.enter(query.get('token') ?? '');
    query.delete('token');
    if (!cookie) return lockedOut(options.howIn);
    options.onEntered?.();
    const view = query.size > 0 ? `?${query}` : '';
    return document(entryPage(`${sessions.base}${view}`), "'none'", {
      headers: { 'set-cookie': cookie },
    });
  };

  const inside = async (request: Request, path: string, query: URLSearchParams) => {
    if (strangeness(request, origin())) return lockedOut(options.howIn);
    if (!sessions.knows(request)) return lockedOut(options.howIn);
    const called = routes.flatMap(([method, pattern, reply]) => {
      const match = method === request.method ? pattern.exec(path) : null;
      return match ? [{ reply, words: match.slice(1) }] : [];
    });
    const [route] = called;
    if (!route) return refusal({ status: 404, problem: 'there is nothing here' });
    try {
      return await route.reply({ request, query, words: route.words });
    } catch (error) {
      return refusal(PageProblem.in(error) ?? library.explain(error), library.budget());
    }
  };

  return {
    hub,
    address: (view = '') => {
      const url = new URL('/', origin());
      url.search = view;
      url.searchParams.set('token', sessions.mint());
      return url.href;
    },
    answer: async (request) => {
      const { host, pathname, searchParams } = new URL(request.url);
      // Rejects other Host names: DNS rebinding would let another site in.
      if (host !== new URL(origin()).host) return lockedOut(options.howIn);
      if (pathname === '/' && request.method === 'GET') return entered(searchParams);
      if (!pathname.startsWith('/b/')) return undefined;
      if (!pathname.startsWith(sessions.base)) return lockedOut(options.howIn);
      return inside(request, pathname.slice(sessions.base.length), searchParams);
    },
  };
}

const lockedOut = (howIn: string) =>
  document(
    noticePage('This page is locked', `An address lets in one browser, once. ${howIn}`),
    "'none'",
    { status: 403 },
  );
