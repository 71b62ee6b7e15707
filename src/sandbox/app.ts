import { OpenAPIHono } from '@hono/zod-openapi';
import type { Context, MiddlewareHandler } from 'hono';
import { bodyLimit } from 'hono/body-limit';
import { HTTPException } from 'hono/http-exception';
import { type App, apiPrefix, type Env, uploadPath } from './http.ts';
import { describe, descriptionPath } from './openapi.ts';
import { assetRoutes } from './routes/assets.ts';
import { embedRoutes } from './routes/embeds.ts';
import { folderRoutes } from './routes/folders.ts';
import { mediaRoutes } from './routes/media.ts';
import { playbackRoutes } from './routes/playback.ts';
import { providerRoutes } from './routes/provider.ts';
import { uploadRoutes } from './routes/uploads.ts';
import { watchRoutes } from './routes/watch.ts';
import { workspaceRoutes } from './routes/workspaces.ts';
import type { Service } from './service.ts';
import { ServiceError } from './service-error.ts';

const maxJsonBytes = 1024 * 1024;
const tooLarge = () => {
  throw new ServiceError(413, 'a JSON body holds at most 1 MiB');
};

/** "returns plain text bodies for 400, 404, 412, 413, 503, 507" (§7), and JSON as common. */
const textStatuses = new Set([400, 404, 412, 413, 503, 507]);

/** The whole service as one fetch-shaped app. */
export function createApp(service: Service): App {
  const app: App = new OpenAPIHono<Env>({
    // "422 unprocessable request (invalid parameters or body)" (§7)
    defaultHook: (result) => {
      if (result.success) return;
      const details = result.error.issues.map(({ path, message }) => ({
        loc: [result.target, ...path],
        msg: message,
      }));
      throw new ServiceError(422, 'invalid parameters or body', { details });
    },
  });
  app.use(hostChecked(service), logged(service));
  app.use(`${apiPrefix}/*`, authenticated(service));
  app.use(service.faults.middleware);
  const limited = bodyLimit({ maxSize: maxJsonBytes, onError: tooLarge });
  for (const path of ['playback/info/', 'assets/*', 'videos/*', 'workspaces/*'])
    app.use(`${apiPrefix}/${path}`, limited);
  describe(app, service);
  for (const routes of [
    assetRoutes,
    uploadRoutes,
    workspaceRoutes,
    playbackRoutes,
    providerRoutes,
    folderRoutes,
    embedRoutes,
    mediaRoutes,
    watchRoutes,
  ])
    routes(app, service);
  app.get('/health', (c) => {
    const { pid, tools, leftOut, faults } = service;
    return c.json({ status: 'ok', pid, tools, left_out: leftOut, faults: faults.active() });
  });
  app.notFound((c) => answer(c, service, new ServiceError(404, `nothing at ${c.req.path}`)));
  app.onError((error, c) => {
    const failure = asServiceError(error, service);
    const isCreation = c.req.method === 'POST' && c.req.path === uploadPath;
    return isCreation && textStatuses.has(failure.status)
      ? c.text(`${failure.message}\n`, failure.status)
      : answer(c, service, failure);
  });
  return app;
}

/** Failures of the disk; anything else unforeseen is a bug of ours, and says so. */
const storageCodes = new Set(['EACCES', 'EBUSY', 'EIO', 'EMFILE', 'ENFILE', 'EPERM', 'EROFS']);

function asServiceError(error: Error, service: Service): ServiceError {
  if (error instanceof ServiceError) return error;
  if (error instanceof HTTPException) return new ServiceError(400, error.message);
  const { code = '' } = error as NodeJS.ErrnoException;
  service.log(`error ${error.stack ?? error.message}`);
  if (code === 'ENOSPC' || code === 'EDQUOT') return new ServiceError(507, 'no space left');
  if (storageCodes.has(code)) return new ServiceError(503, 'storage temporarily unavailable');
  return new ServiceError(500, 'a defect of this sandbox; its log tells where');
}

function answer(c: Context, { answers }: Service, error: ServiceError): Response {
  for (const [name, value] of Object.entries(error.headers)) c.header(name, value);
  return c.json(answers.said(answers.errorAnswer, error.body), error.status);
}

/** A page of another site must not reach a service on this machine through a name of its own. */
const hostChecked =
  ({ publicUrl }: Service): MiddlewareHandler =>
  async (c, next) => {
    const { port } = new URL(publicUrl());
    const hosts = ['localhost', '127.0.0.1'].map((name) => `${name}:${port}`);
    if (!hosts.includes(c.req.header('host') ?? ''))
      throw new ServiceError(403, 'this sandbox does not answer to that Host');
    await next();
  };

const logged =
  ({ log, now }: Service): MiddlewareHandler =>
  async (c, next) => {
    const startedAt = now();
    await next();
    log(`${c.req.method} ${c.req.path} ${c.res.status} ${now() - startedAt} ms`);
  };

/** The description tells nothing of anybody's. */
const keyless = [`${apiPrefix}/playback/info/`, descriptionPath];

/** "Every endpoint except POST /playback/info/ requires … Bearer <API_KEY>" (§5.1, §5.3). */
const authenticated =
  ({ keys, rateLimiter, faults, now }: Service): MiddlewareHandler<Env> =>
  async (c, next) => {
    if (keyless.includes(c.req.path)) return next();
    const [, bearer] = /^Bearer (\S+)$/.exec(c.req.header('authorization') ?? '') ?? [];
    const key = bearer && keys.find(bearer);
    if (!key)
      throw new ServiceError(401, bearer ? 'this API key is not known' : 'an API key is required');
    const { headers, retryAfterSeconds } = rateLimiter.count(key.hash, now());
    for (const [name, value] of Object.entries(headers)) c.header(name, value);
    if (retryAfterSeconds !== undefined) {
      faults.take('rate-limit', { method: c.req.method, path: c.req.path });
      throw new ServiceError(429, 'rate limit exceeded', {
        headers: { 'Retry-After': String(retryAfterSeconds) },
      });
    }
    c.set('key', key);
    await next();
  };
