import { type Clock, systemClock } from './clock.ts';

/** Bounds of an exponential backoff, in milliseconds. */
export type BackoffPolicy = { minMs?: number; maxMs?: number };

/**
 * Returns the delay before a retry in milliseconds: 1 s, 2 s, 4 s … 60 s by default, of which up to half is taken off
 * at random, so that many clients do not retry at the same moment. `attempt` counts from 0.
 */
export const backoff = (
  attempt: number,
  { minMs = 1_000, maxMs = 60_000 }: BackoffPolicy = {},
  clock: Pick<Clock, 'random'> = systemClock,
): number => Math.min(maxMs, minMs * 2 ** attempt) * (0.5 + clock.random() / 2);

type RetryOptions = {
  clock?: Pick<Clock, 'sleep'>;
  /** Returns the delay before the next attempt in milliseconds, or undefined to give up. `attempt` counts from 0. */
  delayAfter(error: unknown, attempt: number): number | undefined | Promise<number | undefined>;
};

/** Runs `work` until it resolves. @throws its error once `delayAfter` gives up; the abort reason of the signal */
export async function retryUntil<T>(
  signal: AbortSignal | undefined,
  work: (attempt: number) => T | Promise<T>,
  { clock = systemClock, delayAfter }: RetryOptions,
): Promise<T> {
  for (let attempt = 0; ; attempt++) {
    signal?.throwIfAborted();
    try {
      return await work(attempt);
    } catch (error) {
      signal?.throwIfAborted();
      const delayMs = await delayAfter(error, attempt);
      if (delayMs === undefined) throw error;
      if (delayMs > 0) await clock.sleep(delayMs, signal);
    }
  }
}

/**
 * Calls `check` every `intervalMs` until it returns something other than undefined. A `check` that never does is a
 * heartbeat, which ends with the signal.
 *
 * @throws the error of `check`; the abort reason of the signal
 */
export async function pollUntil<T>(
  signal: AbortSignal | undefined,
  check: () => T | undefined | Promise<T | undefined>,
  { clock = systemClock, intervalMs }: { clock?: Pick<Clock, 'sleep'>; intervalMs: number | (() => number) },
): Promise<T> {
  for (;;) {
    signal?.throwIfAborted();
    const result = await check();
    if (result !== undefined) return result;
    await clock.sleep(typeof intervalMs === 'number' ? intervalMs : intervalMs(), signal);
  }
}

export class TimeoutError extends Error {
  override readonly name = 'TimeoutError';
}

/**
 * Runs `work` with a timeout. Its signal aborts at the timeout and with the outer signal; `work` that ignores it is
 * left behind.
 *
 * @throws TimeoutError after `timeoutMs`; the abort reason of the outer signal
 */
export async function withTimeout<T>(
  timeoutMs: number,
  work: (signal: AbortSignal) => Promise<T>,
  { clock = systemClock, signal }: { clock?: Pick<Clock, 'sleep'>; signal?: AbortSignal | undefined } = {},
): Promise<T> {
  const timeout = new AbortController();
  const done = new AbortController();
  const outer = signal ? [signal] : [];
  const expired = clock.sleep(timeoutMs, AbortSignal.any([...outer, done.signal])).then(() => {
    timeout.abort(new TimeoutError(`no response within ${timeoutMs / 1000} s`));
    throw timeout.signal.reason;
  });
  try {
    return await Promise.race([work(AbortSignal.any([...outer, timeout.signal])), expired]);
  } finally {
    done.abort();
    expired.catch(() => {}); // `work` finished first
  }
}

const abortGraceMs = 3_000;

/** Awaits `work`, but only for 3 s more after an abort, and then leaves it behind. @throws the abort reason of the signal */
export async function withGrace<T>(
  work: Promise<T>,
  { clock = systemClock, signal }: { clock?: Pick<Clock, 'sleep'>; signal: AbortSignal },
): Promise<T> {
  const done = new AbortController();
  const aborted = new Promise<never>((_, reject) => {
    const onAbort = () =>
      void clock.sleep(abortGraceMs, done.signal).then(
        () => reject(signal.reason),
        () => {}, // `work` finished first
      );
    if (signal.aborted) onAbort();
    else signal.addEventListener('abort', onAbort, { once: true, signal: done.signal });
  });
  return Promise.race([work, aborted]).finally(() => done.abort());
}

/** Awaits `work`, and leaves it behind at an abort. @throws the abort reason of the signal */
export function orAborted<T>(work: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (!signal) return work;
  return new Promise((resolve, reject) => {
    const abort = () => reject(signal.reason);
    if (signal.aborted) abort();
    signal.addEventListener('abort', abort, { once: true });
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', abort));
  });
}
