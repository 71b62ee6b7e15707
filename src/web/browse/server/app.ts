import type { Context } from 'hono';
import { pageFilesPath, respondWithPageFile } from '../../shared/page-files.ts';
import { renderNoticePage } from '../../watch/server/page.ts';
import { budgetHeader } from '../protocol.ts';
import { PageProblem } from './backend.ts';
import { renderEntryPage } from './gallery-page.ts';
import { createRoutes, listPageFiles, type RouteDeps, sendPage, sendProblem } from './routes.ts';
import { BrowseSessions, isCrossSite } from './session.ts';

export type BrowseOptions = Omit<RouteDeps, 'basePath'> & {
  /** Returns the origin that serves the page. It is called only after the server has started listening. */
  origin(): string;
  /** Hint on the locked page that explains how to get an entry URL. */
  accessHint: string;
  /** True if an entry URL can be opened more than once, for as long as a command waits. */
  reusesEntryUrls: boolean;
  onTokenRedeemed(): void;
};

const cookieName = 'mediactl';

/** Creates the browse application with its routes, authentication, and checks against CSRF and DNS rebinding. */
export async function createBrowseApp({ accessHint, ...options }: BrowseOptions) {
  const { library, origin, broadcaster } = options;
  const { getCookie, Hono, secureHeaders, setCookie } = await import('./hono.lazy.ts');
  const sessions = new BrowseSessions();
  const { basePath } = sessions;
  const app = new Hono();
  const notice = renderNoticePage('This page is locked', `Each URL works once, in one browser. ${accessHint}`);
  const lock = (c: Context) => sendPage(c, notice, { status: 403 });

  app.use(
    secureHeaders({
      overwrite: false,
      strictTransportSecurity: false,
      originAgentCluster: false,
      // Keeps an image or text that is opened directly from running or loading anything. Pages have their own policy.
      contentSecurityPolicy: { defaultSrc: ["'none'"], frameAncestors: ["'none'"], sandbox: [] },
    }),
    async (c, next) => {
      // Rejects other Host names, because DNS rebinding could otherwise give another site access.
      if (new URL(c.req.url).host !== new URL(origin()).host) return lock(c);
      await next();
      if (!c.res.headers.has('cache-control')) c.res.headers.set('cache-control', 'no-store');
    },
  );
  app.get('/', (c) => {
    const { searchParams: view } = new URL(c.req.url);
    // A link scanner sends HEAD, which must not use up the token.
    const cookie = c.req.method === 'GET' && sessions.redeem(view.get('token') ?? '', options.reusesEntryUrls);
    if (!cookie) return lock(c);
    view.delete('token');
    options.onTokenRedeemed();
    setCookie(c, cookieName, cookie, { path: basePath, httpOnly: true, sameSite: 'Strict' });
    return sendPage(c, renderEntryPage(`${basePath}${view.size > 0 ? `?${view}` : ''}`));
  });
  const files = listPageFiles(options.scripts);
  app.get(`${pageFilesPath}*`, (c) => respondWithPageFile(files, c.req.path) ?? c.notFound());
  app.use('/b/*', async (c, next) => {
    const isOwnPage = c.req.path.startsWith(basePath) && !isCrossSite(c.req.raw, origin());
    if (!isOwnPage || !sessions.isAuthenticated(getCookie(c, cookieName))) return lock(c);
    await next();
    const budget = library.budget();
    if (budget) c.res.headers.set(budgetHeader, JSON.stringify(budget));
  });
  app.route(basePath, await createRoutes({ ...options, broadcaster, basePath }));
  app.notFound((c) => sendProblem(c, { status: 404, problem: 'page not found' }));
  app.onError((error, c) => sendProblem(c, PageProblem.findIn(error) ?? library.toProblem(error)));

  return {
    handle: app.fetch,
    /** Creates a URL that can be opened only once. `view` is the query string of the initial view. */
    createEntryUrl: (view = '') => {
      const url = new URL('/', origin());
      url.search = view;
      url.searchParams.set('token', sessions.createToken());
      return url.href;
    },
  };
}
