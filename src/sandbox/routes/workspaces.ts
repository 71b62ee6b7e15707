import { createRoute } from '@hono/zod-openapi';
import { type App, apiPrefix, requireScope } from '../http.ts';
import type { Service } from '../service.ts';
import { ServiceError } from '../service-error.ts';
import type { WorkspaceRow } from '../store/workspaces.ts';
import { jsonContent, listParameters } from './schemas.ts';

export function workspaceRoutes(app: App, { workspaces, responseSchemas }: Service): void {
  const { workspace, pageOf, serialize } = responseSchemas;
  const page = pageOf(workspace);

  app.openapi(
    createRoute({
      operationId: 'listWorkspaces',
      summary: 'List workspaces',
      method: 'get',
      path: `${apiPrefix}/workspaces/`,
      middleware: requireScope('Read Assets'),
      request: { query: listParameters },
      responses: { 200: jsonContent(page, 'page of results') },
    }),
    (c) => {
      const { limit, offset } = c.req.valid('query');
      const items = workspaces
        .page(limit, offset)
        .map(({ uid, name, is_primary, created_at }) => ({ uid, name, is_primary: is_primary === 1, created_at }));
      return c.json(serialize(page, { items, count: workspaces.count() }), 200);
    },
  );
}

export function findWorkspace({ workspaces }: Service, uid: string): WorkspaceRow {
  const found = workspaces.find(uid);
  if (!found) throw new ServiceError(404, `workspace ${uid} does not exist`);
  return found;
}
