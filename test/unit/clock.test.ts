import { expect, it } from 'vitest';
import { systemClock } from '../../src/contract/clock.ts';

it('the system clock sleeps longer than the maximum timer delay of Node.js, until it is aborted', async () => {
  const stop = new AbortController();
  const slept = systemClock.sleep(2 ** 31 + 1000, stop.signal).then(
    () => 'over',
    (reason) => reason,
  );
  const after = new Promise((resolve) => setTimeout(resolve, 50, 'still asleep'));
  expect(await Promise.race([slept, after])).toBe('still asleep');
  stop.abort('stopped');
  expect(await slept).toBe('stopped');
});
