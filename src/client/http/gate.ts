import type { Clock } from '../clock.ts';
import { exitCodes, MediactlError } from '../errors.ts';
import type { RateLimit } from './rate-limit.ts';

/**
 * Who sends a request. What a `person` waits for passes at once; `bulk` work leaves the reserve to
 * people; `looking`, beside bulk work, takes a small share of each window.
 */
export type Lane = 'person' | 'bulk' | 'looking';

/** A window begins by the service's clock, in whole seconds: nobody is early by a moment. */
const slackMs = 300;
/** A window that nobody was told of is asked about by one request; by another one where that hangs. */
const patienceMs = 2_000;
/** No service counts in longer windows: a clock is wrong, or the service is. */
const longestWindowMs = 24 * 3600_000;
const lookingShare = 0.05;
const firstPauseMs = 250;
const longestPauseMs = 30_000;

/** Kept for people: so many requests of a window, or this share of it; at most half. */
const leastReserve = 10;
const reserveShare = 0.05;

/** Shorter waits are nobody's concern. */
const worthTellingMs = 1_000;

export type Wait = { untilMs: number; why: 'rate limit' | 'outage' };

export type GateState = 'away' | 'shut' | 'open';

/** A budget learned from the service, for those who tell people of it. */
export type Budget = { limit: number; left: number; resetAt: number };

/**
 * Lets requests out as the service's own count allows: as many as stay below the least
 * `X-RateLimit-Remaining` of this window (§8) that was seen, less a reserve. Other processes and
 * machines show in that number, so nothing is shared between them. While nobody is there it is shut,
 * and one request at a time finds out.
 */
export class Gate {
  readonly #clock: Clock;
  /** Requests of each window that bulk work leaves; undefined for the larger of 10 and 5 %. */
  reserve: number | undefined;
  readonly #maxOutageMs: number;
  #window: (RateLimit & { looked: number }) | undefined;
  /** False once an answer told nothing: such a service is not asked what is left. */
  #tells = true;
  /** The requests of a window, as the service last told. */
  #limit: number | undefined;
  #underWay = 0;
  #askedAt = Number.NEGATIVE_INFINITY;
  #outage: { since: number; tries: number; until: number } | undefined;
  readonly #waiting = new Set<() => void>();

  /** @param maxOutageMs for how long an outage is waited out */
  constructor(clock: Clock, maxOutageMs: number) {
    this.#clock = clock;
    this.#maxOutageMs = maxOutageMs;
  }

  /** `away`: the service could not be reached when it was last tried. `shut`: somebody waits for budget. */
  get state(): GateState {
    if (this.#outage) return 'away';
    return this.#waiting.size > 0 ? 'shut' : 'open';
  }

  /** What is left of the window under way, as far as this process knows. */
  get budget(): Budget | undefined {
    const window = this.#current();
    return window && { limit: window.limit, left: window.remaining, resetAt: window.resetAt };
  }

  /**
   * Resolves when one more request may leave; it is to be followed by `told` or `gone`.
   *
   * @param onWait told of each wait that is worth telling, and once it is over
   * @throws what the signal aborts with
   */
  async enter(lane: Lane, signal: AbortSignal, onWait: (wait?: Wait) => void): Promise<void> {
    let saidUntil = 0;
    for (;;) {
      signal.throwIfAborted();
      this.#assertReserve(lane);
      const untilMs = this.#closedUntil(lane);
      if (untilMs === undefined) break;
      // A wait for the first answer, which tells the limit, is not one for the limit.
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
   * An answer came.
   *
   * @param rateLimit what it said is left, in this machine's time; undefined for nothing
   * @param isItself whether the service answered, and not something before it that cannot reach it
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

  /** A 429 came: nothing leaves before then. */
  closed(untilMs: number): void {
    const limit = this.#window?.limit ?? 1;
    this.#tells = true;
    this.#window = { limit, remaining: 0, resetAt: untilMs, looked: 0 };
    this.#wake();
  }

  /** No answer came. */
  gone(): void {
    this.#underWay--;
    this.#wake();
  }

  /**
   * The service could not be reached, or was not itself.
   *
   * @returns whether it is to be waited for
   */
  failed(): boolean {
    const now = this.#clock.now();
    this.#askedAt = Number.NEGATIVE_INFINITY;
    const { since, tries } = this.#outage ?? { since: now, tries: 0 };
    const longest = Math.min(longestPauseMs, firstPauseMs * 2 ** tries);
    const until = now + longest * (0.5 + this.#clock.random() / 2);
    // Of those that were under way together, all fail: that is one try.
    if (!this.#outage || now >= this.#outage.until)
      this.#outage = { since, tries: tries + 1, until };
    this.#wake();
    return until - since <= this.#maxOutageMs;
  }

  #current() {
    const leftMs = this.#window ? this.#window.resetAt + slackMs - this.#clock.now() : 0;
    // One that is too far away is of a clock that went wrong, there or here.
    if (leftMs <= 0 || leftMs > longestWindowMs) this.#window = undefined;
    return this.#window;
  }

  /** Until when nothing may leave, for want of better; undefined where a request may. */
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

  /** @throws MediactlError where the reserve that was asked for would stop all bulk work */
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

  /** Resolves at that time, or as soon as anything is different. */
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
