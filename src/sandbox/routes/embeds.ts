import { createRoute, type z } from '@hono/zod-openapi';
import { type App, apiPrefix, requireJson, requireScope } from '../http.ts';
import type { Service } from '../service.ts';
import { ServiceError } from '../service-error.ts';
import { embedChange, embedDomain, embedSettings, jsonBody, jsonContent, uidParameter } from './schemas.ts';
import { findWorkspace } from './workspaces.ts';

/** Registers the routes for the embed restriction and its allow-list (§4). Every response contains all settings. */
export function embedRoutes(app: App, service: Service): void {
  const { workspaces } = service;
  const [settings, domains] = ['embed-settings', 'embed-domains'] as const;
  const updating = changeBy(embedChange, 'enable/disable the restriction', (uid, { enabled }) =>
    workspaces.restrictEmbedding(uid, enabled),
  );
  const adding = changeBy(embedDomain, 'a domain', (uid, { domain }) => workspaces.addEmbedDomain(uid, domain));
  const removing = changeBy(embedDomain, 'a domain', (uid, { domain }) => {
    if (!workspaces.removeEmbedDomain(uid, domain)) throw new ServiceError(404, `${domain} is not an embed domain`);
  });
  embedRoute(app, service, {
    operationId: 'getEmbedSettings',
    summary: 'Get the embed settings of a workspace',
    method: 'get',
    path: settings,
  });
  embedRoute(app, service, {
    operationId: 'updateEmbedSettings',
    summary: 'Turn the embed restriction on or off',
    method: 'patch',
    path: settings,
    ...updating,
  });
  embedRoute(app, service, {
    operationId: 'addEmbedDomain',
    summary: 'Allow a domain to embed',
    method: 'post',
    path: domains,
    status: 201,
    ...adding,
  });
  embedRoute(app, service, {
    operationId: 'removeEmbedDomain',
    summary: 'Remove a domain from the allow-list',
    method: 'delete',
    path: domains,
    ...removing,
  });
}

/** A JSON body, and the change that it makes to a workspace. */
type EmbedChange = { body: ReturnType<typeof jsonBody>; change(workspaceUid: string, body: unknown): void };

const changeBy = <Schema extends z.ZodType>(
  schema: Schema,
  description: string,
  change: (workspaceUid: string, body: z.output<Schema>) => void,
): EmbedChange => ({
  body: jsonBody(schema, description),
  change: (uid, body) => change(uid, body as z.output<Schema>), // the body was validated
});

type EmbedRoute = Partial<EmbedChange> & {
  operationId: string;
  summary: string;
  method: 'get' | 'patch' | 'post' | 'delete';
  path: 'embed-settings' | 'embed-domains';
  status?: 200 | 201;
};

function embedRoute(app: App, service: Service, { path, status = 200, body, change, ...route }: EmbedRoute): void {
  app.openapi(
    createRoute({
      ...route,
      path: `${apiPrefix}/workspaces/{uid}/${path}/`,
      middleware: body ? [requireScope('Write Assets'), requireJson] : [requireScope('Read Assets')],
      request: { params: uidParameter, ...(body && { body }) },
      responses: { [status]: jsonContent(embedSettings, 'embed settings') },
    }),
    (c) => {
      const { uid } = findWorkspace(service, c.req.valid('param').uid);
      change?.(uid, c.req.valid('json' as never));
      return c.json(service.workspaces.embedRestriction(uid), status);
    },
  );
}
