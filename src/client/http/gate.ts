import type { Clock } from '../clock.ts';
import { exitCodes, MediactlError } from '../errors.ts';
import type { RateLimit } from './rate-limit.ts';

/**
 * Priority of a request. `interactive` passes at once, since the user is waiting. `bulk` work leaves a reserve
 * of each window to interactive commands. `background` polling, next to bulk work, is limited to a small share
 * of each window.
 */
export type Lane = 'person' | 'bulk' | 'looking';

/** The reset time has a resolution of one second: wait 300 ms longer. */
const slackMs = 300;
/** Without a known window one probe request is sent at a time. After this timeout another one may be sent. */
const patienceMs = 2_000;
/** Longest plausible window. A longer one means a wrong clock. */
const longestWindowMs = 24 * 3600_000;
const lookingShare = 0.05;
const firstPauseMs = 250;
const longestPauseMs = 30_000;

/** Minimum reserve for interactive commands: the larger of this and `reserveShare`, at most half of a window. */
const leastReserve = 10;
const reserveShare = 0.05;

/** Shorter waits are not reported. */
const worthTellingMs = 1_000;

export type Wait = { untilMs: number; why: 'rate limit' | 'outage' };

export type GateState = 'away' | 'shut' | 'open';

/** Rate limit budget as reported by the service, for display. */
export type Budget = { limit: number; left: number; resetAt: number };

/**
 * Client-side rate limiter that follows the service's own count: it allows as many requests as the lowest
 * `X-RateLimit-Remaining` seen in this window (§8), less a reserve. Other processes and machines show in that
 * number, so nothing needs to be shared between them. During an outage it acts as a circuit breaker: it opens,
 * and lets through one half-open probe at a time with exponential backoff.
 */
export class Gate {
  readonly #clock: Clock;
  /** Requests of each window that bulk work leaves unused. Undefined for the larger of 10 and 5 %. */
  reserve: number | undefined;
  readonly #maxOutageMs: number;
  #window: (RateLimit & { looked: number }) | undefined;
  /** False after a response without rate limit headers: no probe is needed then. */
  #tells = true;
  /** Requests per window, as last reported by the service. */
  #limit: number | undefined;
  #underWay = 0;
  #askedAt = Number.NEGATIVE_INFINITY;
  #outage: { since: number; tries: number; until: number } | undefined;
  readonly #waiting = new Set<() => void>();

  /** @param maxOutageMs maximum outage to wait for, in milliseconds */
  constructor(clock: Clock, maxOutageMs: number) {
    this.#clock = clock;
    this.#maxOutageMs = maxOutageMs;
  }

