import type { Clock } from '../../shared/clock.ts';
import { backoff, pollUntil } from '../../shared/retry.ts';
import { CodedError } from '../errors.ts';
import type { RateWindow } from './rate-limit-headers.ts';

/**
 * Priority of a request. `interactive` requests are sent at once, because the user is waiting. `bulk` requests
 * leave a reserve of each rate limit window to interactive commands. `background` requests, which poll during bulk
 * work, are limited to a small share of each window.
 */
export type Lane = 'interactive' | 'bulk' | 'background';

/** Extra wait after a window resets, because the reset time has a resolution of one second. */
const resetSlackMs = 300;
/** Time after which a probe counts as lost. While no rate limit window is known, probes are sent one at a time. */
const probeTimeoutMs = 2_000;
/** Longest plausible rate limit window. A longer window means that a clock is wrong. */
const maxWindowMs = 24 * 3600_000;
const backgroundShare = 0.05;
/** Backoff between the probes of an outage. */
const probeBackoff = { minMs: 250, maxMs: 30_000 };

/** Minimum delay after a 429, which avoids a hot retry loop if the service requests no delay. */
const min429DelayMs = 1_000;
/** Delay after a 429 that names none. */
const default429DelayMs = 60_000;

/** Default reserve for interactive commands: a number of requests, or a share of the limit if that is more. */
export const minReserve = 10;
export const reserveShare = 0.05;

/** Shortest wait that is reported to the user. */
const minReportedWaitMs = 1_000;

/**
 * Notice that requests wait or have resumed, for the user. `untilMs` is in milliseconds since the epoch. `kept` are the
 * requests that remain, if the client's own reserve and not the service makes it wait.
 */
export type TransportNotice =
  | { kind: 'rate-limited'; untilMs: number; kept?: { left: number; limit: number } }
  | { kind: 'retrying'; untilMs: number; reason: string }
  | { kind: 'resumed' };

/** `unreachable` in an outage, `waiting` while the rate limit delays requests, else `open`. */
export type RateLimiterState = 'unreachable' | 'waiting' | 'open';

/** Requests left in the current rate limit window, for display. `resetAt` is in milliseconds since the epoch. */
export type RateLimitBudget = { limit: number; left: number; resetAt: number };

/**
 * Decides every wait of a request: for the rate limit, after a 429, in an outage and before a retry.
 *
 * It follows the count of the service. It allows as many concurrent requests as the
 * lowest `X-RateLimit-Remaining` seen in the current window (§8), minus a reserve. The count of the service
 * includes the requests of other processes and machines, so they do not need to share any state. During an outage,
 * the limiter acts as a circuit breaker that opens and lets through one half-open probe at a time, with exponential
 * backoff.
 */
export class ClientRateLimiter {
  readonly #clock: Clock;
  /** Number of requests per window that bulk work leaves unused. Undefined for the default. */
  reserve: number | undefined;
  readonly #maxWaitMs: number;
  /** Maximum total wait of bulk work for the rate limit. */
  readonly #bulkWaits: WaitBudget;
  /** Waits before retries since the last response of bulk work. */
  readonly #retryWaits: WaitBudget;
  #window: (RateWindow & { backgroundRequests: number }) | undefined;
  /** False after a response without rate limit headers, in which case requests need not be sent one at a time as probes. */
  #hasRateLimitHeaders = true;
  /** Requests per window, as last reported by the service. */
  #limit: number | undefined;
  #inFlight = 0;
  #probedAt = Number.NEGATIVE_INFINITY;
  #outage: { since: number; tries: number; until: number } | undefined;
  #waiting = 0;
  /** Aborted and replaced when the state changes, which wakes the requests that wait. */
  #change = new AbortController();

  /**
   * @param maxWaitMs maximum duration of an outage to wait for, and maximum total of the waits before retries
   * @param maxBulkWaitMs maximum total wait of bulk work for the rate limit
   */
  constructor(clock: Clock, maxWaitMs: number, maxBulkWaitMs = Number.POSITIVE_INFINITY) {
    this.#clock = clock;
    this.#maxWaitMs = maxWaitMs;
    this.#retryWaits = new WaitBudget(clock, maxWaitMs);
    this.#bulkWaits = new WaitBudget(clock, maxBulkWaitMs);
  }

