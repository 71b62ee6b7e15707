import { MediactlError } from '../errors.ts';

/** Maximum duration of a response, as a multiple of the idle timeout. */
const responseTimeoutFactor = 10;
/** Window in which throughput is measured, as a multiple of the idle timeout. It lasts one minute by default. */
const throughputWindowFactor = 2;
/** Minimum throughput of a streamed body, in bytes per second. */
const minBytesPerSecond = 1024;

/**
 * Aborts slow responses, which an idle timeout misses if a byte arrives now and then. Limits the time from sending
 * the request to the end of the response. A streamed body (a download) must instead reach a minimum throughput in
 * each window.
 */
export class ResponseDeadline {
  readonly #responseTimeoutMs: number;
  readonly #windowMs: number;
  readonly #origin: string;
  readonly #abort = new AbortController();
  #timer: NodeJS.Timeout | undefined;
  #received = 0;
  /** Time spent in the consumer of the body (back-pressure), which does not count as slowness of the service. */
  #consumerMs = 0;
  #consumingSince: number | undefined;

  /** @param idleTimeoutMs idle timeout of the connection */
  constructor(idleTimeoutMs: number, origin: string) {
    this.#responseTimeoutMs = responseTimeoutFactor * idleTimeoutMs;
    this.#windowMs = throughputWindowFactor * idleTimeoutMs;
    this.#origin = origin;
  }

  /** Signal that aborts with a MediactlError `timeout` (exit 10) if the response is too slow. */
  get signal(): AbortSignal {
    return this.#abort.signal;
  }

  /** Starts the time limit for the response. Called once the request is sent. */
  start(): void {
    this.#timer ??= setTimeout(
      () => this.#abortWith('its answer did not end', this.#responseTimeoutMs),
      this.#responseTimeoutMs,
    );
  }

  /** Replaces the time limit with a minimum throughput, because a streamed body can have any length. */
  startStream(): void {
    clearTimeout(this.#timer);
    let [receivedBefore, consumerMsBefore] = [this.#received, this.#consumerMs];
    this.#timer = setInterval(() => {
      const consumerMs = this.#consumerMs + this.#currentConsumerMs() - consumerMsBefore;
      // Nothing can arrive while the consumer is busy, so a window mostly spent in the consumer is too short to measure.
      const isMeasurable = consumerMs < this.#windowMs / 2;
      const requiredBytes = (minBytesPerSecond * (this.#windowMs - consumerMs)) / 1000;
      if (isMeasurable && this.#received - receivedBefore < requiredBytes)
        this.#abortWith(`it sent ${this.#received - receivedBefore} bytes`, this.#windowMs);
      [receivedBefore, consumerMsBefore] = [this.#received, consumerMsBefore + consumerMs];
    }, this.#windowMs);
  }

  /** Counts a received chunk and awaits its consumer, whose time is excluded from the throughput. */
  async onChunk(count: number, consumed: Promise<void>): Promise<void> {
    this.#received += count;
    this.#consumingSince = performance.now();
    try {
      await consumed;
    } finally {
      this.#consumerMs += this.#currentConsumerMs();
      this.#consumingSince = undefined;
    }
  }

  /** Returns the milliseconds spent so far on the chunk that is being consumed. */
  #currentConsumerMs(): number {
    return this.#consumingSince === undefined ? 0 : performance.now() - this.#consumingSince;
  }

  /** Stops the timer after the response is complete or abandoned. */
  clear(): void {
    clearTimeout(this.#timer);
  }

  #abortWith(what: string, limitMs: number): void {
    const seconds = Math.round(limitMs / 1000);
    this.#abort.abort(
      new MediactlError(`${this.#origin} takes too long`, {
        code: 'timeout',
        reason: `${what} within ${seconds} s`,
        retryable: true,
      }),
    );
  }
}
