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
  readonly #ended = new AbortController();
  #renewedAt: { wall: number; steady: number };

  constructor(clock: Clock, leaseMs: number, path: string) {
    this.#clock = clock;
    this.#leaseMs = leaseMs;
    this.#path = path;
    this.#renewedAt = this.#now();
  }

  /** Aborts when the lease is lost. */
  get signal(): AbortSignal {
    return this.#ended.signal;
  }

  renewed(): void {
    this.#renewedAt = this.#now();
  }

  /** Ends the lease. @returns the error that its signal aborts with */
  lost(): MediactlError {
    if (!this.#ended.signal.aborted) this.#ended.abort(leaseLost(this.#path));
    return this.#ended.signal.reason as MediactlError;
  }

  /** @throws MediactlError `lease_lost` */
  assertHeld(): void {
    if (!this.isHeld) throw this.lost();
  }

  get isHeld(): boolean {
    const now = this.#now();
    // The wall clock catches suspend, the monotonic clock catches clock changes.
    const silentMs = Math.max(now.wall - this.#renewedAt.wall, now.steady - this.#renewedAt.steady);
    return !this.#ended.signal.aborted && silentMs < this.#leaseMs;
  }

  #now() {
    return { wall: this.#clock.now(), steady: performance.now() };
  }
}

const leaseLost = (path: string) =>
  new MediactlError(`${path} is in another worker's hands`, {
    code: 'lease_lost',
    exitCode: exitCodes.rejected,
    reason: 'this worker was not heard of for longer than --lease',
  });
