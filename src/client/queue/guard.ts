import { MediactlError } from '../errors.ts';
import type { FleetTools } from './fleet.ts';
import { isOutage, type Outages } from './patience.ts';
import type { QueueAddress } from './queue-address.ts';
import { knownFailure } from './store-errors.ts';

type Wait = <T>(ask: () => Promise<T>) => Promise<T>;
type OnReturn = (isOther: Promise<boolean>) => void;

const maxKinds = 10;

/** Classifies the errors of an open store, and detects a failover to another server. */
export class Guard {
  readonly #address: QueueAddress;
  readonly #outages: Outages;
  readonly #tools: FleetTools;
  /** Messages already reported, with ids replaced, to report each kind once. */
  readonly #kinds = new Set<string>();
  readonly #onReturn: OnReturn[] = [];
  #identity: string | undefined;
  readonly refused = new AbortController();
  /** PostgreSQL role in use, for error messages. */
  role: string | undefined;

  constructor(address: QueueAddress, outages: Outages, tools: FleetTools) {
    this.#address = address;
    this.#outages = outages;
    this.#tools = tools;
  }

  /** Handles a background error of the engine: an outage, a permanent failure, or else a warning, once per kind. */
  readonly onError = (error: unknown): void => {
    const { signal, onTrouble } = this.#tools;
    if (error instanceof MediactlError || signal.aborted) return;
    const failure = knownFailure(this.#address, error, this.role);
    const { message } = error as Error;
    const kind = message.replace(/\S*\d\S*/g, '#'); // job ids
    if (isOutage(error)) this.#outages.noticed(error);
    else if (failure) this.refused.abort(failure);
    else if (!this.#kinds.has(kind) && this.#kinds.size < maxKinds) {
      this.#kinds.add(kind);
      onTrouble?.(`the queue ${this.#address.label}: ${message}`);
    }
  };

  /** Wraps a retry function so that known store errors are thrown as a MediactlError. */
  classified(wait: Wait): Wait {
    return (ask) =>
      wait(ask).catch((error) => {
        throw knownFailure(this.#address, error, this.role) ?? error;
      });
  }

  readonly onReturn = (hear: OnReturn): void => void this.#onReturn.push(hear);

  /** Reports a new connection to the listeners, and whether it leads to another server. @param identity id of the server process */
  returned(identity: Promise<string | undefined>): void {
    const isOther = identity.then((found) => {
      const before = this.#identity;
      this.#identity = found;
      return before !== undefined && found !== before;
    });
    isOther.catch(() => {}); // the store is down again
    for (const hear of this.#onReturn) hear(isOther);
  }
}
