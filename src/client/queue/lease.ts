import type { Clock } from '../clock.ts';
import { exitCodes, MediactlError } from '../errors.ts';

/**
 * Expiring lock of a worker on one file, renewed by heartbeat. Check it before every send or write: the
 * process may have been suspended, and another worker may have the file by then.
 */
export class Lease {
  readonly #clock: Clock;
  readonly #leaseMs: number;
  readonly #path: string;
  readonly #aborter = new AbortController();
  #renewedAt: { wall: number; steady: number };

  constructor(clock: Clock, leaseMs: number, path: string) {
    this.#clock = clock;
    this.#leaseMs = leaseMs;
    this.#path = path;
    this.#renewedAt = this.#now();
  }

  /** Aborts when the lease is lost. */
  get signal(): AbortSignal {
    return this.#aborter.signal;
  }

  renew(): void {
    this.#renewedAt = this.#now();
  }

  /** Ends the lease. @returns the error that its signal aborts with */
  revoke(): MediactlError {
    if (!this.#aborter.signal.aborted) this.#aborter.abort(leaseLostError(this.#path));
    return this.#aborter.signal.reason as MediactlError;
  }

  /** @throws MediactlError `lease_lost` */
  assertHeld(): void {
    if (!this.isHeld) throw this.revoke();
  }

  get isHeld(): boolean {
    const now = this.#now();
    // The wall clock catches suspend, the monotonic clock catches clock changes.
    const elapsedMs = Math.max(
      now.wall - this.#renewedAt.wall,
      now.steady - this.#renewedAt.steady,
    );
    return !this.#aborter.signal.aborted && elapsedMs < this.#leaseMs;
  }

  #now() {
    return { wall: this.#clock.now(), steady: performance.now() };
  }
}

const leaseLostError = (path: string) =>
  new MediactlError(`${path} is in another worker's hands`, {
    code: 'lease_lost',
    exitCode: exitCodes.rejected,
    reason: 'this worker was not heard of for longer than --lease',
  });
