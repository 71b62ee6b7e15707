import { MediactlError } from '../errors.ts';
import type { FleetTools } from './fleet.ts';
import { isOutage, type Outages } from './patience.ts';
import type { QueueAddress } from './queue-address.ts';
import { knownFailure } from './store-errors.ts';

type Wait = <T>(ask: () => Promise<T>) => Promise<T>;
type OnReturn = (isOther: Promise<boolean>) => void;

const maxKinds = 10;

/** Watches a store that is open: for what it refuses, and for another server in its place. */
export class Guard {
  readonly #address: QueueAddress;
  readonly #outages: Outages;
  readonly #tools: FleetTools;
  /** Kinds of errors that were reported. */
  readonly #kinds = new Set<string>();
  readonly #onReturn: OnReturn[] = [];
  #identity: string | undefined;
  readonly refused = new AbortController();
  /** The role in use, on PostgreSQL. */
  role: string | undefined;

  constructor(address: QueueAddress, outages: Outages, tools: FleetTools) {
    this.#address = address;
    this.#outages = outages;
    this.#tools = tools;
  }

  /** Sorts an error that the engine met by itself: an outage, a refusal, or a warning, once a kind. */
  readonly onError = (error: unknown): void => {
    const { signal, onTrouble } = this.#tools;
    if (error instanceof MediactlError || signal.aborted) return;
    const failure = knownFailure(this.#address, error, this.role);
    const { message } = error as Error;
    const kind = message.replace(/\S*\d\S*/g, '#'); // ids of jobs
    if (isOutage(error)) this.#outages.noticed(error);
    else if (failure) this.refused.abort(failure);
    else if (!this.#kinds.has(kind) && this.#kinds.size < maxKinds) {
      this.#kinds.add(kind);
      onTrouble?.(`the queue ${this.#address.label}: ${message}`);
    }
  };

  /** Wraps a way to ask: what is refused is thrown as a MediactlError. */
  classified(wait: Wait): Wait {
    return (ask) =>
      wait(ask).catch((error) => {
        throw knownFailure(this.#address, error, this.role) ?? error;
      });
  }

  readonly onReturn = (hear: OnReturn): void => void this.#onReturn.push(hear);

  /** The store is there, perhaps again. @param identity of its server */
  returned(identity: Promise<string | undefined>): void {
    const isOther = identity.then((found) => {
      const before = this.#identity;
      this.#identity = found;
      return before !== undefined && found !== before;
    });
    isOther.catch(() => {}); // it is away again
    for (const hear of this.#onReturn) hear(isOther);
  }
}
