import type { Clock } from '../../clock.ts';

/** Paces bytes to a rate, for all that send at once. */
export class Throttle {
  readonly #clock: Clock;
  readonly #bytesPerSecond: number;
  /** When the next piece may leave. */
  #dueAt = 0;

  constructor(clock: Clock, bytesPerSecond: number) {
    this.#clock = clock;
    this.#bytesPerSecond = bytesPerSecond;
  }

  /** Ten pieces a second, each when it is due. */
  async *pieces(block: Buffer, signal: AbortSignal): AsyncGenerator<Buffer> {
    const step = Math.max(1, Math.floor(this.#bytesPerSecond / 10));
    for (let at = 0; at < block.length; at += step) {
      const piece = block.subarray(at, at + step);
      const from = Math.max(this.#dueAt, this.#clock.now());
      this.#dueAt = from + (piece.length / this.#bytesPerSecond) * 1000;
      const aheadMs = from - this.#clock.now();
      if (aheadMs > 0) await this.#clock.sleep(aheadMs, signal);
      yield piece;
    }
  }
}
