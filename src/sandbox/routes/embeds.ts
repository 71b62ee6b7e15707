import { createRoute } from '@hono/zod-openapi';
import { type App, apiPrefix, requireJson, requireScope } from '../http.ts';
import type { Service } from '../service.ts';
import { ServiceError } from '../service-error.ts';
import { embedChange, embedDomain, embedSettings, jsonContent, uidParameter } from './schemas.ts';
import { findWorkspace } from './workspaces.ts';

const workspacePath = `${apiPrefix}/workspaces/{uid}` as const;

/** Registers the routes for the embed restriction and its allow-list (§4). Every response contains all settings. */
export function embedRoutes(app: App, service: Service): void {
  const { embeds } = service;
  const settings = jsonContent(embedSettings, 'embed settings');

  app.openapi(
    createRoute({
      operationId: 'getEmbedSettings',
      method: 'get',
      path: `${workspacePath}/embed-settings/`,
      middleware: requireScope('Read Assets'),
      request: { params: uidParameter },
      responses: { 200: settings },
    }),
    (c) => c.json(embeds.get(findWorkspace(service, c.req.valid('param').uid).uid), 200),
  );

  app.openapi(
    createRoute({
      operationId: 'updateEmbedSettings',
      method: 'patch',
      path: `${workspacePath}/embed-settings/`,
      middleware: [requireScope('Write Assets'), requireJson],
      request: {
        params: uidParameter,
        body: { ...jsonContent(embedChange, 'enable/disable the restriction'), required: true },
      },
      responses: { 200: settings },
    }),
    (c) => {
      const { uid } = findWorkspace(service, c.req.valid('param').uid);
      embeds.setEnabled(uid, c.req.valid('json').enabled);
      return c.json(embeds.get(uid), 200);
    },
  );

  app.openapi(
    createRoute({
      operationId: 'addEmbedDomain',
      method: 'post',
      path: `${workspacePath}/embed-domains/`,
      middleware: [requireScope('Write Assets'), requireJson],
      request: {
        params: uidParameter,
        body: { ...jsonContent(embedDomain, 'a domain'), required: true },
      },
      responses: { 201: settings },
    }),
    (c) => {
      const { uid } = findWorkspace(service, c.req.valid('param').uid);
      embeds.addDomain(uid, c.req.valid('json').domain);
      return c.json(embeds.get(uid), 201);
    },
  );

  app.openapi(
    createRoute({
      operationId: 'removeEmbedDomain',
      method: 'delete',
      path: `${workspacePath}/embed-domains/`,
      middleware: [requireScope('Write Assets'), requireJson],
      request: {
        params: uidParameter,
        body: { ...jsonContent(embedDomain, 'a domain'), required: true },
      },
      responses: { 200: settings },
    }),
    (c) => {
      const { uid } = findWorkspace(service, c.req.valid('param').uid);
      const { domain } = c.req.valid('json');
      if (!embeds.removeDomain(uid, domain)) throw new ServiceError(404, `${domain} is not on the list`);
      return c.json(embeds.get(uid), 200);
    },
  );
}
