import { expect, it } from 'vitest';
import { systemClock } from '../../src/shared/clock.ts';

it('the system clock sleeps longer than the maximum timer delay of Node.js, until it is aborted', async () => {
  const maxTimerMs = 2 ** 31 - 1;
  const stop = new AbortController();
  const sleeping = systemClock.sleep(maxTimerMs + 1000, stop.signal).then(
    () => 'over',
    (reason) => reason,
  );
  const shortDelay = new Promise((resolve) => setTimeout(resolve, 50, 'still asleep'));
  expect(await Promise.race([sleeping, shortDelay])).toBe('still asleep');
  stop.abort('stopped');
  expect(await sleeping).toBe('stopped');
});
