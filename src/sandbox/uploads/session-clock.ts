import type { Sessions } from '../store/sessions.ts';
import type { Receiver } from './receiver.ts';

export type SessionClockOptions = {
  sessions: Sessions;
  receiver: Receiver;
  now(): number;
  log(line: string): void;
};

/** A machine that slept has a timer that is late; nobody waits longer than this. */
const longestMs = 60_000;
/** After a disk or a store that refused. */
const againMs = 1_000;

/**
 * Does at its time what no request does: ends sessions that expire, so that their assets fail, and
 * completes those that a full disk or a locked store kept from it.
 */
export class SessionClock {
  readonly #options: SessionClockOptions;
  #timer: NodeJS.Timeout | undefined;
  #round: Promise<void> | undefined;
  #isClosed = false;

  constructor(options: SessionClockOptions) {
    this.#options = options;
  }

  /** Looks when the next session is due: after a start, and where one is made or changed. */
  look(): void {
    if (this.#isClosed || this.#round) return; // a round looks again when it ends
    clearTimeout(this.#timer);
    this.#timer = setTimeout(
      () => {
        this.#round = this.#run();
      },
      Math.min(longestMs, this.#untilNextMs()),
    );
    this.#timer.unref();
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    clearTimeout(this.#timer);
    await this.#round;
  }

  #untilNextMs(): number {
    const { sessions, receiver, now, log } = this.#options;
    if (receiver.isOwing) return againMs;
    try {
      const leftMs = (sessions.nextExpiry() ?? Number.POSITIVE_INFINITY) - now();
      return leftMs > 0 ? leftMs : againMs; // one that is over already is being written to
    } catch (error) {
      log(`error sessions: ${(error as Error).message}`);
      return againMs;
    }
  }

  async #run(): Promise<void> {
    const { receiver, now, log } = this.#options;
    try {
      await receiver.clearExpired(now());
      await receiver.completeAgain();
    } catch (error) {
      log(`error sessions: ${(error as Error).message}`);
    }
    this.#round = undefined;
    this.look();
  }
}
