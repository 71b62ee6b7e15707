import type { Clock } from '../../contract/clock.ts';
import type { UploadStore } from './upload-store.ts';

const initialBackoffMs = 200;
const maxBackoffMs = 2_000;

/** Codes of a dropped connection, or of a server that is down, starting, stopping or out of connections (SQLSTATE 08, 57P01 to 57P03, 53300). */
const outageCode = /^(?:ECONN|EPIPE|ETIMEDOUT|EHOST|ENET|ENOTFOUND|EAI_AGAIN|ENOENT|08|57P0|53300)/;
/** Messages of pg and ioredis for an outage that has no error code. */
const outageMessage =
  /^(?:Connection terminated|Client has encountered a connection error|timeout exceeded when trying to connect|Connection is closed|it did not answer within)/;
/** SQLSTATEs and Redis error prefixes of a server that is full, loading or temporarily a replica. A script error can contain the prefix. */
export const rejectedWrite = /^(?:53100|53200|25006) |\b(?:OOM|READONLY|MISCONF|LOADING|MASTERDOWN|NOREPLICAS) /;

export const errorText = (error: unknown) => {
  const { code = '', message = '' } = error as { code?: string; message?: string };
  return { code, message, text: `${code} ${message}` };
};

/** Returns true if the error means that the server is up but rejects writes for now. */
export const isRejectedWrite = (error: unknown) => rejectedWrite.test(errorText(error).text);

export const isOutage = (error: unknown) => {
  const { code, message } = errorText(error);
  return outageCode.test(code) || outageMessage.test(message) || isRejectedWrite(error);
};

/** @property onConnectionChange called with the cause when the store goes down, and without a cause when it is up again */
type RetryContext = {
  clock: Clock;
  signal: AbortSignal;
  onConnectionChange(cause?: unknown): void;
};

/** Retries requests after an outage. One probe with backoff and jitter serves all callers, like a circuit breaker. */
export class ConnectionMonitor {
  readonly #probe: () => Promise<void>;
  readonly #context: RetryContext;
  #recovery: Promise<void> | undefined;
  /** Number of probes since the last successful request, which determines the backoff. */
  #attempts = 0;

  /** @param probe rejects while the store is down */
  constructor(probe: () => Promise<void>, tools: RetryContext) {
    this.#probe = probe;
    this.#context = tools;
  }

  /** True during an outage. */
  get isDown(): boolean {
    return this.#recovery !== undefined;
  }

  /**
   * Runs a request, and retries it after each outage until it succeeds.
   *
   * @param request must be idempotent
   * @throws any error that is not an outage; the abort reason of the signal
   */
  async retryUntilUp<T>(request: () => Promise<T>): Promise<T> {
    for (;;) {
      await this.#recovery;
      try {
        const response = await request();
        this.#attempts = 0;
        return response;
      } catch (error) {
        if (!isOutage(error)) throw error;
      }
      this.#startRecovery();
    }
  }

  /** Starts to probe the store until it is up if it rejected a write by BullMQ. Dropped connections are detected elsewhere. */
  onOutage(error: unknown): void {
    if (isRejectedWrite(error)) this.#startRecovery();
  }

  #startRecovery(): void {
    this.#recovery ??= this.#probeUntilUp().finally(() => {
      this.#recovery = undefined;
    });
    this.#recovery.catch(() => {}); // aborted: pending requests reject with the abort reason
  }

  async #probeUntilUp(): Promise<void> {
    const { clock, signal, onConnectionChange } = this.#context;
    for (;;) {
      const maxDelayMs = Math.min(maxBackoffMs, initialBackoffMs * 2 ** this.#attempts++);
      await clock.sleep(maxDelayMs * (0.5 + clock.random() / 2), signal);
      try {
        await this.#probe();
        break;
      } catch (error) {
        signal.throwIfAborted();
        if (!isOutage(error)) break; // the store is up, and the retried request will report the error
        onConnectionChange(error);
      }
    }
    onConnectionChange();
  }
}

const abortGraceMs = 3_000;

/** Awaits `work`, but only for 3 s more after an abort. @throws the abort reason of the signal */
export async function raceAbort<T>(
  work: Promise<T>,
  { clock, signal }: Pick<RetryContext, 'clock' | 'signal'>,
): Promise<T> {
  const done = new AbortController();
  let rejectAborted: (reason: unknown) => void = () => {};
  const aborted = new Promise<never>((_, reject) => {
    rejectAborted = reject;
  });
  const onAbort = () =>
    void clock.sleep(abortGraceMs, done.signal).then(
      () => rejectAborted(signal.reason),
      () => {}, // `work` finished first
    );
  if (signal.aborted) onAbort();
  else signal.addEventListener('abort', onAbort, { once: true });
  try {
    return await Promise.race([work, aborted]);
  } finally {
    signal.removeEventListener('abort', onAbort);
    done.abort();
  }
}

/** Runs `work` and restarts it after each error, with a pause, until it resolves or the signal aborts. */
export async function restartUntilAborted(
  work: () => Promise<void>,
  pauseMs: number,
  { clock, signal }: Pick<RetryContext, 'clock' | 'signal'>,
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
export async function waitAtMost(delayMs: number, clock: Clock, work: Promise<unknown>): Promise<void> {
  const done = new AbortController();
  const timeout = clock.sleep(delayMs, done.signal).catch(() => {});
  await Promise.race([work.finally(() => done.abort()), timeout]);
}

/** Wraps a store so that each request to it runs through `retry`. */
export function createRetryingStore(
  store: UploadStore,
  retry: <T>(request: () => Promise<T>) => Promise<T>,
): UploadStore {
  const retrying =
    <Given extends unknown[], T>(ask: (...args: Given) => Promise<T>) =>
    (...args: Given): Promise<T> =>
      retry(() => ask(...args));
  return {
    now: retrying(store.now),
    claim: retrying(store.claim),
    writeEntry: retrying(store.writeEntry),
    finish: retrying(store.finish),
    restoreReceipt: retrying(store.restoreReceipt),
    listEntries: retrying(store.listEntries),
    findReceipts: retrying(store.findReceipts),
    remove: retrying(store.remove),
  };
}

/** Runs `work` with a timeout. @throws Error if it takes longer than `delayMs`; the abort reason of the signal */
export async function withTimeout<T>(
  delayMs: number,
  { clock, signal }: Pick<RetryContext, 'clock' | 'signal'>,
  work: () => Promise<T>,
): Promise<T> {
  const done = new AbortController();
  const timeout = clock.sleep(delayMs, AbortSignal.any([signal, done.signal])).then(() => {
    throw new Error(`it did not answer within ${delayMs / 1000} s`);
  });
  try {
    return await Promise.race([work(), timeout]);
  } finally {
    done.abort();
    timeout.catch(() => {}); // unhandled rejection, if `work` finished first
  }
}
