import type { HttpBindings } from '@hono/node-server';
import type { OpenAPIHono } from '@hono/zod-openapi';
import type { MiddlewareHandler } from 'hono';
import type { Scope } from '../contract/scopes.ts';
import { invalidError, ServiceError } from './service-error.ts';
import type { ApiKey } from './store/api-keys.ts';

/** Hono environment of a request: Node's request objects and the authenticated API key. */
export type Env = { Bindings: HttpBindings; Variables: { key: ApiKey } };
export type App = OpenAPIHono<Env>;

export const apiPrefix = '/api/external/v1';

/** Path for creating upload sessions. Paths of individual sessions start with it (§4 Upload). */
export const uploadPath = `${apiPrefix}/upload/`;

/** Path of the only endpoint in the specification that needs no API key (§4 Playback info). */
export const playbackPath = `${apiPrefix}/playback/info/` as const;

/** Requires a JSON body (§1, §4); without this check, a missing one is valid when all fields are optional. */
export const requireJson: MiddlewareHandler<Env> = async (c, next) => {
  if ((await c.req.text()).trim() === '') throw invalidError(['body'], 'a JSON body is required');
  if (!/^application\/json\s*(?:;|$)/i.test(c.req.header('content-type') ?? ''))
    throw invalidError(['body'], 'Content-Type must be application/json');
  await next();
};

/** Requires a scope: "A call needing a scope that the key lacks returns 403." (§5.4) */
export const requireScope =
  (scope: Scope): MiddlewareHandler<Env> =>
  async (c, next) => {
    if (!c.get('key').scopes.includes(scope)) throw new ServiceError(403, `this key lacks the scope "${scope}"`);
    await next();
  };
