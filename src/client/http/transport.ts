import type { LookupFunction } from 'node:net';
import type { Dispatcher } from 'undici';
import type { Clock } from '../../contract/clock.ts';
import { toJson } from '../../contract/json-values.ts';
import { paths } from '../../contract/paths.ts';
import { backoff } from '../../contract/retry.ts';
import type { Scope } from '../../contract/scopes.ts';
import { MediactlError } from '../errors.ts';
import type { ApiRequest, ApiResponse } from './api-request.ts';
import { ConnectionState } from './connection-state.ts';
import type { Connections } from './dispatcher.lazy.ts';
import { errorFrom } from './error-response.ts';
import { parseJsonResponse } from './json.ts';
import { foreignOrigin, networkError, wasNotSent } from './network-error.ts';
import type { ProxySettings } from './proxy.ts';
import { type RateLimit, type ResponseHeaders, readRateLimit, retryAfterMs } from './rate-limit-headers.ts';
import type { Lane, RateLimitBudget, RateLimiterState, RequestWait } from './rate-limiter.ts';
import { normalizeHeaders, readBody, streamInto } from './response-body.ts';
import { ResponseDeadline } from './response-deadline.ts';

/** Notice that requests wait or have resumed, for the user. `untilMs` is in milliseconds since the epoch. */
export type TransportNotice =
  | { kind: 'rate-limited'; untilMs: number }
  | { kind: 'retrying'; untilMs: number; reason: string }
  | { kind: 'resumed' };

export type TransportOptions = {
  baseUrl: URL;
  apiKey?: string | undefined;
  clock: Clock;
  userAgent: string;
  /** Idle timeout of requests that do not set their own. */
  requestTimeoutMs: number;
  /** Maximum total time that one command spends waiting for retries and rate limits. */
  maxWaitMs: number;
  signal?: AbortSignal | undefined;
  proxy?: ProxySettings | undefined;
  onNotice?: (notice: TransportNotice) => void;
  /** Called before each request, retries included. If it throws, the request is not sent. */
  onRequest?: () => void;
  /** Called before each authenticated request that can change data. */
  onWrite?: (() => void) | undefined;
  /** Priority of the requests. Interactive by default. */
  lane?: Lane | undefined;
  /** Logs each request and response. The receiver must redact secrets. */
  trace?: ((line: string) => void) | undefined;
};

const maxReadAttempts = 4;
const maxRedirects = 3;
/** Minimum delay after a 429, which avoids a hot retry loop if the service requests no delay. */
const minRetryDelayMs = 1_000;
const transientStatuses = new Set([500, 502, 503, 504]);
/** Statuses by which a gateway or the service reports an outage. */
const outageStatuses = new Set([502, 503, 504]);

/** HTTP client for all requests. Handles authentication, origin checks, rate limiting, retries, timeouts and errors. */
export class Transport {
  readonly baseUrl: URL;
  readonly #options: TransportOptions;
  readonly #connection: ConnectionState;

  constructor(options: TransportOptions, connection = new ConnectionState(options.clock, options.maxWaitMs)) {
    this.#options = options;
    this.baseUrl = options.baseUrl;
    this.#connection = connection;
  }

