import type { UploadSessions } from '../store/sessions.ts';
import type { Receiver } from './receiver.ts';

export type SessionSweeperOptions = {
  sessions: UploadSessions;
  receiver: Receiver;
  now(): number;
  log(line: string): void;
};

/** Maximum timer delay, because timers stop while the machine sleeps. */
const maxDelayMs = 60_000;
/** Retry delay after a disk or database error. */
const retryDelayMs = 1_000;

/**
 * Sweeps upload sessions in the background. Expires overdue sessions, and retries completions that failed because
 * of a full disk or a locked database.
 */
export class SessionSweeper {
  readonly #options: SessionSweeperOptions;
  #timer: NodeJS.Timeout | undefined;
  #running: Promise<void> | undefined;
  #isClosed = false;

  constructor(options: SessionSweeperOptions) {
    this.#options = options;
  }

  /**
   * Schedules the next sweep for the time when the next session expires. Call it at startup and after a session is
   * created or changed.
   */
  schedule(): void {
    if (this.#isClosed || this.#running) return; // a running sweep schedules the next one
    clearTimeout(this.#timer);
    this.#timer = setTimeout(
      () => {
        this.#running = this.#sweep();
      },
      Math.min(maxDelayMs, this.#delayMs()),
    );
    this.#timer.unref();
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    clearTimeout(this.#timer);
    await this.#running;
  }

  #delayMs(): number {
    const { sessions, receiver, now, log } = this.#options;
    if (receiver.hasPendingCompletions) return retryDelayMs;
    try {
      const leftMs = (sessions.nextExpiry() ?? Number.POSITIVE_INFINITY) - now();
      return leftMs > 0 ? leftMs : retryDelayMs; // an overdue session is still being written to
    } catch (error) {
      log(`error sessions: ${(error as Error).message}`);
      return retryDelayMs;
    }
  }

  async #sweep(): Promise<void> {
    const { receiver, now, log } = this.#options;
    try {
      await receiver.clearExpired(now());
      await receiver.retryPending();
    } catch (error) {
      log(`error sessions: ${(error as Error).message}`);
    }
    this.#running = undefined;
    this.schedule();
  }
}
