import type { Clock } from '../../../shared/clock.ts';

/**
 * Limits the total bandwidth of all concurrent uploads: splits a block into parts that take a tenth of a second each, and
 * yields them at the allowed rate.
 */
export type Throttle = (block: Buffer, signal?: AbortSignal) => AsyncGenerator<Buffer>;

export function createThrottle(clock: Clock, bytesPerSecond: number): Throttle {
  const step = Math.max(1, Math.floor(bytesPerSecond / 10));
  /** Earliest time at which more bytes can be sent, in milliseconds since the epoch. */
  let nextSendAt = 0;
  return async function* (block, signal) {
    for (let at = 0; at < block.length; at += step) {
      const piece = block.subarray(at, at + step);
      const from = Math.max(nextSendAt, clock.now());
      nextSendAt = from + (piece.length / bytesPerSecond) * 1000;
      const aheadMs = from - clock.now();
      if (aheadMs > 0) await clock.sleep(aheadMs, signal);
      yield piece;
    }
  };
}
