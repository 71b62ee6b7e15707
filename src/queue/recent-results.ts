import type { Clock } from '../shared/clock.ts';
import type { SharedStore } from './shared-store.ts';

/** Maximum age of results that are written again after a failover. It is longer than the lag of a replica. */
const maxResultAgeMs = 10 * 60_000;
const maxRecentResults = 10_000;
/** Pause after a failover, during which other workers restore their results. */
const restoreGraceMs = 5_000;

/** A worker's newest results, to restore them after a failover to a server that might lack them. */
export class RecentResults {
  failovers = 0;
  /** Resolves when the results are restored after a failover. */
  restored: Promise<void> = Promise.resolve();
  readonly #store: SharedStore;
  readonly #clock: Clock;
  /** Maps job ids to results as JSON, oldest first. */
  readonly #results = new Map<string, { at: number; receipt: string }>();

  constructor(store: SharedStore, clock: Clock) {
    this.#store = store;
    this.#clock = clock;
  }

  add(id: string, receipt: string): void {
    this.#results.set(id, { at: this.#clock.now(), receipt });
    const [[oldest = ''] = []] = this.#results;
    if (this.#results.size > maxRecentResults) this.#results.delete(oldest);
  }

  /** Restores the results if the store is another server than before, and waits while other workers do the same. */
  onReconnect(isOther: Promise<boolean>, signal: AbortSignal, onFailed: (error: unknown) => void): void {
    const previous = this.restored;
    this.restored = isOther
      .then((is) => (is ? this.#restore(signal).catch((error) => signal.aborted || onFailed(error)) : undefined))
      .catch(() => {}) // the store is down again; the next reconnect restores the results
      .then(() => previous);
  }

  async #restore(signal: AbortSignal): Promise<void> {
    this.failovers++;
    const since = this.#clock.now() - maxResultAgeMs;
    for (const [id, { at, receipt }] of this.#results) if (at > since) await this.#store.restoreReceipt(id, receipt);
    await this.#clock.sleep(restoreGraceMs, signal);
  }
}
