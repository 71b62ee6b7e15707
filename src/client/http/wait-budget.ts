import type { Clock } from '../../contract/clock.ts';

/** Limits the total time that one command spends waiting. Concurrent waits are counted once. */
export class WaitBudget {
  readonly #clock: Clock;
  readonly #maxMs: number;
  #spentMs = 0;
  #waitingUntilMs = 0;

  constructor(clock: Clock, maxMs: number) {
    this.#clock = clock;
    this.#maxMs = maxMs;
  }

  /** Spends the time of a wait that starts now. Returns false and spends nothing if the wait would exceed the budget. */
  trySpend(delayMs: number): boolean {
    const now = this.#clock.now();
    const beginMs = Math.max(now, this.#waitingUntilMs);
    const addedMs = Math.max(0, now + delayMs - beginMs);
    if (this.#spentMs + addedMs > this.#maxMs) return false;
    this.#spentMs += addedMs;
    this.#waitingUntilMs = beginMs + addedMs;
    return true;
  }

  /** Resets the budget, so that long-running work can wait for each outage separately. */
  renew(): void {
    this.#spentMs = 0;
  }
}
