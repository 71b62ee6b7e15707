import { createRoute } from '@hono/zod-openapi';
import { type App, apiPrefix, scoped } from '../http.ts';
import type { Service } from '../service.ts';
import { json, listParameters, pageOf, workspace } from './schemas.ts';

/** §4 Workspaces: the list. */
export function workspaceRoutes(app: App, { workspaces }: Service): void {
  app.openapi(
    createRoute({
      method: 'get',
      path: `${apiPrefix}/workspaces/`,
      middleware: scoped('Read Assets'),
      request: { query: listParameters },
      responses: { 200: json(pageOf(workspace), 'a page') },
    }),
    (c) => {
      const { limit, offset } = c.req.valid('query');
      const items = workspaces
        .page(limit, offset)
        .map((row) => ({ ...row, is_primary: row.is_primary === 1 }));
      return c.json({ items, count: workspaces.count() }, 200);
    },
  );
}