  /** Returns a transport that shares the connection state but has another observer, signal or priority. */
  withObserver(observer: Pick<TransportOptions, 'onNotice' | 'onRequest' | 'lane' | 'signal'>): Transport {
    return new Transport({ ...this.#options, ...observer }, this.#connection);
  }

  get rateLimit(): RateLimit | undefined {
    return this.#connection.rateLimit;
  }

  /** State of the rate limiter, which explains why bulk requests might be waiting. */
  get rateLimiterState(): RateLimiterState {
    return this.#connection.rateLimiter.state;
  }

  /** Budget of the current rate limit window, if the service reports it. */
  get budget(): RateLimitBudget | undefined {
    return this.#connection.rateLimiter.budget;
  }

  /** Sets the number of requests per window that bulk work leaves unused. Undefined restores the default. */
  setReserve(requests: number | undefined): void {
    this.#connection.rateLimiter.reserve = requests;
  }

  /** Maps each scope that a request has required to true if the service granted it, or to false after a 403. */
  get scopes(): ReadonlyMap<Scope, boolean> {
    return this.#connection.scopes;
  }

  /** Number of requests sent over the shared connection, retries included. */
  get requestCount(): number {
    return this.#connection.requestCount;
  }

  get clock(): Clock {
    return this.#options.clock;
  }

  /** Sends a request. Throws any response other than 2xx as a MediactlError. */
  async send(call: ApiRequest): Promise<ApiResponse> {
    const response = await this.exchange(call);
    if (response.status >= 200 && response.status < 300) return response;
    throw errorFrom(response, call.purpose);
  }

  /** Sends a request and parses the JSON response, which must be an object or an array. */
  async json(call: ApiRequest): Promise<object> {
    return parseJsonResponse(await this.send(call));
  }

  /** Sends a request and returns the final response, whatever its status, after rate limit waits and retries. */
  async exchange(call: ApiRequest): Promise<ApiResponse> {
    const retry = call.retry ?? (isRead(call.method) ? 'reads' : 'rate-limit');
    for (let attempt = 0; ; attempt++) {
      const isLastAttempt = retry !== 'reads' || attempt + 1 >= maxReadAttempts;
      try {
        const response = await this.#sendOnce(call);
        if (response.status === 429 && retry !== 'none') {
          await this.#waitOutRateLimit(response, call);
          attempt--; // a 429 does not count as an attempt
          continue;
        }
        if (outageStatuses.has(response.status) && this.#isBulk) this.#connection.rateLimiter.onFailure();
        this.#recordScope(call, response);
        if (isLastAttempt || !transientStatuses.has(response.status)) return response;
        await this.waitBeforeRetry(attempt, errorFrom(response, call.purpose), call.signal);
      } catch (error) {
        if (this.#connection.closeController.signal.aborted) throw error;
        if (!(error instanceof MediactlError) || !error.explanation.retryable) throw error;
        if (this.#isBulk && this.#connection.hasConnected) {
          const isWorthWaiting = this.#connection.rateLimiter.onFailure();
          if (isWorthWaiting && wasNotSent(error)) {
            attempt--; // the request was not sent
            continue;
          }
        }
        if (isLastAttempt) throw error;
        // If the service was never reached, fail at once, because a retry would only delay the error. Otherwise the
        // service is expected to come back.
        if (error.explanation.code === 'refused' && !this.#connection.hasConnected) throw error;
        await this.waitBeforeRetry(attempt, error, call.signal);
      }
    }
  }

  /**
   * Sleeps for the delay that the response requested, or else by exponential backoff.
   *
   * @throws `failure` if the wait would exceed --max-wait
   */
  async waitBeforeRetry(attempt: number, failure: MediactlError, signal?: AbortSignal) {
    const { retryAfterSeconds } = failure.explanation;
    const delayMs = retryAfterSeconds ? retryAfterSeconds * 1000 : backoff(attempt, {}, this.clock);
    if (!this.#connection.waitBudget.trySpend(delayMs)) throw failure;
    await this.#wait(delayMs, signal, {
      kind: 'retrying',
      untilMs: this.clock.now() + delayMs,
      reason: failure.message,
    });
  }

  async #waitOutRateLimit(response: ApiResponse, call: ApiRequest): Promise<void> {
    const requestedWaitMs = retryAfterMs(response.headers, response.receivedAt) ?? 60_000;
    const delayMs = Math.max(requestedWaitMs, minRetryDelayMs);
    this.#connection.rateLimiter.pauseUntil(this.clock.now() + delayMs);
    if (this.#isBulk) return; // the rate limiter waits, for as long as it takes
    if (!this.#connection.waitBudget.trySpend(delayMs))
      throw errorFrom(response, call.purpose).with({
        reason: `the service asks to wait ${Math.ceil(delayMs / 1000)} s, which would pass --max-wait`,
        retryAfterSeconds: Math.ceil(delayMs / 1000),
      });
    await this.#wait(delayMs, call.signal, {
      kind: 'rate-limited',
      untilMs: this.clock.now() + delayMs,
    });
  }

  #recordScope({ purpose }: ApiRequest, { status }: ApiResponse): void {
    const isAnswered = status === 403 || (status >= 200 && status < 300);
    if (purpose.scope && isAnswered) this.#connection.scopes.set(purpose.scope, status !== 403);
  }

  get #isBulk(): boolean {
    return (this.#options.lane ?? 'interactive') !== 'interactive';
  }

  async #wait(delayMs: number, signal: AbortSignal | undefined, notice: TransportNotice) {
    this.#options.onNotice?.(notice);
    const interruption = signal ?? this.#options.signal ?? this.#connection.closeController.signal;
    await this.clock.sleep(delayMs, AbortSignal.any([interruption, this.#connection.closeController.signal]));
    this.#options.onNotice?.({ kind: 'resumed' });
  }

  async #sendOnce(original: ApiRequest): Promise<ApiResponse> {
    let call = original;
    let url = new URL(call.url, this.baseUrl);
    for (const [name, value] of Object.entries(call.query ?? {}))
      if (value !== undefined) url.searchParams.set(name, String(value));
    for (let hops = 0; ; hops++) {
      const response = await this.#fetch(call, url);
      const location = response.headers.location;
      // Never follow the redirect of a write. Follow the redirect of an authenticated read only within its origin,
      // because the API key belongs to one service (§5).
      if (response.status < 300 || response.status >= 400 || !location || !isRead(call.method)) return response;
      if (!URL.canParse(location, url.href)) return response;
      const target = new URL(location, url);
      if (!/^https?:$/.test(target.protocol)) return response;
      if (call.mayFollowRedirect?.(target) === false) return response;
      // Without an API key nothing can leak, so signed media can redirect to a CDN.
      if (target.origin !== url.origin && call.authenticate !== false) throw foreignOrigin(`a redirect`, target);
      if (hops >= maxRedirects) return response;
      // Do not send the credentials for one host to another host.
      if (target.origin !== url.origin) call = withoutAuthorization(call);
      url = target;
    }
  }

  async #fetch(call: ApiRequest, url: URL): Promise<ApiResponse> {
    const { trace, userAgent, apiKey } = this.#options;
    const headers: Record<string, string> = { 'user-agent': userAgent, ...call.headers };
    // "POST /playback/info/ — no API key" (§4), for every caller.
    const isKeyless = call.authenticate === false || url.pathname === paths.playbackInfo();
    if (apiKey && !isKeyless && url.origin === this.baseUrl.origin) headers.authorization = `Bearer ${apiKey}`;
    const interruption = call.signal ?? this.#options.signal;
    if (headers.authorization) {
      await this.#connection.rateLimiter.acquire(
        this.#options.lane ?? 'interactive',
        interruption ?? this.#connection.closeController.signal,
        (wait) => this.#options.onNotice?.(noticeOf(wait)),
      );
    }
    if (headers.authorization && !isRead(call.method)) this.#options.onWrite?.();
    let isReported = !headers.authorization;
    const idleTimeoutMs = call.idleTimeoutMs ?? this.#options.requestTimeoutMs;
    const deadline = new ResponseDeadline(idleTimeoutMs, url.origin);
    let body: string | Uint8Array | AsyncIterable<Uint8Array> | null = null;
    if (call.json !== undefined) {
      headers['content-type'] ??= 'application/json';
      body = toJson(call.json);
    } else if (call.body) {
      headers['content-length'] = String(call.body.lengthBytes);
      body = call.body.open();
    }
    if (body === null || typeof body === 'string' || body instanceof Uint8Array) deadline.start();
    else body = notifyWhenSent(body, () => deadline.start());
    const startedAt = this.clock.now();
    trace?.(`> ${call.method} ${url.href}${headerLines(headers)}`);
    let isSent = false;
    let hasSinkFailed = false;
    try {
      this.#options.onRequest?.();
      this.#connection.requestCount++;
      isSent = true;
      const isOwn = isSameHost(url, this.baseUrl);
      const { request } = await (call.isPublic && !isOwn ? this.#openPublic(url) : this.#open());
      const answer = await request({
        origin: url.origin,
        path: url.pathname + url.search,
        method: call.method as Dispatcher.HttpMethod,
        headers,
        body: body as Dispatcher.RequestOptions['body'], // undici’s types omit iterables
        signal: interruption ? AbortSignal.any([interruption, deadline.signal]) : deadline.signal,
        // undici restarts both timers at each byte, so they act as idle timeouts.
        headersTimeout: idleTimeoutMs,
        bodyTimeout: idleTimeoutMs,
      });
      this.#connection.hasConnected = true;
      const head = { status: answer.statusCode, headers: normalizeHeaders(answer.headers) };
      const { sink } = call;
      if (sink && head.status < 300) deadline.startStream();
      else deadline.start();
      const bytes =
        sink && head.status < 300
          ? await streamInto(answer.body, (part) => {
              const consumed = sink(part, head).catch((error) => {
                hasSinkFailed = true;
                throw error;
              });
              return deadline.onChunk(part.length, consumed);
            })
          : await readBody(answer.body, call.maxBodyBytes);
      // undici returns a connection to its pool one event loop turn after the response. A request sent before
      // that would open another connection.
      await new Promise((resolve) => setImmediate(resolve));
      const response: ApiResponse = {
        ...head,
        bytes,
        receivedAt: this.clock.now(),
        get text() {
          return new TextDecoder().decode(bytes);
        },
        url,
      };
      const rateLimit = readRateLimit(response.headers, response.receivedAt);
      this.#connection.rateLimit = rateLimit ?? this.#connection.rateLimit;
      const isFromService = !outageStatuses.has(head.status);
      if (!isReported) this.#connection.rateLimiter.onResponse(rateLimit, isFromService);
      isReported = true;
      if (this.#isBulk && isFromService) this.#connection.waitBudget.renew();
      trace?.(
        `< ${response.status} ${url.pathname} ${this.clock.now() - startedAt} ms${headerLines(response.headers)}`,
      );
      return response;
    } catch (error) {
      trace?.(`! ${call.method} ${url.pathname} ${(error as Error).message}`);
      // An error of the sink, or of a request that was not sent, is not a network error.
      if (hasSinkFailed || !isSent) throw error;
      throw deadline.signal.aborted && !interruption?.aborted
        ? deadline.signal.reason
        : networkError(error, url, idleTimeoutMs);
    } finally {
      deadline.clear();
      if (!isReported) this.#connection.rateLimiter.onAbandoned();
    }
  }

  /** Opens the connection pool on first use. Loads undici only then. */
  #open(): Promise<Connections> {
    this.#connection.connections ??= this.#connections();
    return this.#connection.connections;
  }

  async #openPublic(url: URL): Promise<Connections> {
    this.#connection.publicAddresses ??= import('./public-address.ts').then(({ PublicAddresses }) =>
      PublicAddresses.for(this.baseUrl),
    );
    const addresses = await this.#connection.publicAddresses;
    addresses.assertAllowed(url);
    this.#connection.publicConnections ??= this.#connections(addresses.lookup);
    return this.#connection.publicConnections;
  }

