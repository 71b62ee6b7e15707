import type { Clock } from '../clock.ts';
import { exitCodes, MediactlError } from '../errors.ts';

/**
 * A worker's hold on one file, for a while after it was last heard of. A process that was frozen looks at
 * the time before it sends or writes anything: by then another one may have the file.
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

  /** Aborts once the file is somebody else's. */
  get signal(): AbortSignal {
    return this.#ended.signal;
  }

  renewed(): void {
    this.#renewedAt = this.#now();
  }

  /** @returns what it ends with */
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
    // A clock that is set, and a machine that sleeps: each shows in one of the two.
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
