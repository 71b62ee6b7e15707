import type { Context, MiddlewareHandler } from 'hono';
import { bodyLimit } from 'hono/body-limit';
import { cors } from 'hono/cors';
import { type Env, playbackPath } from './http.ts';
import { descriptionPath } from './openapi.ts';
import type { Service } from './service.ts';
import { ServiceError } from './service-error.ts';

/** A page of another site must not reach a service on this machine through a name of its own. */
export const hostChecked =
  ({ publicUrl }: Service): MiddlewareHandler =>
  async (c, next) => {
    const { port } = new URL(publicUrl());
    const hosts = ['localhost', '127.0.0.1'].map((name) => `${name}:${port}`);
    // Names of hosts count neither upper nor lower case.
    if (!hosts.includes((c.req.header('host') ?? '').toLowerCase()))
      throw new ServiceError(403, 'this sandbox does not answer to that Host');
    await next();
  };

/** The window of all who show nothing that is valid: they cannot use up anybody else's. */
const unknownCallers = 'unknown';

/** "Every endpoint except POST /playback/info/ requires … Bearer <API_KEY>" (§5.1, §5.3). */
export const authenticated = (service: Service): MiddlewareHandler<Env> => {
  const { keys } = service;
  return async (c, next) => {
    if (c.req.path === descriptionPath || c.req.path === playbackPath) return next();
    const [, bearer] = /^Bearer +(\S+)$/i.exec(c.req.header('authorization') ?? '') ?? [];
    const key = bearer && keys.find(bearer);
    count(c, service, key ? key.hash : unknownCallers);
    if (!key)
      throw new ServiceError(401, bearer ? 'this API key is not known' : 'an API key is required');
    c.set('key', key);
    await next();
  };
};

const maxJsonBytes = 1024 * 1024;

/** A JSON body holds at most 1 MiB: 413. */
export const limitedJson = bodyLimit({
  maxSize: maxJsonBytes,
  onError: () => {
    throw new ServiceError(413, 'a JSON body holds at most 1 MiB');
  },
});

const rateLimitHeaders = ['X-RateLimit-Limit', 'X-RateLimit-Remaining', 'X-RateLimit-Reset'];

/**
 * POST /playback/info/ has no key: its calls are counted by playback token, each with a window of
 * its own, as large as a key's (§8).
 */
export const playbackCounted = (service: Service): MiddlewareHandler<Env>[] => [
  // Browsers call it from pages of any site, with the token alone.
  cors({
    origin: '*',
    allowMethods: ['POST'],
    allowHeaders: ['Content-Type'],
    exposeHeaders: [...rateLimitHeaders, 'Retry-After'],
  }),
  bodyLimit({
    maxSize: maxJsonBytes,
    onError: (c) => {
      count(c, service, unknownCallers);
      throw new ServiceError(413, 'a JSON body holds at most 1 MiB');
    },
  }),
  async (c, next) => {
    count(c, service, (await tokenOf(c, service)) ?? unknownCallers);
    await next();
  },
];

/** The token of the body where it is valid; what else is wrong with the body is its route's to say. */
async function tokenOf(c: Context, { signer, now }: Service): Promise<string | undefined> {
  const body: unknown = await c.req.json().catch(() => undefined); // no JSON, or half of it
  const token = (body as { playback_token?: unknown } | null | undefined)?.playback_token;
  return typeof token === 'string' && signer.readToken(token, now()) ? token : undefined;
}

/** "Rate-limit headers on every response"; "Over the limit: 429 with Retry-After" (§8). */
function count(c: Context, { rateLimiter, faults, now }: Service, who: string): void {
  const { headers, retryAfterSeconds } = rateLimiter.count(who, now());
  for (const [name, value] of Object.entries(headers)) c.header(name, value);
  if (retryAfterSeconds === undefined) return;
  faults.take('rate-limit', { method: c.req.method, path: c.req.path });
  throw new ServiceError(429, 'rate limit exceeded', {
    headers: { 'Retry-After': String(retryAfterSeconds) },
  });
}
