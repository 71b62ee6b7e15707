import type { Clock } from '../../clock.ts';

/** Limits the bandwidth of all concurrent uploads together. */
export class Throttle {
  readonly #clock: Clock;
  readonly #bytesPerSecond: number;
  /** Earliest time of the next piece, in milliseconds since the epoch. */
  #nextSendAt = 0;

  constructor(clock: Clock, bytesPerSecond: number) {
    this.#clock = clock;
    this.#bytesPerSecond = bytesPerSecond;
  }

  /** Splits a block into pieces of a tenth of a second each and yields them at the allowed rate. */
  async *pace(block: Buffer, signal: AbortSignal): AsyncGenerator<Buffer> {
    const step = Math.max(1, Math.floor(this.#bytesPerSecond / 10));
    for (let at = 0; at < block.length; at += step) {
      const piece = block.subarray(at, at + step);
      const from = Math.max(this.#nextSendAt, this.#clock.now());
      this.#nextSendAt = from + (piece.length / this.#bytesPerSecond) * 1000;
      const aheadMs = from - this.#clock.now();
      if (aheadMs > 0) await this.#clock.sleep(aheadMs, signal);
      yield piece;
    }
  }
}
