import { CodedError } from '../client/errors.ts';
import { type Clock, startAge } from '../shared/clock.ts';

/**
 * Expiring lock that a worker holds on one file and renews by heartbeat. Check it before every send or write,
 * because another worker might have the file if this process was suspended.
 */
export class Lease {
  readonly #clock: Clock;
  readonly #leaseMs: number;
  readonly #path: string;
  readonly #aborter = new AbortController();
  /** Aborts when the lease is lost. */
  readonly signal = this.#aborter.signal;
  /** Returns the time since the last heartbeat, by the wall clock, too, which shows that the machine was suspended. */
  #ageMs: () => number;

  constructor(clock: Clock, leaseMs: number, path: string) {
    this.#clock = clock;
    this.#leaseMs = leaseMs;
    this.#path = path;
    this.#ageMs = startAge(clock);
  }

  renew(): void {
    this.#ageMs = startAge(this.#clock);
  }

  /** Ends the lease. @returns the error with which its signal aborts */
  revoke(): CodedError {
    const reason = 'this worker sent no heartbeat for longer than its lease';
    const lost = new CodedError(`another worker may have taken over ${this.#path}`, { code: 'taken_over', reason });
    if (!this.signal.aborted) this.#aborter.abort(lost);
    return this.signal.reason as CodedError;
  }

  /** @throws CodedError `taken_over` if the lease has expired or was revoked */
  assertHeld(): void {
    if (!this.isHeld) throw this.revoke();
  }

  get isHeld(): boolean {
    return !this.signal.aborted && this.#ageMs() < this.#leaseMs;
  }
}
