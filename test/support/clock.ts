import { type Clock, systemClock } from '../../src/contract/clock.ts';

const optionalClocks = new WeakSet<Clock>();

/** Creates a fast clock for a test with short waits, which a run of the executable replaces with the system clock. */
export function optionalClock(factor = 100): Clock {
  const clock = fastClock(factor);
  optionalClocks.add(clock);
  return clock;
}

export const isOptionalClock = (clock: Clock) => optionalClocks.has(clock);

/** Creates a clock that runs `factor` times faster; its `random` always returns 0.999: maximum jitter. */
export function fastClock(factor = 100): Clock & { sleptMs: number[]; advance: (byMs: number) => void } {
  const startedAt = Date.now();
  let ahead = 0;
  const sleptMs: number[] = [];
  return {
    sleptMs,
    advance: (byMs) => {
      ahead += byMs;
    },
    now: () => startedAt + ahead + (Date.now() - startedAt) * factor,
    random: () => 0.999,
    sleep: (delayMs, signal) => {
      sleptMs.push(delayMs);
      return systemClock.sleep(delayMs / factor, signal);
    },
  };
}
