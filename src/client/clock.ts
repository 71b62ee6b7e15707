/** The one clock: time, waiting and chance, so that tests may run them faster. */
export type Clock = {
  /** Milliseconds since the epoch. */
  now(): number;
  /** Resolves after `delayMs`; rejects with the signal's reason as soon as it aborts. */
  sleep(delayMs: number, signal?: AbortSignal): Promise<void>;
  /** In [0, 1). */
  random(): number;
};

/** Node's timers hold no more, and fire at once for what is longer. */
const longestTimerMs = 2 ** 31 - 1;

export const systemClock: Clock = {
  now: () => Date.now(),
  random: () => Math.random(),
  sleep: async (delayMs, signal) => {
    let leftMs = delayMs;
    for (; leftMs > longestTimerMs; leftMs -= longestTimerMs) await timer(longestTimerMs, signal);
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

/** Full jitter: anywhere between nothing and 1 s, 2 s, 4 s … at most 60 s. `attempt` counts from 0. */
export const backoffMs = (clock: Clock, attempt: number) =>
  clock.random() * Math.min(60_000, 1_000 * 2 ** attempt);
