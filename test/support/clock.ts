import { type Clock, systemClock } from '../../src/shared/clock.ts';

const optionalClocks = new WeakSet<Clock>();

/** Creates an accelerated clock, which a run of the executable replaces with the system clock: for short waits. */
export function acceleratedClockInProcess(options?: { speed: number }): Clock {
  const clock = acceleratedClock(options);
  optionalClocks.add(clock);
  return clock;
}

export const isOptionalClock = (clock: Clock) => optionalClocks.has(clock);

/** Creates a clock that runs `speed` times faster; its `random` always returns 0.999: maximum jitter. */
export function acceleratedClock({ speed = 100 } = {}): Clock & { sleptMs: number[]; advance: (byMs: number) => void } {
  const startedAt = Date.now();
  let ahead = 0;
  const sleptMs: number[] = [];
  return {
    sleptMs,
    advance: (byMs) => {
      ahead += byMs;
    },
    now: () => startedAt + ahead + (Date.now() - startedAt) * speed,
    steady: () => ahead + (Date.now() - startedAt) * speed,
    random: () => 0.999,
    sleep: (delayMs, signal) => {
      sleptMs.push(delayMs);
      return systemClock.sleep(delayMs / speed, signal);
    },
  };
}

/** Creates a clock on which no time passes, so that what a command has read is never too old, however slow the machine. */
export const stoppedClock = (at = Date.now()): Clock => ({ ...systemClock, now: () => at, steady: () => 0 });

/** Returns a clock on which `--stop-at 1h`, or any later time, is reached at the given moment. */
export function clockWithStopTime(clock: Clock, reached: Promise<void>): Clock {
  const almostOneHourMs = 3_500_000;
  const sleep: Clock['sleep'] = (delayMs, signal) =>
    delayMs > almostOneHourMs ? reached : clock.sleep(delayMs, signal);
  return { ...clock, sleep };
}
