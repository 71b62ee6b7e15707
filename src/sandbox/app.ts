import { OpenAPIHono } from '@hono/zod-openapi';
import type { Context, MiddlewareHandler } from 'hono';
import { HTTPException } from 'hono/http-exception';
import {
  checkHost,
  limitJsonBody,
  limitPlaybackRequests,
  rejectUnknownQuery,
  requireApiKey,
  showRateLimit,
} from './access.ts';
import { type App, apiPrefix, type Env, playbackPath, uploadPath } from './http.ts';
import { registerDescription } from './openapi.ts';
import { assetRoutes } from './routes/assets.ts';
import { embedRoutes } from './routes/embeds.ts';
import { folderRoutes } from './routes/folders.ts';
import { mediaRoutes } from './routes/media.ts';
import { playbackRoutes } from './routes/playback.ts';
import { providerRoutes } from './routes/provider.ts';
import { addTusVersion, uploadRoutes } from './routes/uploads.ts';
import { watchRoutes } from './routes/watch.ts';
import { workspaceRoutes } from './routes/workspaces.ts';
import type { Service } from './service.ts';
import { ServiceError } from './service-error.ts';
import { classifyStorageFailure } from './storage-failure.ts';

const allRoutes = [
  ...[assetRoutes, uploadRoutes, workspaceRoutes, playbackRoutes, providerRoutes],
  ...[folderRoutes, embedRoutes, mediaRoutes, watchRoutes],
];

/** Maps the validator's names of request parts to OpenAPI's names, which error details use. */
const partNames: Partial<Record<string, string>> = { json: 'body', param: 'path' };

/** Statuses of failed upload creations: "plain text bodies for 400, 404, 412, 413, 503, 507" (§7). */
const textStatuses = new Set([400, 404, 412, 413, 503, 507]);

export function createApp(service: Service): App {
  const app: App = new OpenAPIHono<Env>({
    // "422 unprocessable request (invalid parameters or body)" (§7)
    defaultHook: (result) => {
      if (result.success) return;
      const details = result.error.issues.map(({ path, message }) => ({
        loc: [partNames[result.target] ?? result.target, ...path],
        msg: message,
      }));
      throw new ServiceError(422, 'invalid parameters or body', { details });
    },
  });
  app.use(`${apiPrefix}/*`, showRateLimit(service));
  app.use(`${uploadPath}*`, addTusVersion);
  app.use(checkHost(service), logRequests(service));
  app.use(playbackPath, ...limitPlaybackRequests(service));
  app.use(`${apiPrefix}/*`, requireApiKey(service));
  app.use(service.faults.middleware);
  app.use(`${apiPrefix}/*`, rejectUnknownQuery(service));
  for (const path of ['assets/*', 'videos/*', 'workspaces/*']) app.use(`${apiPrefix}/${path}`, limitJsonBody());
  registerDescription(app, service);
  for (const routes of allRoutes) routes(app, service);
  app.get('/health', (c) => {
    const { pid, tools, missingFeatures, faults } = service;
    return c.json({ status: 'ok', pid, tools, unavailable_features: missingFeatures, faults: faults.listActive() });
  });
  app.notFound((c) => respondWithError(c, service, new ServiceError(404, `no endpoint at ${c.req.path}`)));
  app.onError((error, c) => {
    const failure = asServiceError(error, service);
    const isCreation = c.req.method === 'POST' && c.req.path === uploadPath;
    return isCreation && textStatuses.has(failure.status)
      ? c.text(`${failure.message}\n`, failure.status)
      : respondWithError(c, service, failure);
  });
  return app;
}

/** Converts any error to a ServiceError: disk and database failures to 507 or 503, unexpected errors to 500. */
function asServiceError(error: Error, service: Service): ServiceError {
  if (error instanceof ServiceError) return error;
  if (error instanceof HTTPException) return new ServiceError(400, error.message);
  service.log(`error ${error.stack ?? error.message}`);
  const failure = classifyStorageFailure(error);
  if (failure === 'full') return new ServiceError(507, 'the disk is full');
  if (failure) return new ServiceError(503, 'storage temporarily unavailable');
  return new ServiceError(500, 'internal error of the sandbox; see mediactl sandbox logs');
}

function respondWithError(c: Context, { responseSchemas }: Service, error: ServiceError): Response {
  for (const [name, value] of Object.entries(error.headers)) c.header(name, value);
  return c.json(responseSchemas.serialize(responseSchemas.errorAnswer, error.body), error.status);
}

const logRequests =
  ({ log, now }: Service): MiddlewareHandler =>
  async (c, next) => {
    const startedAt = now();
    await next();
    log(`${c.req.method} ${c.req.path} ${c.res.status} ${now() - startedAt} ms`);
  };
