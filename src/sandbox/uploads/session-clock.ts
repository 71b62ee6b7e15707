import type { Sessions } from '../store/sessions.ts';
import type { Receiver } from './receiver.ts';

export type SessionClockOptions = {
  sessions: Sessions;
  receiver: Receiver;
  now(): number;
  log(line: string): void;
};

/** Maximum timer delay, since timers stop while the machine sleeps. */
const longestMs = 60_000;
/** Retry delay after an error of the disk or the database. */
const againMs = 1_000;

/**
 * Sweeps upload sessions in the background: expires overdue ones, and retries completions that a
 * full disk or a locked database prevented.
 */
export class SessionClock {
  readonly #options: SessionClockOptions;
  #timer: NodeJS.Timeout | undefined;
  #round: Promise<void> | undefined;
  #isClosed = false;

  constructor(options: SessionClockOptions) {
    this.#options = options;
  }

  /**
   * Schedules the next sweep for the next expiry. Call it at startup and after a session is created
   * or changed.
   */
  look(): void {
    if (this.#isClosed || this.#round) return; // a running sweep schedules the next one
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
      return leftMs > 0 ? leftMs : againMs; // an overdue session is still being written to
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