  /** `unreachable`: the service did not respond when last tried. `waiting`: requests are waiting for the rate limit. */
  get state(): GateState {
    if (this.#outage) return 'away';
    return this.#waiting.size > 0 ? 'shut' : 'open';
  }

  /** Budget of the current window, as far as this process can determine it. */
  get budget(): Budget | undefined {
    const window = this.#current();
    return window && { limit: window.limit, left: window.remaining, resetAt: window.resetAt };
  }

  /**
   * Waits until a request may be sent. The caller must then call `onResponse` or `onAbandoned`.
   *
   * @param onWait called when a reportable wait begins, and without an argument when it is over
   * @throws the abort reason of the signal
   */
  async enter(lane: Lane, signal: AbortSignal, onWait: (wait?: Wait) => void): Promise<void> {
    let saidUntil = 0;
    for (;;) {
      signal.throwIfAborted();
      this.#assertReserve(lane);
      const untilMs = this.#closedUntil(lane);
      if (untilMs === undefined) break;
      // Waiting for the first response, which reports the limit, is not a rate limit wait.
      const isKnown = this.#outage !== undefined || this.#current() !== undefined;
      if (isKnown && untilMs > saidUntil && untilMs - this.#clock.now() >= worthTellingMs) {
        saidUntil = untilMs;
        onWait({ untilMs, why: this.#outage ? 'outage' : 'rate limit' });
      }
      await this.#change(untilMs, signal);
    }
    if (saidUntil > 0) onWait();
    this.#underWay++;
    if (this.#outage || !this.#current()) this.#askedAt = this.#clock.now();
    else if (lane === 'looking' && this.#window) this.#window.looked++;
  }

  /**
   * Records a response.
   *
   * @param rateLimit remaining budget according to the response, in local time
   * @param isFromService false if a gateway responded that cannot reach the service
   */
  told(rateLimit: RateLimit | undefined, isItself: boolean): void {
    this.#underWay--;
    if (isItself) this.#outage = undefined;
    this.#askedAt = Number.NEGATIVE_INFINITY;
    const known = this.#current();
    this.#limit = rateLimit?.limit ?? this.#limit;
    if (!rateLimit) {
      if (known) known.remaining--;
      else this.#tells = false;
    } else if (!known || rateLimit.resetAt > known.resetAt + 1_000) {
      this.#tells = true;
      this.#window = { ...rateLimit, looked: 0 };
    } else if (rateLimit.resetAt >= known.resetAt - 1_000) {
      known.remaining = Math.min(known.remaining, rateLimit.remaining);
    }
    this.#wake();
  }

  /** Blocks all requests until a time, after a 429. */
  closed(untilMs: number): void {
    const limit = this.#window?.limit ?? 1;
    this.#tells = true;
    this.#window = { limit, remaining: 0, resetAt: untilMs, looked: 0 };
    this.#wake();
  }

  /** Records that a request ended without a response. */
  gone(): void {
    this.#underWay--;
    this.#wake();
  }

  /**
   * Records that the service is unreachable, and schedules the next probe with exponential backoff and jitter.
   *
   * @returns true if the outage is short enough to keep waiting
   */
  failed(): boolean {
    const now = this.#clock.now();
    this.#askedAt = Number.NEGATIVE_INFINITY;
    const { since, tries } = this.#outage ?? { since: now, tries: 0 };
    const longest = Math.min(longestPauseMs, firstPauseMs * 2 ** tries);
    const until = now + longest * (0.5 + this.#clock.random() / 2);
    // All concurrent requests fail together: count them as one attempt.
    if (!this.#outage || now >= this.#outage.until)
      this.#outage = { since, tries: tries + 1, until };
    this.#wake();
    return until - since <= this.#maxOutageMs;
  }

  #current() {
    const leftMs = this.#window ? this.#window.resetAt + slackMs - this.#clock.now() : 0;
    // A reset time too far in the future means that a clock is wrong, here or there.
    if (leftMs <= 0 || leftMs > longestWindowMs) this.#window = undefined;
    return this.#window;
  }

  /** Returns the time until which a lane is blocked, or undefined if it may send. */
  #closedUntil(lane: Lane): number | undefined {
    const now = this.#clock.now();
    const isAsking = now - this.#askedAt < patienceMs;
    if (lane === 'person') return undefined;
    if (this.#outage) {
      if (now < this.#outage.until) return this.#outage.until;
      return isAsking ? this.#askedAt + patienceMs : undefined;
    }
    const window = this.#current();
    if (!window) return this.#tells && isAsking ? this.#askedAt + patienceMs : undefined;
    const end = window.resetAt + slackMs;
    if (lane === 'looking' && window.looked >= Math.max(1, window.limit * lookingShare)) return end;
    return this.#underWay < window.remaining - this.#reserveOf(window) ? undefined : end;
  }

  /** Asserts that the reserve leaves requests for bulk work. @throws MediactlError `reserve` */
  #assertReserve(lane: Lane): void {
    const { reserve } = this;
    if (lane === 'person' || reserve === undefined || !this.#limit || reserve < this.#limit) return;
    throw new MediactlError(
      `--reserve ${reserve} leaves nothing of the ${this.#limit} requests of a window`,
      { code: 'reserve', exitCode: exitCodes.usage, hint: 'a smaller --reserve' },
    );
  }

  #reserveOf({ limit }: RateLimit): number {
    const usual = Math.max(leastReserve, Math.ceil(limit * reserveShare));
    return this.reserve ?? Math.min(usual, Math.floor(limit / 2), limit - 1);
  }

  /** Sleeps until a time, or until the state changes. */
  async #change(untilMs: number, signal: AbortSignal): Promise<void> {
    const over = new AbortController();
    const wake = () => over.abort();
    this.#waiting.add(wake);
    try {
      const delayMs = Math.max(1, untilMs - this.#clock.now());
      await this.#clock.sleep(delayMs, AbortSignal.any([signal, over.signal]));
    } catch (error) {
      signal.throwIfAborted();
      if (!over.signal.aborted) throw error;
    } finally {
      this.#waiting.delete(wake);
    }
  }

  #wake(): void {
    for (const wake of this.#waiting) wake();
  }
}
