import { MediactlError } from '../errors.ts';
import { type ConnectionMonitor, isOutage } from './connection-monitor.ts';
import type { QueueAddress } from './queue-address.ts';
import type { QueueClientDeps } from './queue-client.ts';
import { classifyStoreError } from './store-errors.ts';

type RetryFunction = <T>(ask: () => Promise<T>) => Promise<T>;
type ReconnectListener = (isOther: Promise<boolean>) => void;

const maxReportedErrors = 10;

/** Classifies the errors of an open store, and detects a failover to another server. */
export class StoreGuard {
  readonly #address: QueueAddress;
  readonly #monitor: ConnectionMonitor;
  readonly #deps: QueueClientDeps;
  /** Messages already reported, with job ids replaced so that each kind of error is reported once. */
  readonly #reported = new Set<string>();
  readonly #reconnectListeners: ReconnectListener[] = [];
  #identity: string | undefined;
  readonly fatal = new AbortController();
  /** PostgreSQL role in use, for error messages. */
  role: string | undefined;

  constructor(address: QueueAddress, monitor: ConnectionMonitor, deps: QueueClientDeps) {
    this.#address = address;
    this.#monitor = monitor;
    this.#deps = deps;
  }

  /** Handles a background error of BullMQ. Permanent failures abort `fatal`; unknown errors are reported once per kind. */
  readonly onError = (error: unknown): void => {
    const { signal, onEngineError } = this.#deps;
    if (error instanceof MediactlError || signal.aborted) return;
    const failure = classifyStoreError(this.#address, error, this.role);
    const { message } = error as Error;
    const kind = message.replace(/\S*\d\S*/g, '#'); // job ids
    if (isOutage(error)) this.#monitor.onOutage(error);
    else if (failure) this.fatal.abort(failure);
    else if (!this.#reported.has(kind) && this.#reported.size < maxReportedErrors) {
      this.#reported.add(kind);
      onEngineError?.(`the queue ${this.#address.label}: ${message}`);
    }
  };

  /** Wraps a retry function so that it throws a MediactlError for known store errors. */
  withErrorClassification(retry: RetryFunction): RetryFunction {
    return (request) =>
      retry(request).catch((error) => {
        throw classifyStoreError(this.#address, error, this.role) ?? error;
      });
  }

  readonly onReconnect = (listener: ReconnectListener): void => void this.#reconnectListeners.push(listener);

  /** Notifies listeners that the store is connected, perhaps to another server. @param identity id of the server process */
  notifyReconnected(identity: Promise<string | undefined>): void {
    const isOther = identity.then((current) => {
      const previous = this.#identity;
      this.#identity = current;
      return previous !== undefined && current !== previous;
    });
    isOther.catch(() => {}); // the store is down again
    for (const listener of this.#reconnectListeners) listener(isOther);
  }
}