  get state(): RateLimiterState {
    if (this.#outage) return 'unreachable';
    return this.#waiting > 0 ? 'waiting' : 'open';
  }

  get budget(): RateLimitBudget | undefined {
    const window = this.#currentWindow();
    return window && { limit: window.limit, left: window.remaining, resetAt: window.resetAt };
  }

  /**
   * Waits until a request can be sent. The caller must then call `onResponse` or `onAbandoned`.
   *
   * @param on `onNotice` is called when a wait of at least one second begins, and when it is over; `beforeWait` before any
   * @throws the signal's reason if the signal aborts, CodedError `reserve_too_large` (exit 2) if the reserve leaves no
   *   requests, or `rate_limited` (exit 9) if bulk work would wait longer than it may
   */
  async acquire(
    lane: Lane,
    signal: AbortSignal,
    { onNotice, beforeWait }: { onNotice(notice: TransportNotice): void; beforeWait?(): void },
  ): Promise<void> {
    let untilMs: number | undefined;
    let reportedUntilMs = 0;
    const tryAcquire = () => {
      this.#assertReserve(lane);
      untilMs = this.#blockedUntil(lane);
      if (untilMs === undefined) return this.#start(lane);
      beforeWait?.();
      // Waiting for the first response, which reports the limit, is not a rate limit wait.
      const isKnown = this.#outage !== undefined || this.#currentWindow() !== undefined;
      if (isKnown && untilMs > reportedUntilMs && untilMs - this.#clock.now() >= minReportedWaitMs) {
        reportedUntilMs = untilMs;
        const outage = { kind: 'retrying', untilMs, reason: 'the service cannot be reached' } as const;
        if (lane === 'bulk' && !this.#outage) this.#spendBulkWait(untilMs);
        onNotice(this.#outage ? outage : { kind: 'rate-limited', untilMs, ...this.#kept() });
      }
      return undefined;
    };
    await pollUntil(signal, tryAcquire, {
      clock: { sleep: (delayMs) => this.#waitForChange(delayMs, signal) },
      intervalMs: () => Math.max(1, (untilMs ?? 0) - this.#clock.now()),
    });
    if (reportedUntilMs > 0) onNotice({ kind: 'resumed' });
  }

  #start(lane: Lane): true {
    this.#inFlight++;
    if (this.#outage || !this.#currentWindow()) this.#probedAt = this.#clock.now();
    else if (lane === 'background' && this.#window) this.#window.backgroundRequests++;
    return true;
  }

  /**
   * @param rateLimit rate limit reported by the response, with its reset time corrected to the local clock
   * @param isFromService false if a gateway responded because it cannot reach the service
   */
  onResponse(rateLimit: RateWindow | undefined, isFromService: boolean): void {
    this.#inFlight--;
    if (isFromService) this.#outage = undefined;
    this.#probedAt = Number.NEGATIVE_INFINITY;
    const current = this.#currentWindow();
    this.#limit = rateLimit?.limit ?? this.#limit;
    if (!rateLimit) {
      if (current) current.remaining--;
      else this.#hasRateLimitHeaders = false;
    } else if (!current || rateLimit.resetAt > current.resetAt + 1_000) {
      this.#hasRateLimitHeaders = true;
      this.#window = { ...rateLimit, backgroundRequests: 0 };
    } else if (rateLimit.resetAt >= current.resetAt - 1_000) {
      current.remaining = Math.min(current.remaining, rateLimit.remaining);
    }
    this.#wake();
  }

  /**
   * Blocks all except interactive requests after a 429, as long as the service asks.
   *
   * @returns the delay before the request is sent again; none if `acquire` makes it wait
   * @throws `error` if an interactive request would exceed the maximum wait
   */
  delayAfter429(error: CodedError, lane: Lane): number {
    const { retryAfterSeconds } = error.explanation;
    const requestedMs = retryAfterSeconds === undefined ? default429DelayMs : retryAfterSeconds * 1000;
    const delayMs = Math.max(requestedMs, min429DelayMs);
    this.#pauseUntil(this.#clock.now() + delayMs);
    if (lane !== 'interactive') return 0;
    if (this.#retryWaits.trySpend(delayMs)) return delayMs;
    throw error.with({
      reason: `the service asks to wait ${Math.ceil(delayMs / 1000)} s, which would exceed the maximum wait`,
      retryAfterSeconds: Math.ceil(delayMs / 1000),
    });
  }

  /** Returns the delay that the service asks for, or else a backoff. Returns undefined if it would exceed the maximum wait. */
  retryDelayMs(failuresBefore: number, { explanation }: CodedError): number | undefined {
    const { retryAfterSeconds } = explanation;
    const delayMs = retryAfterSeconds ? retryAfterSeconds * 1000 : backoff(failuresBefore, {}, this.#clock);
    return this.#retryWaits.trySpend(delayMs) ? delayMs : undefined;
  }

  /** Resets the total wait, so that long-running work can wait for each outage separately. */
  renewWaitBudget(): void {
    this.#retryWaits.renew();
  }

  /** @throws CodedError `rate_limited` (exit 9) if bulk work would wait longer for the rate limit than it may */
  #spendBulkWait(untilMs: number): void {
    const delayMs = untilMs - this.#clock.now();
    if (this.#bulkWaits.trySpend(delayMs)) return;
    const seconds = Math.ceil(delayMs / 1000);
    const { kept } = this.#kept();
    const left = kept ? `; the ${kept.left} of ${kept.limit} requests that remain are kept for other commands` : '';
    throw new CodedError('rate limit reached', {
      code: 'rate_limited',
      reason: `it resets in ${seconds} s, which would exceed the maximum wait${left}`,
      retryable: true,
      retryAfterSeconds: seconds,
    });
  }

  /** Returns the requests of this window that bulk work leaves to others. */
  #kept() {
    const window = this.#currentWindow();
    const left = (window?.remaining ?? 0) - this.#inFlight;
    return window && left > 0 ? { kept: { left, limit: window.limit } } : {};
  }

  #pauseUntil(untilMs: number): void {
    const limit = this.#window?.limit ?? 1;
    this.#hasRateLimitHeaders = true;
    this.#window = { limit, remaining: 0, resetAt: untilMs, backgroundRequests: 0 };
    this.#wake();
  }

  onAbandoned(): void {
    this.#inFlight--;
    this.#wake();
  }

  /** Schedules the next probe of an unreachable service. @returns true if the outage is short enough to keep waiting */
  onFailure(): boolean {
    const now = this.#clock.now();
    this.#probedAt = Number.NEGATIVE_INFINITY;
    const { since, tries } = this.#outage ?? { since: now, tries: 0 };
    const until = now + backoff(tries, probeBackoff, this.#clock);
    // All concurrent requests fail together, so count them as one attempt.
    if (!this.#outage || now >= this.#outage.until) this.#outage = { since, tries: tries + 1, until };
    this.#wake();
    return until - since <= this.#maxWaitMs;
  }

  #currentWindow() {
    const leftMs = this.#window ? this.#window.resetAt + resetSlackMs - this.#clock.now() : 0;
    // A reset time too far in the future means that the local clock or the clock of the service is wrong.
    if (leftMs <= 0 || leftMs > maxWindowMs) this.#window = undefined;
    return this.#window;
  }

  /** Returns the time until which a lane is blocked (milliseconds since the epoch), or undefined if it is not. */
  #blockedUntil(lane: Lane): number | undefined {
    const now = this.#clock.now();
    const isProbing = now - this.#probedAt < probeTimeoutMs;
    if (lane === 'interactive') return undefined;
    if (this.#outage) {
      if (now < this.#outage.until) return this.#outage.until;
      return isProbing ? this.#probedAt + probeTimeoutMs : undefined;
    }
    const window = this.#currentWindow();
    if (!window) return this.#hasRateLimitHeaders && isProbing ? this.#probedAt + probeTimeoutMs : undefined;
    const end = window.resetAt + resetSlackMs;
    if (lane === 'background' && window.backgroundRequests >= Math.max(1, window.limit * backgroundShare)) return end;
    return this.#inFlight < window.remaining - this.#reserveOf(window) ? undefined : end;
  }

  /** Asserts that the reserve leaves requests for bulk work. @throws CodedError `reserve_too_large` (exit 2) if not */
  #assertReserve(lane: Lane): void {
    const { reserve } = this;
    if (lane === 'interactive' || reserve === undefined || !this.#limit || reserve < this.#limit) return;
    const problem = `a reserve of ${reserve} requests allows none: the rate limit is ${this.#limit}`;
    throw new CodedError(problem, { code: 'reserve_too_large' });
  }

  #reserveOf({ limit }: RateWindow): number {
    const defaultReserve = Math.max(minReserve, Math.ceil(limit * reserveShare));
    return this.reserve ?? Math.min(defaultReserve, Math.floor(limit / 2), limit - 1);
  }

  async #waitForChange(delayMs: number, signal: AbortSignal): Promise<void> {
    this.#waiting++;
    // Rejects only if one of the signals aborts.
    await this.#clock.sleep(delayMs, AbortSignal.any([signal, this.#change.signal])).catch(() => {});
    this.#waiting--;
  }

  #wake(): void {
    if (this.#waiting === 0) return;
    this.#change.abort();
    this.#change = new AbortController();
  }
}

/** Total time of waits, of which concurrent ones count once. */
class WaitBudget {
  readonly #clock: Clock;
  readonly #maxMs: number;
  /** Time spent since the budget was renewed, and the end of the latest wait that was counted. */
  #spentMs = 0;
  #waitingUntilMs = 0;

  constructor(clock: Clock, maxMs: number) {
    this.#clock = clock;
    this.#maxMs = maxMs;
  }

  /** Spends the time of a wait. Returns false, and spends nothing, past the maximum. */
  trySpend(delayMs: number): boolean {
    const now = this.#clock.now();
    const beginMs = Math.max(now, this.#waitingUntilMs);
    const addedMs = Math.max(0, now + delayMs - beginMs);
    if (this.#spentMs + addedMs > this.#maxMs) return false;
    this.#spentMs += addedMs;
    this.#waitingUntilMs = beginMs + addedMs;
    return true;
  }

  renew(): void {
    this.#spentMs = 0;
  }
}
