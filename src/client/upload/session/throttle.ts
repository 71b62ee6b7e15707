import type { Clock } from '../../../shared/clock.ts';

/** Limits the total bandwidth of all concurrent uploads. */
export class Throttle {
  readonly #clock: Clock;
  readonly #bytesPerSecond: number;
  /** Earliest time at which more bytes can be sent, in milliseconds since the epoch. */
  #nextSendAt = 0;

  constructor(clock: Clock, bytesPerSecond: number) {
    this.#clock = clock;
    this.#bytesPerSecond = bytesPerSecond;
  }

  /** Splits a block into parts that take a tenth of a second each, and yields them at the allowed rate. */
  async *pace(block: Buffer, signal?: AbortSignal): AsyncGenerator<Buffer> {
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
