import { exitCodes, MediactlError } from '../errors.ts';

/** Maximum duration of a response, as a multiple of the idle timeout. */
const answerSilences = 10;
/** Throughput window of a streamed body, as a multiple of the idle timeout. A minute by default. */
const windowSilences = 2;
/** Minimum throughput of a streamed body, in bytes per second. */
const minRate = 1024;

/**
 * Aborts slow responses, which an idle timeout misses if a byte arrives now and then. The total time from
 * sending the request is limited; a streamed body (a download) has a minimum throughput per window instead.
 */
export class AnswerLimit {
  readonly #answerMs: number;
  readonly #windowMs: number;
  readonly #origin: string;
  readonly #abort = new AbortController();
  #timer: NodeJS.Timeout | undefined;
  #received = 0;
  /** Milliseconds spent in the consumer of the body (back-pressure). They do not count against the service. */
  #takenMs = 0;
  #takenFrom: number | undefined;

  /** @param idleTimeoutMs idle timeout of the connection */
  constructor(silenceMs: number, origin: string) {
    this.#answerMs = answerSilences * silenceMs;
    this.#windowMs = windowSilences * silenceMs;
    this.#origin = origin;
  }

  /** Signal that aborts with a MediactlError `timeout`. */
  get signal(): AbortSignal {
    return this.#abort.signal;
  }

  /** Starts the total time limit once the request is sent. */
  begin(): void {
    this.#timer ??= setTimeout(
      () => this.#end('its answer did not end', this.#answerMs),
      this.#answerMs,
    );
  }

  /** Replaces the total time limit with a minimum throughput, for a body of any length. */
  beginStream(): void {
    clearTimeout(this.#timer);
    let [before, takenBefore] = [this.#received, this.#takenMs];
    this.#timer = setInterval(() => {
      const takenMs = this.#takenMs + this.#takingMs() - takenBefore;
      // Nothing can arrive while the consumer is busy. A window mostly spent in the consumer is too short to measure.
      const isJudged = takenMs < this.#windowMs / 2;
      const owed = (minRate * (this.#windowMs - takenMs)) / 1000;
      if (isJudged && this.#received - before < owed)
        this.#end(`it sent ${this.#received - before} bytes`, this.#windowMs);
      [before, takenBefore] = [this.#received, takenBefore + takenMs];
    }, this.#windowMs);
  }

  /** Counts a received chunk and awaits its consumer, whose time is excluded from the throughput. */
  async received(count: number, taken: Promise<void>): Promise<void> {
    this.#received += count;
    this.#takenFrom = performance.now();
    try {
      await taken;
    } finally {
      this.#takenMs += this.#takingMs();
      this.#takenFrom = undefined;
    }
  }

  /** Returns the time spent so far on the chunk that is being consumed. */
  #takingMs(): number {
    return this.#takenFrom === undefined ? 0 : performance.now() - this.#takenFrom;
  }

  /** Stops the timer after the response is complete or abandoned. */
  clear(): void {
    clearTimeout(this.#timer);
  }

  #end(what: string, limitMs: number): void {
    const seconds = Math.round(limitMs / 1000);
    this.#abort.abort(
      new MediactlError(`${this.#origin} takes too long`, {
        code: 'timeout',
        exitCode: exitCodes.unreachable,
        reason: `${what} within ${seconds} s`,
        hint: 'run it again, or allow more with --request-timeout',
        retryable: true,
      }),
    );
  }
}
