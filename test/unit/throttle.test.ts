import { expect, it } from 'vitest';
import { createThrottle } from '../../src/client/upload/session/throttle.ts';

it('a throttled upload takes as long as its size divided by the limit, in steps of a tenth of a second', async () => {
  let now = 0;
  const clock = {
    now: () => now,
    steady: () => now,
    random: () => 0.5,
    sleep: async (delayMs: number) => {
      now += delayMs;
    },
  };
  const throttle = createThrottle(clock, 1_000_000);
  let sentBytes = 0;
  for (let block = 0; block < 5; block++)
    for await (const part of throttle(Buffer.alloc(1_000_000))) {
      expect(sentBytes).toBeLessThanOrEqual(now * 1_000 + 1);
      sentBytes += part.length;
    }
  expect(sentBytes).toBe(5_000_000);
  expect(now).toBeCloseTo(4_900); // the last part leaves a tenth of a second before the limit allows more
});
