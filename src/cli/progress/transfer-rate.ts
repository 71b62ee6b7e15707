import { formatBytes, formatDuration } from '../../contract/figures.ts';

/** Length of the sliding window over which the rate is averaged. */
const windowMs = 8_000;
/** Minimum time between the first and last sample for a meaningful rate. */
const minSpanMs = 1_000;
const sampleIntervalMs = 250;

/** Transfer rate in bytes per second, averaged over a sliding window. */
export class TransferRate {
  #samples: { at: number; count: number }[] = [];

  /**
   * Adds a sample.
   *
   * @param count total bytes so far; if it is smaller than before, the rate is reset
   */
  add(count: number, now: number): void {
    const last = this.#samples.at(-1);
    if (last && count < last.count) this.#samples = [];
    const before = this.#samples.at(-2);
    // Throttled, so that a sample within 250 ms replaces the previous sample.
    if (last && before && last.at - before.at < sampleIntervalMs) this.#samples.pop();
    this.#samples.push({ at: now, count });
    while (this.#samples.length > 2 && now - (this.#samples[1]?.at ?? now) > windowMs) this.#samples.shift();
  }

  /** Resets the rate after a wait, since earlier samples no longer predict it. */
  reset(): void {
    this.#samples = [];
  }

  /** Returns the rate; undefined while there are too few samples. */
  bytesPerSecond(now: number): number | undefined {
    const [first, last] = [this.#samples[0], this.#samples.at(-1)];
    if (!first || !last || now - first.at < minSpanMs) return undefined;
    const rate = ((last.count - first.count) * 1000) / (now - first.at);
    return rate > 0 ? rate : undefined;
  }

  /** Formats the rate as `4.2 MiB/s`; empty while it is unknown. */
  formatRate(now: number): string {
    const rate = this.bytesPerSecond(now);
    return rate === undefined ? '' : `${formatBytes(rate)}/s`;
  }

  /**
   * Formats the time left as `4:07 left`; empty while the rate is unknown.
   *
   * @param remaining bytes left to transfer
   */
  formatTimeLeft(remaining: number, now: number): string {
    const rate = this.bytesPerSecond(now);
    return rate === undefined ? '' : `${formatDuration(Math.max(1, remaining / rate))} left`;
  }
}
