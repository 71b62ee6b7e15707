import { expect, it } from 'vitest';
import { systemClock } from '../../src/shared/clock.ts';
import { backoff, pollUntil, retryUntil, TimeoutError, withGrace, withTimeout } from '../../src/shared/retry.ts';

/** Clock that records delays and does not sleep. */
const recordingClock = () => {
  const delays: number[] = [];
  return { delays, sleep: async (delayMs: number) => void delays.push(delayMs) };
};

it('backoff doubles up to a maximum, and jitter shortens a delay by at most half', () => {
  const delaysWithoutJitter = [0, 1, 2, 9].map((attempt) => backoff(attempt, {}, { random: () => 1 }));
  expect(delaysWithoutJitter).toEqual([1_000, 2_000, 4_000, 60_000]);
  expect(backoff(1, { minMs: 200, maxMs: 300 }, { random: () => 0 })).toBe(150);
});

it('retryUntil retries as long as a delay is given, then throws the last error', async () => {
  const clock = recordingClock();
  const failing = retryUntil(undefined, (attempt) => Promise.reject(new Error(`attempt ${attempt}`)), {
    clock,
    delayAfter: (_, attempt) => (attempt < 2 ? attempt + 1 : undefined),
  });
  await expect(failing).rejects.toThrow('attempt 2');
  expect(clock.delays).toEqual([1, 2]);
});

it('retryUntil stops sleeping when it is aborted, and makes no attempt after an abort', async () => {
  const stop = new AbortController();
  let attempts = 0;
  const retried = retryUntil(
    stop.signal,
    () => {
      attempts++;
      throw new Error('down');
    },
    { delayAfter: () => 60_000 },
  );
  await expect.poll(() => attempts).toBe(1);
  stop.abort('stopped');
  await expect(retried).rejects.toBe('stopped');
  await expect(retryUntil(stop.signal, () => ++attempts, { delayAfter: () => 0 })).rejects.toBe('stopped');
  expect(attempts).toBe(1);
});

it('pollUntil returns the first defined result and rethrows an error of the check', async () => {
  const clock = recordingClock();
  const answers = [undefined, undefined, 0];
  expect(await pollUntil(undefined, () => answers.shift(), { clock, intervalMs: 5 })).toBe(0);
  expect(clock.delays).toEqual([5, 5]);
  const failing = () => Promise.reject(new Error('broken'));
  await expect(pollUntil(undefined, failing, { clock, intervalMs: 5 })).rejects.toThrow('broken');
});

it('withTimeout returns the result, and aborts work that exceeds the timeout', async () => {
  expect(await withTimeout(60_000, async () => 'done')).toBe('done');
  const aborted: unknown[] = [];
  const hanging = (signal: AbortSignal) =>
    systemClock.sleep(60_000, signal).catch((reason) => aborted.push(reason)) as Promise<unknown>;
  await expect(withTimeout(10, hanging)).rejects.toThrow(TimeoutError);
  await expect.poll(() => aborted.length).toBe(1);
  const stop = new AbortController();
  const stopped = withTimeout(60_000, hanging, { signal: stop.signal });
  stop.abort('stopped');
  await stopped.catch((reason) => aborted.push(reason));
  expect(aborted).toContain('stopped');
});

it('withGrace lets work finish for a few seconds after an abort', async () => {
  const clock = recordingClock();
  const stop = new AbortController();
  const hanging = withGrace(new Promise(() => {}), { clock, signal: stop.signal });
  stop.abort('stopped');
  await expect(hanging).rejects.toBe('stopped');
  expect(clock.delays).toEqual([3_000]);
  expect(
    await withGrace(
      systemClock.sleep(10).then(() => 'done'),
      { signal: stop.signal },
    ),
  ).toBe('done');
});
