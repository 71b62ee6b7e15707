import type { Clock } from '../clock.ts';
import type { Store } from './store.ts';

const firstPauseMs = 200;
const longestPauseMs = 2_000;

/** Codes of a dropped connection, or of a server that is down, starting, stopping or out of connections (SQLSTATE 08, 57P01 to 57P03, 53300). */
const outageCode = /^(?:ECONN|EPIPE|ETIMEDOUT|EHOST|ENET|ENOTFOUND|EAI_AGAIN|ENOENT|08|57P0|53300)/;
/** Messages of pg and ioredis for an outage that has no error code. */
const outageWords =
  /^(?:Connection terminated|Client has encountered a connection error|timeout exceeded when trying to connect|Connection is closed|it did not answer within)/;
/** Matches errors of a server that is full, loading, or temporarily a replica: a SQLSTATE, or a Redis error prefix, also inside a script error. */
export const rejectedWrite =
  /^(?:53100|53200|25006) |\b(?:OOM|READONLY|MISCONF|LOADING|MASTERDOWN|NOREPLICAS) /;

export const textOf = (error: unknown) => {
  const { code = '', message = '' } = error as { code?: string; message?: string };
  return { code, message, text: `${code} ${message}` };
};

/** Returns whether the server is up but rejects writes for now. */
export const isRejectedWrite = (error: unknown) => rejectedWrite.test(textOf(error).text);

export const isOutage = (error: unknown) => {
  const { code, message } = textOf(error);
  return outageCode.test(code) || outageWords.test(message) || isRejectedWrite(error);
};

/** @property onConnectionChange called with the cause when the store goes down, and without one when it is up again */
type Patience = { clock: Clock; signal: AbortSignal; onAway(cause?: unknown): void };

/** Retries requests while the store is down, with backoff and jitter. One probe serves all callers, like a circuit breaker. */
export class Outages {
  readonly #probe: () => Promise<void>;
  readonly #tools: Patience;
  #over: Promise<void> | undefined;
  /** Number of probes since the last successful request; sets the backoff. */
  #tries = 0;

  /** @param probe rejects while the store is down */
  constructor(probe: () => Promise<void>, tools: Patience) {
    this.#probe = probe;
    this.#tools = tools;
  }

  /** True during an outage. */
  get isOne(): boolean {
    return this.#over !== undefined;
  }

  /**
   * Runs a request, and retries it after each outage until it succeeds.
   *
   * @param ask must be idempotent
   * @throws errors that are not an outage; the abort reason of the signal
   */
  async waitOut<T>(ask: () => Promise<T>): Promise<T> {
    for (;;) {
      await this.#over;
      try {
        const answer = await ask();
        this.#tries = 0;
        return answer;
      } catch (error) {
        if (!isOutage(error)) throw error;
      }
      this.#begin();
    }
  }

  /** Starts probing after a background request of the engine was rejected. Dropped connections are detected elsewhere. */
  noticed(error: unknown): void {
    if (isRejectedWrite(error)) this.#begin();
  }

  #begin(): void {
    this.#over ??= this.#untilBack().finally(() => {
      this.#over = undefined;
    });
    this.#over.catch(() => {}); // aborted: pending requests get the reason
  }

  async #untilBack(): Promise<void> {
    const { clock, signal, onAway } = this.#tools;
    for (;;) {
      const longest = Math.min(longestPauseMs, firstPauseMs * 2 ** this.#tries++);
      await clock.sleep(longest * (0.5 + clock.random() / 2), signal);
      try {
        await this.#probe();
        break;
      } catch (error) {
        signal.throwIfAborted();
        if (!isOutage(error)) break; // the store is up: the retried request reports the error
        onAway(error);
      }
    }
    onAway();
  }
}

const graceMs = 3_000;

/** Awaits `work`; after an abort, for 3 s more. @throws the abort reason of the signal */
export async function heeding<T>(
  work: Promise<T>,
  { clock, signal }: Pick<Patience, 'clock' | 'signal'>,
): Promise<T> {
  const done = new AbortController();
  let leave: (reason: unknown) => void = () => {};
  const left = new Promise<never>((_, reject) => {
    leave = reject;
  });
  const ending = () =>
    void clock.sleep(graceMs, done.signal).then(
      () => leave(signal.reason),
      () => {}, // `work` finished first
    );
  if (signal.aborted) ending();
  else signal.addEventListener('abort', ending, { once: true });
  try {
    return await Promise.race([work, left]);
  } finally {
    signal.removeEventListener('abort', ending);
    done.abort();
  }
}

/** Restarts `work` after errors, with a pause, until it returns or the signal aborts. */
export async function untilOver(
  work: () => Promise<void>,
  pauseMs: number,
  { clock, signal }: Pick<Patience, 'clock' | 'signal'>,
): Promise<void> {
  while (!signal.aborted) {
    try {
      return await work();
    } catch {
      await clock.sleep(pauseMs, signal).catch(() => {});
    }
  }
}

/** Awaits `work`, for at most `delayMs`. */
export async function atMost(delayMs: number, clock: Clock, work: Promise<unknown>): Promise<void> {
  const done = new AbortController();
  const late = clock.sleep(delayMs, done.signal).catch(() => {});
  await Promise.race([work.finally(() => done.abort()), late]);
}

/** Wraps a store so that each of its requests is retried by `wait`. */
export function waitingStore(store: Store, wait: <T>(ask: () => Promise<T>) => Promise<T>): Store {
  const patient =
    <Given extends unknown[], T>(ask: (...given: Given) => Promise<T>) =>
    (...given: Given): Promise<T> =>
      wait(() => ask(...given));
  return {
    now: patient(store.now),
    claim: patient(store.claim),
    write: patient(store.write),
    finish: patient(store.finish),
    restore: patient(store.restore),
    pages: patient(store.pages),
    receipts: patient(store.receipts),
    forget: patient(store.forget),
  };
}

/** Runs `work` with a timeout. @throws Error after `delayMs`; the abort reason of the signal */
export async function within<T>(
  delayMs: number,
  { clock, signal }: Pick<Patience, 'clock' | 'signal'>,
  work: () => Promise<T>,
): Promise<T> {
  const done = new AbortController();
  const late = clock.sleep(delayMs, AbortSignal.any([signal, done.signal])).then(() => {
    throw new Error(`it did not answer within ${delayMs / 1000} s`);
  });
  try {
    return await Promise.race([work(), late]);
  } finally {
    done.abort();
    late.catch(() => {}); // unhandled rejection, if `work` finished first
  }
}
