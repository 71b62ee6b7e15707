import { paths } from '../../contract/paths.ts';
import type { Clock } from '../../shared/clock.ts';
import { retryUntil } from '../../shared/retry.ts';
import type { CodedError } from '../errors.ts';
import type { ApiRequest, ReceivedResponse } from './api-request.ts';
import { Connection, type ConnectionOptions } from './connection.ts';
import { errorFrom, failureOfStatus, isRetryable } from './error-response.ts';
import { parseJsonResponse } from './json.ts';
import type { LastLook } from './last-look.ts';
import { foreignOrigin, isRefusal, wasNotSent } from './network-error.ts';
import { clockSkewOf, type ResponseHeaders, readRateLimit } from './rate-limit-headers.ts';
import type { Lane, TransportNotice } from './rate-limiter.ts';
import { sendRequest } from './send-request.ts';

export type TransportOptions = ConnectionOptions & {
  apiKey?: string | undefined;
  userAgent: string;
  /** Idle timeout of requests that do not set their own. */
  requestTimeoutMs: number;
  signal?: AbortSignal | undefined;
  onNotice?: (notice: TransportNotice) => void;
  /** Called before each request, retries included. If it throws, the request is not sent. */
  onRequest?: () => void;
  /** Called before each authenticated request that can change data. */
  onWrite?: (() => void) | undefined;
  /** Priority of the requests. Interactive by default. */
  lane?: Lane | undefined;
  /** The read that the writes of this transport depend on. */
  look?: LastLook | undefined;
  /** Logs each request and response. The receiver must redact secrets. */
  trace?: ((line: string) => void) | undefined;
};

/** Returns true for a text that can be sent as an API key: printable ASCII characters, without spaces. */
export const isApiKey = (text: string) => /^[\x21-\x7e]+$/.test(text);

const maxReadAttempts = 4;
const maxRedirects = 3;

/** HTTP client for all requests. Handles authentication, origin checks, rate limiting, retries, timeouts and errors. */
export class Transport {
  readonly baseUrl: URL;
  readonly connection: Connection;
  readonly #options: TransportOptions;

  constructor(options: TransportOptions, connection = new Connection(options)) {
    this.#options = options;
    this.baseUrl = options.baseUrl;
    this.connection = connection;
  }

  /** Returns a transport that shares the connection but has another observer, signal, priority or last look. */
  withObserver(observer: Pick<TransportOptions, 'onNotice' | 'onRequest' | 'lane' | 'signal' | 'look'>): Transport {
    return new Transport({ ...this.#options, ...observer }, this.connection);
  }

  get clock(): Clock {
    return this.#options.clock;
  }

  /** Sends a request. Throws any response other than 2xx as a CodedError. */
  async send(call: ApiRequest): Promise<ReceivedResponse> {
    const response = await this.exchange(call);
    if (isSuccess(response.status)) return response;
    throw errorFrom(response, call.purpose);
  }

  /** Sends a request and parses the JSON response, which must be an object or an array. */
  async json(call: ApiRequest): Promise<object> {
    return parseJsonResponse(await this.send(call));
  }

  /** Sends a request and returns the final response, whatever its status, after rate limit waits and retries. */
  async exchange(call: ApiRequest): Promise<ReceivedResponse> {
    const retry = call.retry ?? (isRead(call.method) ? 'reads' : 'rate-limit');
    const maxAttempts = retry === 'reads' ? maxReadAttempts : 1;
    const { rateLimiter } = this.connection;
    /** Number of failed attempts. A 429 and a request that was not sent do not count. */
    let failures = 0;
    const attempt = async () => {
      const response = await this.#sendOnce(call);
      const { status } = response;
      if (status === 429 && retry !== 'none') throw errorFrom(response, call.purpose);
      const failure = failureOfStatus(status);
      if (failure === 'outage' && this.#isBulk) rateLimiter.onFailure();
      if (failure && failures + 1 < maxAttempts) throw errorFrom(response, call.purpose);
      return response;
    };
    const delayAfter = (error: CodedError) => {
      if (error.explanation.status === 429) return rateLimiter.delayAfter429(error, this.#lane);
      if (this.#isBulk && this.connection.hasConnected && error.explanation.status === undefined) {
        if (rateLimiter.onFailure() && wasNotSent(error)) return 0; // the rate limiter waits
      }
      // If the service was never reached, fail at once, because a retry would only delay the error. Otherwise the
      // service is expected to come back.
      const isAbsent = isRefusal(error) && !this.connection.hasConnected;
      return ++failures < maxAttempts && !isAbsent ? rateLimiter.retryDelayMs(failures - 1, error) : undefined;
    };
    return retryUntil(undefined, attempt, {
      delayAfter: async (error) => {
        if (this.connection.closeController.signal.aborted || !isRetryable(error)) return undefined;
        const delayMs = delayAfter(error);
        if (delayMs !== undefined) await this.#wait(delayMs, error, call.signal);
        return delayMs && 0; // it has waited
      },
    });
  }

  /** Waits before a retry, for a caller that yields between attempts. @throws `failure` if it cannot wait that long */
  async waitBeforeRetry(failuresBefore: number, failure: CodedError, signal?: AbortSignal): Promise<void> {
    const delayMs = this.connection.rateLimiter.retryDelayMs(failuresBefore, failure);
    if (delayMs === undefined) throw failure;
    await this.#wait(delayMs, failure, signal);
  }

  /** Waits during an outage. @throws `failure` once the outage is longer than it may be */
  async waitOutOutage(failuresBefore: number, failure: CodedError, signal?: AbortSignal): Promise<void> {
    if (!this.connection.rateLimiter.onFailure()) throw failure;
    await this.waitBeforeRetry(failuresBefore, failure, signal);
  }

  get #lane(): Lane {
    return this.#options.lane ?? 'interactive';
  }

  get #isBulk(): boolean {
    return this.#lane !== 'interactive';
  }

  /** Sleeps after a failure, and tells the observer so. */
  async #wait(delayMs: number, { message, explanation }: CodedError, signal: AbortSignal | undefined) {
    if (delayMs === 0) return;
    const untilMs = this.clock.now() + delayMs;
    this.#options.onNotice?.(
      explanation.status === 429 ? { kind: 'rate-limited', untilMs } : { kind: 'retrying', untilMs, reason: message },
    );
    await this.sleep(delayMs, signal);
    this.#options.onNotice?.({ kind: 'resumed' });
  }

