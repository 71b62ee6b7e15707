/** Source of time, timers and randomness, which tests replace to run faster than real time. */
export type Clock = {
  /** Returns the current time in milliseconds since the epoch. */
  now(): number;
  /** Returns milliseconds since an arbitrary moment. This clock is never set, but it may stop while the machine sleeps. */
  steady(): number;
  /** Resolves after `delayMs`, or rejects with the signal's reason as soon as the signal aborts. */
  sleep(delayMs: number, signal?: AbortSignal): Promise<void>;
  /** Returns a random number in [0, 1). */
  random(): number;
};

/** Maximum delay of a Node.js timer. A timer with a longer delay would fire immediately. */
const maxTimerMs = 2 ** 31 - 1;

export const systemClock: Clock = {
  now: () => Date.now(),
  steady: () => performance.now(),
  random: () => Math.random(),
  sleep: async (delayMs, signal) => {
    let leftMs = delayMs;
    for (; leftMs > maxTimerMs; leftMs -= maxTimerMs) await timer(maxTimerMs, signal);
    await timer(leftMs, signal);
  },
};

const timer = (delayMs: number, signal: AbortSignal | undefined) =>
  new Promise<void>((resolve, reject) => {
    if (signal?.aborted) return reject(signal.reason);
    const aborted = () => {
      clearTimeout(timeout);
      reject(signal?.reason);
    };
    const timeout = setTimeout(() => {
      signal?.removeEventListener('abort', aborted);
      resolve();
    }, delayMs);
    signal?.addEventListener('abort', aborted, { once: true });
  });

/**
 * Starts to measure an age by both clocks, since one can be set back, and the other may stop while the machine sleeps.
 *
 * @returns a function that returns the age in milliseconds
 */
export function startAge(clock: Clock): () => number {
  const [now, steady] = [clock.now(), clock.steady()];
  return () => Math.max(clock.now() - now, clock.steady() - steady);
}
