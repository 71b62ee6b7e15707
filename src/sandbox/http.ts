import type { HttpBindings } from '@hono/node-server';
import type { OpenAPIHono } from '@hono/zod-openapi';
import type { MiddlewareHandler } from 'hono';
import type { Scope } from '../contract/scopes.ts';
import { ServiceError } from './service-error.ts';
import type { ApiKey } from './store/keys.ts';

/** What a request carries: Node's own objects, and the key that made it. */
export type Env = { Bindings: HttpBindings; Variables: { key: ApiKey } };
export type App = OpenAPIHono<Env>;

export const apiPrefix = '/api/external/v1';

/** §4 Upload: sessions are made here, and live below it. */
export const uploadPath = `${apiPrefix}/upload/`;

/** §4 Playback info: the one endpoint without an API key. */
export const playbackPath = `${apiPrefix}/playback/info/` as const;

/**
 * "JSON … (required body)" (§4), "All JSON bodies use application/json" (§1). Without it a body
 * whose every field is optional would be taken for an empty one.
 */
export const jsonRequired: MiddlewareHandler<Env> = async (c, next) => {
  const problem =
    (await c.req.text()).trim() === ''
      ? 'a JSON body is required'
      : /^application\/json\s*(?:;|$)/i.test(c.req.header('content-type') ?? '')
        ? undefined
        : 'Content-Type must be application/json';
  if (problem)
    throw new ServiceError(422, 'invalid parameters or body', {
      details: [{ loc: ['body'], msg: problem }],
    });
  await next();
};

/** "A call needing a scope that the key lacks returns 403." (§5.4) */
export const scoped =
  (scope: Scope): MiddlewareHandler<Env> =>
  async (c, next) => {
    if (!c.get('key').scopes.includes(scope))
      throw new ServiceError(403, `this key lacks the scope "${scope}"`);
    await next();
  };
