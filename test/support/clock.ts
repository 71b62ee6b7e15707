import { type Clock, systemClock } from '../../src/client/clock.ts';

/** A clock on which waits pass a hundred times faster, and chance is always at its worst. */
export function fastClock(
  factor = 100,
): Clock & { sleptMs: number[]; advance: (byMs: number) => void } {
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
