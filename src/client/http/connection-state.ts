import type { Clock } from '../../contract/clock.ts';
import type { Scope } from '../../contract/scopes.ts';
import type { Connections } from './dispatcher.lazy.ts';
import type { PublicAddresses } from './public-address.ts';
import type { RateLimit } from './rate-limit-headers.ts';
import { ClientRateLimiter } from './rate-limiter.ts';
import { WaitBudget } from './wait-budget.ts';

/** State that all transports of one service share: rate limit, wait budget and connection pools. */
export class ConnectionState {
  /** Rate limit reported by the latest response. */
  rateLimit: RateLimit | undefined;
  requestCount = 0;
  /** Maps each scope that a request has required to true if the service granted it, or to false after a 403. */
  readonly scopes = new Map<Scope, boolean>();
  /** True once the service, or a gateway in front of it, has responded. */
  hasConnected = false;
  /** Aborted by `close()`, so that requests in flight are not retried and waits end. */
  readonly closeController = new AbortController();
  readonly waitBudget: WaitBudget;
  readonly rateLimiter: ClientRateLimiter;
  connections: Promise<Connections> | undefined;
  publicAddresses: Promise<PublicAddresses> | undefined;
  /** Connection pool that connects only to public addresses. */
  publicConnections: Promise<Connections> | undefined;

  /** @param maxWaitMs maximum total time that the transports together spend waiting */
  constructor(clock: Clock, maxWaitMs: number) {
    this.waitBudget = new WaitBudget(clock, maxWaitMs);
    this.rateLimiter = new ClientRateLimiter(clock, maxWaitMs);
  }
}
