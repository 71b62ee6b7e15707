import type { Clock } from '../clock.ts';

/** What one command may spend waiting, in all. Requests that wait at the same time spend it once. */
export class WaitBudget {
  readonly #clock: Clock;
  readonly #maxMs: number;
  #spentMs = 0;
  #waitingUntilMs = 0;

  /** @param maxMs milliseconds */
  constructor(clock: Clock, maxMs: number) {
    this.#clock = clock;
    this.#maxMs = maxMs;
  }

  /** Spends a wait that begins now; false, with nothing spent, where it would pass the budget. */
  spend(delayMs: number): boolean {
    const now = this.#clock.now();
    const beginMs = Math.max(now, this.#waitingUntilMs);
    const moreMs = Math.max(0, now + delayMs - beginMs);
    if (this.#spentMs + moreMs > this.#maxMs) return false;
    this.#spentMs += moreMs;
    this.#waitingUntilMs = beginMs + moreMs;
    return true;
  }

  /** All of it is there again: for work that lasts, each outage counts by itself. */
  renew(): void {
    this.#spentMs = 0;
  }
}
