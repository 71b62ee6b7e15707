import type { Clock } from '../clock.ts';
import type { Store } from './store.ts';

const firstPauseMs = 200;
const longestPauseMs = 2_000;

/** A line that broke; a server that is not there, ends, begins or has no connection left (SQLSTATE 08, 57P01 to 57P03, 53300). */
const outageCode = /^(?:ECONN|EPIPE|ETIMEDOUT|EHOST|ENET|ENOTFOUND|EAI_AGAIN|ENOENT|08|57P0|53300)/;
/** Of pg and ioredis, where they give no code. */
const outageWords =
  /^(?:Connection terminated|Client has encountered a connection error|timeout exceeded when trying to connect|Connection is closed|it did not answer within)/;
/** A server that is full, or for now a replica or loading: SQLSTATE, or Redis's first word, also from within a script. */
export const rejectedWrite =
  /^(?:53100|53200|25006) |\b(?:OOM|READONLY|MISCONF|LOADING|MASTERDOWN|NOREPLICAS) /;

export const textOf = (error: unknown) => {
  const { code = '', message = '' } = error as { code?: string; message?: string };
  return { code, message, text: `${code} ${message}` };
};

/** The server is there, but accepts no writes now. */
export const isRejectedWrite = (error: unknown) => rejectedWrite.test(textOf(error).text);

export const isOutage = (error: unknown) => {
  const { code, message } = textOf(error);
  return outageCode.test(code) || outageWords.test(message) || isRejectedWrite(error);
};

/** @property onAway hears why the store cannot be used now; without a cause, that it can again */
type Patience = { clock: Clock; signal: AbortSignal; onAway(cause?: unknown): void };

/** Waits out a store that is away, as ioredis does by itself: one looks whether it is back, for all who wait. */
export class Outages {
  readonly #probe: () => Promise<void>;
  readonly #tools: Patience;
  #over: Promise<void> | undefined;
  /** Looks since somebody was answered. */
  #tries = 0;

  /** @param probe rejects while the store is away */
  constructor(probe: () => Promise<void>, tools: Patience) {
    this.#probe = probe;
    this.#tools = tools;
  }

  /** Somebody has met one that is not over. */
  get isOne(): boolean {
    return this.#over !== undefined;
  }

  /** @param ask may be asked twice @throws what it throws of a store that is there; what the signal aborts with */
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

  /** Another has met an outage, and asks again by itself. A broken connection shows by other means. */
  noticed(error: unknown): void {
    if (isRejectedWrite(error)) this.#begin();
  }

  #begin(): void {
    this.#over ??= this.#untilBack().finally(() => {
      this.#over = undefined;
    });
    this.#over.catch(() => {}); // aborted: those who wait get the reason
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
        if (!isOutage(error)) break; // it is there: whoever asked is told the rest
        onAway(error);
      }
    }
    onAway();
  }
}

const graceMs = 3_000;

/** Waits for it as long as nobody wants to end, and then for a moment. @throws what the signal aborts with */
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
      () => {}, // it was done first
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

/** Keeps it going until it ends by itself or the signal aborts: what ended it otherwise passes. */
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

/** Waits for it, but no longer. */
export async function atMost(delayMs: number, clock: Clock, work: Promise<unknown>): Promise<void> {
  const done = new AbortController();
  const late = clock.sleep(delayMs, done.signal).catch(() => {});
  await Promise.race([work.finally(() => done.abort()), late]);
}

/** The same store, whose every answer is waited for in one way. */
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

/** @throws Error where it takes longer, what the signal aborts with */
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
    late.catch(() => {}); // where the work was done first
  }
}