  /** Sleeps until `delayMs` are over. @throws the abort reason of the signal, by default that of this transport */
  async sleep(delayMs: number, signal = this.#options.signal): Promise<void> {
    this.#options.look?.beforeWait();
    const closed = this.connection.closeController.signal;
    await this.clock.sleep(delayMs, AbortSignal.any([signal ?? closed, closed]));
  }

  async #sendOnce(original: ApiRequest): Promise<ReceivedResponse> {
    let call = original;
    let url = new URL(call.url, this.baseUrl);
    for (const [name, value] of Object.entries(call.query ?? {}))
      if (value !== undefined) url.searchParams.set(name, String(value));
    for (let hops = 0; ; hops++) {
      const response = await this.#sendLimited(call, url);
      const location = response.headers.location;
      // Never follow the redirect of a write. Follow the redirect of an authenticated read only within its origin,
      // because the API key belongs to one service (§5).
      if (response.status < 300 || response.status >= 400 || !location || !isRead(call.method)) return response;
      if (!URL.canParse(location, url.href)) return response;
      const target = new URL(location, url);
      if (!/^https?:$/.test(target.protocol)) return response;
      if (call.mayFollowRedirect?.(target) === false) return response;
      // Without an API key nothing can leak, so signed media can redirect to a CDN.
      if (target.origin !== url.origin && call.authenticate !== false) throw foreignOrigin(target);
      if (hops >= maxRedirects) return response;
      // Do not send the credentials for one host to another host.
      if (target.origin !== url.origin) call = withoutAuthorization(call);
      url = target;
    }
  }

  /** Sends a request once the rate limiter allows it, and passes what the response reports to the limiter. */
  async #sendLimited(call: ApiRequest, url: URL): Promise<ReceivedResponse> {
    const { requestTimeoutMs, trace, onNotice, onRequest, onWrite, look } = this.#options;
    const { rateLimiter, closeController } = this.connection;
    const headers = this.#headersOf(call, url);
    const isCounted = headers.authorization !== undefined;
    const signal = call.signal ?? this.#options.signal;
    const waiting = { onNotice: (notice: TransportNotice) => onNotice?.(notice), beforeWait: () => look?.beforeWait() };
    if (isCounted) await rateLimiter.acquire(this.#lane, signal ?? closeController.signal, waiting);
    const startedAt = this.clock.now();
    let response: ReceivedResponse;
    try {
      if (isCounted && !isRead(call.method)) {
        look?.assertCurrent();
        onWrite?.();
      }
      trace?.(`> ${call.method} ${url.href}${headerLines(headers)}`);
      onRequest?.();
      const idleTimeoutMs = call.idleTimeoutMs ?? requestTimeoutMs;
      response = await sendRequest(this.connection, { call, url, headers, idleTimeoutMs, signal, clock: this.clock });
    } catch (error) {
      trace?.(`! ${call.method} ${url.pathname} ${(error as Error).message}`);
      if (isCounted) rateLimiter.onAbandoned();
      throw error;
    }
    const rateLimit = readRateLimit(response.headers, response.receivedAt);
    this.connection.rateLimit = rateLimit ?? this.connection.rateLimit;
    if (isCounted) this.connection.clockSkewMs = clockSkewOf(response.headers, response.receivedAt) ?? 0;
    const isFromService = failureOfStatus(response.status) !== 'outage';
    if (isCounted) rateLimiter.onResponse(rateLimit, isFromService);
    if (this.#isBulk && isFromService) rateLimiter.renewWaitBudget();
    const duration = this.clock.now() - startedAt;
    trace?.(`< ${response.status} ${url.pathname} ${duration} ms${headerLines(response.headers)}`);
    look?.onResponse(url, headers, response);
    return response;
  }

  #headersOf(call: ApiRequest, url: URL): Record<string, string> {
    const { userAgent, apiKey } = this.#options;
    // "POST /playback/info/ — no API key" (§4), for every caller.
    const isKeyless = call.authenticate === false || url.pathname === paths.playbackInfo();
    const isAuthenticated = apiKey && !isKeyless && url.origin === this.baseUrl.origin;
    return {
      'user-agent': userAgent,
      ...call.headers,
      ...this.#options.look?.precondition(call.method, url),
      ...(call.json !== undefined && { 'content-type': call.headers?.['content-type'] ?? 'application/json' }),
      ...(call.body && { 'content-length': String(call.body.lengthBytes) }),
      ...(isAuthenticated && { authorization: `Bearer ${apiKey}` }),
    };
  }

  close(): Promise<void> {
    return this.connection.close();
  }
}

function withoutAuthorization(call: ApiRequest): ApiRequest {
  const { authorization: _authorization, ...headers } = call.headers ?? {};
  return { ...call, headers };
}

const isSuccess = (status: number) => status >= 200 && status < 300;

const isRead = (method: string) => method === 'GET' || method === 'HEAD';

const headerLines = (headers: ResponseHeaders) =>
  Object.entries(headers)
    .map(([name, value]) => `\n    ${name}: ${value}`)
    .join('');
