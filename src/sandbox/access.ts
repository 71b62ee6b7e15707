import type { Context, MiddlewareHandler } from 'hono';
import { bodyLimit } from 'hono/body-limit';
import { cors } from 'hono/cors';
import { isLoopbackHost } from '../shared/bounded-server.ts';
import { apiPrefix, type Env, playbackPath } from './http.ts';
import { descriptionPath } from './openapi.ts';
import { queryNames } from './routes/schemas.ts';
import type { Service } from './service.ts';
import { ServiceError } from './service-error.ts';

/** Rejects requests with a foreign Host header, since a web page can send them by DNS rebinding. */
export const checkHost =
  (service: Service): MiddlewareHandler =>
  async (c, next) => {
    const { port } = new URL(service.origin);
    if (!isLoopbackHost(c.req.header('host'), port)) throw new ServiceError(403, 'this Host header is not allowed');
    await next();
  };

/** Caller of all requests without valid credentials, so that they cannot use up the rate-limit window of an API key. */
const anonymousCaller = 'unknown';

/**
 * Adds the rate-limit headers, which are "on every response" (§8), also to responses before a caller is known, such as
 * to a preflight. `countRequest` replaces them.
 */
export const showRateLimit =
  (service: Service): MiddlewareHandler =>
  async (c, next) => {
    for (const [name, value] of Object.entries(anonymousHeaders(service))) c.header(name, value);
    await next();
  };

/** Returns the rate-limit headers of requests without valid credentials, which are not counted by this. */
export const anonymousHeaders = ({ rateLimiter, now }: Service) => rateLimiter.headersFor(anonymousCaller, now());

/** Rejects query parameters that the specification does not name, with `--strict` (§4). */
export const rejectUnknownQuery =
  ({ isStrict }: Service): MiddlewareHandler =>
  async (c, next) => {
    const known = queryNames(c.req.path.slice(apiPrefix.length));
    const unknown = isStrict ? Object.keys(c.req.queries()).filter((name) => !known.includes(name)) : [];
    const details = unknown.map((name) => ({ loc: ['query', name], msg: 'unknown parameter' }));
    if (unknown.length > 0) throw new ServiceError(422, `unknown parameter: ${unknown.join(', ')}`, { details });
    await next();
  };

/** Requires an API key: "Every endpoint except POST /playback/info/ requires … Bearer <API_KEY>" (§5.1, §5.3). */
export const requireApiKey =
  (service: Service): MiddlewareHandler<Env> =>
  async (c, next) => {
    if (c.req.path === descriptionPath || c.req.path === playbackPath) return next();
    const [, bearer] = /^Bearer +(\S+)$/i.exec(c.req.header('authorization') ?? '') ?? [];
    const key = bearer && service.keys.find(bearer);
    countRequest(c, service, key ? key.hash : anonymousCaller);
    if (!key) throw new ServiceError(401, bearer ? 'invalid API key' : 'an API key is required');
    c.set('key', key);
    await next();
  };

/** Rejects JSON bodies over 1 MiB with 413. `count` is called before, for requests that are not counted yet. */
export const limitJsonBody = (count?: (c: Context) => void) =>
  bodyLimit({
    maxSize: 1024 * 1024,
    onError: (c) => {
      count?.(c);
      throw new ServiceError(413, 'a JSON body must be at most 1 MiB');
    },
  });

/** Limits POST /playback/info/, which has no API key: each playback token has the same rate limit as a key (§8). */
export const limitPlaybackRequests = (service: Service): MiddlewareHandler<Env>[] => [
  // Web pages of any site call this endpoint, with only the token.
  cors({
    origin: '*',
    allowMethods: ['POST'],
    allowHeaders: ['Content-Type'],
    exposeHeaders: ['X-RateLimit-Limit', 'X-RateLimit-Remaining', 'X-RateLimit-Reset', 'Retry-After'],
  }),
  limitJsonBody((c) => countRequest(c, service, anonymousCaller)),
  async (c, next) => {
    countRequest(c, service, (await readValidToken(c, service)) ?? anonymousCaller);
    await next();
  },
];

/** Returns the playback token in the body; undefined if it is missing or invalid, which the route reports. */
async function readValidToken(c: Context, { signer, now }: Service): Promise<string | undefined> {
  const body: unknown = await c.req.json().catch(() => undefined); // not JSON, or incomplete
  const token = (body as { playback_token?: unknown } | null | undefined)?.playback_token;
  return typeof token === 'string' && signer.verifyToken(token, now()) ? token : undefined;
}

/** Counts a request: "Rate-limit headers on every response"; "Over the limit: 429 with Retry-After" (§8). */
function countRequest(c: Context, { rateLimiter, now }: Service, caller: string): void {
  const { headers, retryAfterSeconds } = rateLimiter.count(caller, now());
  for (const [name, value] of Object.entries(headers)) c.header(name, value);
  if (retryAfterSeconds === undefined) return;
  throw new ServiceError(429, 'rate limit exceeded', { headers: { 'Retry-After': String(retryAfterSeconds) } });
}
