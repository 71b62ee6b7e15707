import { type Clock, systemClock } from '../../src/contract/clock.ts';

const fastClocks = new WeakSet<Clock>();

/** Returns true for a clock of `fastClock` that the test does not read. */
export const isFastClock = (clock: Clock) => fastClocks.has(clock);

/** Creates a clock that runs `factor` times faster; its `random` always returns 0.999: maximum jitter. */
export function fastClock(factor = 100): Clock & { sleptMs: number[]; advance: (byMs: number) => void } {
  const startedAt = Date.now();
  let ahead = 0;
  const sleptMs: number[] = [];
  const clock = {
    sleptMs,
    advance: (byMs: number) => {
      ahead += byMs;
    },
    now: () => startedAt + ahead + (Date.now() - startedAt) * factor,
    random: () => 0.999,
    sleep: (delayMs: number, signal?: AbortSignal) => {
      sleptMs.push(delayMs);
      return systemClock.sleep(delayMs / factor, signal);
    },
  };
  fastClocks.add(clock);
  return clock;
}
