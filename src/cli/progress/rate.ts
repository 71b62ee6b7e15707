import { bytes, duration } from '../../contract/figures.ts';

/** A rate is that of the last seconds. */
const windowMs = 8_000;
/** Less time says little. */
const leastMs = 1_000;
const stepMs = 250;

/** Bytes a second, of what went out lately. */
export class Rate {
  #samples: { at: number; count: number }[] = [];

  /** @param count in all, so far; a smaller one than before begins anew */
  add(count: number, now: number): void {
    const last = this.#samples.at(-1);
    if (last && count < last.count) this.#samples = [];
    const before = this.#samples.at(-2);
    // What came just now takes the place of what came just before.
    if (last && before && last.at - before.at < stepMs) this.#samples.pop();
    this.#samples.push({ at: now, count });
    while (this.#samples.length > 2 && now - (this.#samples[1]?.at ?? now) > windowMs)
      this.#samples.shift();
  }

  /** After a wait: the time before says nothing of what comes. */
  restart(): void {
    this.#samples = [];
  }

  /** Undefined while nothing tells. */
  bytesPerSecond(now: number): number | undefined {
    const [first, last] = [this.#samples[0], this.#samples.at(-1)];
    if (!first || !last || now - first.at < leastMs) return undefined;
    const rate = ((last.count - first.count) * 1000) / (now - first.at);
    return rate > 0 ? rate : undefined;
  }

  /** `4.2 MiB/s`; empty while nothing tells. */
  text(now: number): string {
    const rate = this.bytesPerSecond(now);
    return rate === undefined ? '' : `${bytes(rate)}/s`;
  }

  /** `4:07 left`, of so many bytes that are left; empty while nothing tells. */
  left(remaining: number, now: number): string {
    const rate = this.bytesPerSecond(now);
    return rate === undefined ? '' : `${duration(Math.max(1, remaining / rate))} left`;
  }
}
