import type { Clock } from '../clock.ts';
import { exitCodes, MediactlError } from '../errors.ts';
import type { RateLimit } from './rate-limit-headers.ts';

/**
 * Priority of a request. `interactive` passes at once, since the user is waiting. `bulk` work leaves a reserve
 * of each window to interactive commands. `background` polling, next to bulk work, is limited to a small share
 * of each window.
 */
export type Lane = 'interactive' | 'bulk' | 'background';

/** The reset time has a resolution of one second: wait 300 ms longer. */
const resetSlackMs = 300;
/** Without a known window one probe request is sent at a time. After this timeout another one may be sent. */
const probeTimeoutMs = 2_000;
/** Longest plausible window. A longer one means a wrong clock. */
const maxWindowMs = 24 * 3600_000;
const backgroundShare = 0.05;
const minPauseMs = 250;
const maxPauseMs = 30_000;

/** Minimum reserve for interactive commands: the larger of this and `reserveShare`, at most half of a window. */
const minReserve = 10;
const reserveShare = 0.05;

/** Shorter waits are not reported. */
const minReportedWaitMs = 1_000;

export type RequestWait = { untilMs: number; reason: 'rate limit' | 'outage' };

export type RateLimiterState = 'unreachable' | 'waiting' | 'open';

/** Rate limit budget as reported by the service, for display. */
export type RateLimitBudget = { limit: number; left: number; resetAt: number };

/**
 * Client-side rate limiter that follows the service's own count: it allows as many requests as the lowest
 * `X-RateLimit-Remaining` seen in this window (§8), less a reserve. Other processes and machines show in that
 * number, so nothing needs to be shared between them. During an outage it acts as a circuit breaker: it opens,
 * and lets through one half-open probe at a time with exponential backoff.
 */
export class ClientRateLimiter {
  readonly #clock: Clock;
  /** Requests of each window that bulk work leaves unused. Undefined for the larger of 10 and 5 %. */
  reserve: number | undefined;
  readonly #maxOutageMs: number;
  #window: (RateLimit & { looked: number }) | undefined;
  /** False after a response without rate limit headers: no probe is needed then. */
  #hasRateLimitHeaders = true;
  /** Requests per window, as last reported by the service. */
  #limit: number | undefined;
  #inFlight = 0;
  #probedAt = Number.NEGATIVE_INFINITY;
  #outage: { since: number; tries: number; until: number } | undefined;
  readonly #waiters = new Set<() => void>();

  /** @param maxOutageMs maximum outage to wait for, in milliseconds */
  constructor(clock: Clock, maxOutageMs: number) {
    this.#clock = clock;
    this.#maxOutageMs = maxOutageMs;
  }

