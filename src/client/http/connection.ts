import type { LookupFunction } from 'node:net';
import type { Clock } from '../../shared/clock.ts';
import { TimeoutError, withTimeout } from '../../shared/retry.ts';
import type { Connections, WrapFirstRequest } from './dispatcher.lazy.ts';
import { connectTimeoutMs } from './network-error.ts';
import { type ProxySettings, proxyOf } from './proxy.ts';
import type { PublicAddresses } from './public-address.ts';
import type { RateWindow } from './rate-limit-headers.ts';
import { ClientRateLimiter } from './rate-limiter.ts';

/** Time for sockets to close. In the executable, whose runtime is Bun, one that was reset may never do. */
const closeGraceMs = 300;

/** State that all transports of one service share: connection pools and the rate limiter. */
export class Connection {
  /** Rate limit reported by the latest response. */
  rateLimit: RateWindow | undefined;
  /** Milliseconds that the service's clock is ahead of this machine's, by the last response with a date. */
  clockSkewMs = 0;
  requestCount = 0;
  /** True once the service, or a gateway in front of it, has responded. */
  hasConnected = false;
  /** Aborted by `close()`, so that requests in flight are not retried and waits end. */
  readonly closeController = new AbortController();
  readonly rateLimiter: ClientRateLimiter;
  readonly #options: ConnectionOptions;
  #pool: Promise<Connections> | undefined;
  #publicAddresses: Promise<PublicAddresses> | undefined;
  /** Connection pool that connects only to public addresses. */
  #publicPool: Promise<Connections> | undefined;

  constructor(options: ConnectionOptions) {
    this.rateLimiter = new ClientRateLimiter(options.clock, options.maxWaitMs, options.maxBulkWaitMs);
    this.#options = options;
  }

  /** Opens a connection pool on first use. With `publicUrl`, one for public addresses and the service's own host. */
  async open(publicUrl?: URL): Promise<Connections> {
    if (!publicUrl || isSameHost(publicUrl, this.#options.baseUrl)) {
      this.#pool ??= this.#openPool();
      return this.#pool;
    }
    const { baseUrl } = this.#options;
    this.#publicAddresses ??= import('./public-address.ts').then((module) => module.publicAddressesFor(baseUrl));
    const addresses = await this.#publicAddresses;
    const { httpProxy, httpsProxy } = this.#options.proxy ?? {};
    await addresses.assertAllowed(publicUrl, Boolean(httpProxy || httpsProxy));
    this.#publicPool ??= this.#openPool(addresses.lookup);
    return this.#publicPool;
  }

  /** Loads undici only when a request is sent. */
  async #openPool(lookup?: LookupFunction): Promise<Connections> {
    const { openConnections } = await import('./dispatcher.lazy.ts');
    return openConnections({ timeout: connectTimeoutMs, lookup }, this.#options.proxy, this.#options.wrapFirstRequest);
  }

  proxyOf(url: URL): URL | undefined {
    return proxyOf(url, this.#options.proxy);
  }

  async close(): Promise<void> {
    this.closeController.abort();
    for (const pool of [this.#pool, this.#publicPool])
      await withTimeout(closeGraceMs, async () => (await pool)?.close()).catch((error) => {
        if (!(error instanceof TimeoutError)) throw error;
      });
  }
}

export type ConnectionOptions = {
  baseUrl: URL;
  clock: Clock;
  /** Maximum total time that one command spends waiting for retries and rate limits. */
  maxWaitMs: number;
  /** Maximum total time that bulk work waits for rate limits; without a maximum by default. */
  maxBulkWaitMs?: number | undefined;
  proxy?: ProxySettings | undefined;
  wrapFirstRequest?: WrapFirstRequest | undefined;
};

const isSameHost = (url: URL, service: URL) =>
  url.hostname === service.hostname || (service.hostname === 'localhost' && url.hostname === '127.0.0.1');