  async #connections(lookup?: LookupFunction): Promise<Connections> {
    const { openConnections } = await import('./dispatcher.lazy.ts');
    return openConnections(this.#options.proxy, lookup);
  }

  async close(): Promise<void> {
    const { closeController, connections, publicConnections } = this.#connection;
    closeController.abort();
    for (const each of [connections, publicConnections]) await (await each)?.close();
  }
}

const isSameHost = (url: URL, service: URL) =>
  url.hostname === service.hostname || (service.hostname === 'localhost' && url.hostname === '127.0.0.1');

/** Yields the chunks of a request body, then calls `then` because undici has passed all of them to the socket. */
async function* notifyWhenSent(body: AsyncIterable<Uint8Array>, then: () => void) {
  yield* body;
  then();
}

const noticeOf = (wait: RequestWait | undefined): TransportNotice => {
  if (!wait) return { kind: 'resumed' };
  const { untilMs, reason } = wait;
  return reason === 'rate limit'
    ? { kind: 'rate-limited', untilMs }
    : { kind: 'retrying', untilMs, reason: 'the service cannot be reached' };
};

function withoutAuthorization(call: ApiRequest): ApiRequest {
  const { authorization: _authorization, ...headers } = call.headers ?? {};
  return { ...call, headers };
}

const isRead = (method: string) => method === 'GET' || method === 'HEAD';

const headerLines = (headers: ResponseHeaders) =>
  Object.entries(headers)
    .map(([name, value]) => `\n    ${name}: ${value}`)
    .join('');