  /** `unreachable`: the service did not respond when last tried. `waiting`: requests are waiting for the rate limit. */
  get state(): RateLimiterState {
    if (this.#outage) return 'unreachable';
    return this.#waiters.size > 0 ? 'waiting' : 'open';
  }

  /** Budget of the current window, as far as this process can determine it. */
  get budget(): RateLimitBudget | undefined {
    const window = this.#currentWindow();
    return window && { limit: window.limit, left: window.remaining, resetAt: window.resetAt };
  }

  /**
   * Waits until a request may be sent. The caller must then call `onResponse` or `onAbandoned`.
   *
   * @param onWait called when a reportable wait begins, and without an argument when it is over
   * @throws the abort reason of the signal
   */
  async acquire(
    lane: Lane,
    signal: AbortSignal,
    onWait: (wait?: RequestWait) => void,
  ): Promise<void> {
    let reportedUntilMs = 0;
    for (;;) {
      signal.throwIfAborted();
      this.#assertReserve(lane);
      const untilMs = this.#blockedUntil(lane);
      if (untilMs === undefined) break;
      // Waiting for the first response, which reports the limit, is not a rate limit wait.
      const isKnown = this.#outage !== undefined || this.#currentWindow() !== undefined;
      if (
        isKnown &&
        untilMs > reportedUntilMs &&
        untilMs - this.#clock.now() >= minReportedWaitMs
      ) {
        reportedUntilMs = untilMs;
        onWait({ untilMs, reason: this.#outage ? 'outage' : 'rate limit' });
      }
      await this.#waitForChange(untilMs, signal);
    }
    if (reportedUntilMs > 0) onWait();
    this.#inFlight++;
    if (this.#outage || !this.#currentWindow()) this.#probedAt = this.#clock.now();
    else if (lane === 'background' && this.#window) this.#window.looked++;
  }

  /**
   * Records a response.
   *
   * @param rateLimit remaining budget according to the response, in local time
   * @param isFromService false if a gateway responded that cannot reach the service
   */
  onResponse(rateLimit: RateLimit | undefined, isFromService: boolean): void {
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
      this.#window = { ...rateLimit, looked: 0 };
    } else if (rateLimit.resetAt >= current.resetAt - 1_000) {
      current.remaining = Math.min(current.remaining, rateLimit.remaining);
    }
    this.#wake();
  }

  /** Blocks all requests until a time, after a 429. */
  pauseUntil(untilMs: number): void {
    const limit = this.#window?.limit ?? 1;
    this.#hasRateLimitHeaders = true;
    this.#window = { limit, remaining: 0, resetAt: untilMs, looked: 0 };
    this.#wake();
  }

  /** Records that a request ended without a response. */
  onAbandoned(): void {
    this.#inFlight--;
    this.#wake();
  }

  /**
   * Records that the service is unreachable, and schedules the next probe with exponential backoff and jitter.
   *
   * @returns true if the outage is short enough to keep waiting
   */
  onFailure(): boolean {
    const now = this.#clock.now();
    this.#probedAt = Number.NEGATIVE_INFINITY;
    const { since, tries } = this.#outage ?? { since: now, tries: 0 };
    const maxPause = Math.min(maxPauseMs, minPauseMs * 2 ** tries);
    const until = now + maxPause * (0.5 + this.#clock.random() / 2);
    // All concurrent requests fail together: count them as one attempt.
    if (!this.#outage || now >= this.#outage.until)
      this.#outage = { since, tries: tries + 1, until };
    this.#wake();
    return until - since <= this.#maxOutageMs;
  }

  #currentWindow() {
    const leftMs = this.#window ? this.#window.resetAt + resetSlackMs - this.#clock.now() : 0;
    // A reset time too far in the future means that a clock is wrong, here or there.
    if (leftMs <= 0 || leftMs > maxWindowMs) this.#window = undefined;
    return this.#window;
  }

  /** Returns the time until which a lane is blocked, or undefined if it may send. */
  #blockedUntil(lane: Lane): number | undefined {
    const now = this.#clock.now();
    const isProbing = now - this.#probedAt < probeTimeoutMs;
    if (lane === 'interactive') return undefined;
    if (this.#outage) {
      if (now < this.#outage.until) return this.#outage.until;
      return isProbing ? this.#probedAt + probeTimeoutMs : undefined;
    }
    const window = this.#currentWindow();
    if (!window)
      return this.#hasRateLimitHeaders && isProbing ? this.#probedAt + probeTimeoutMs : undefined;
    const end = window.resetAt + resetSlackMs;
    if (lane === 'background' && window.looked >= Math.max(1, window.limit * backgroundShare))
      return end;
    return this.#inFlight < window.remaining - this.#reserveOf(window) ? undefined : end;
  }

  /** Asserts that the reserve leaves requests for bulk work. @throws MediactlError `reserve` */
  #assertReserve(lane: Lane): void {
    const { reserve } = this;
    if (lane === 'interactive' || reserve === undefined || !this.#limit || reserve < this.#limit)
      return;
    throw new MediactlError(
      `--reserve ${reserve} leaves nothing of the ${this.#limit} requests of a window`,
      { code: 'reserve', exitCode: exitCodes.usage, hint: 'a smaller --reserve' },
    );
  }

  #reserveOf({ limit }: RateLimit): number {
    const defaultReserve = Math.max(minReserve, Math.ceil(limit * reserveShare));
    return this.reserve ?? Math.min(defaultReserve, Math.floor(limit / 2), limit - 1);
  }

  /** Sleeps until a time, or until the state changes. */
  async #waitForChange(untilMs: number, signal: AbortSignal): Promise<void> {
    const woken = new AbortController();
    const wake = () => woken.abort();
    this.#waiters.add(wake);
    try {
      const delayMs = Math.max(1, untilMs - this.#clock.now());
      await this.#clock.sleep(delayMs, AbortSignal.any([signal, woken.signal]));
    } catch (error) {
      signal.throwIfAborted();
      if (!woken.signal.aborted) throw error;
    } finally {
      this.#waiters.delete(wake);
    }
  }

  #wake(): void {
    for (const wake of this.#waiters) wake();
  }
}
