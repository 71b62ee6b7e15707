import { exitCodes, MediactlError } from '../errors.ts';

/** How long an answer may take, in times of the longest silence. */
const answerSilences = 10;
/** How long the throughput of a streamed body is measured, in times of the longest silence: a minute by default. */
const windowSilences = 2;
/** Minimum throughput of a streamed body, in bytes a second. */
const minRate = 1024;

/**
 * Ends an answer that does not come to its end: one that drips a byte now and then is never silent.
 * Counted from when the request is sent; of a body that is handed on as it comes (a download), what
 * comes in each such time is counted instead.
 */
export class AnswerLimit {
  readonly #answerMs: number;
  readonly #windowMs: number;
  readonly #origin: string;
  readonly #abort = new AbortController();
  #timer: NodeJS.Timeout | undefined;
  #received = 0;
  /** Milliseconds in which whoever takes the body was at work on it. */
  #takenMs = 0;
  #takenFrom: number | undefined;

  /** @param silenceMs milliseconds: the longest silence of the connection */
  constructor(silenceMs: number, origin: string) {
    this.#answerMs = answerSilences * silenceMs;
    this.#windowMs = windowSilences * silenceMs;
    this.#origin = origin;
  }

  /** Aborts with a MediactlError `timeout`. */
  get signal(): AbortSignal {
    return this.#abort.signal;
  }

  /** The request is sent, or its answer begins: from here on it must come to its end. */
  begin(): void {
    this.#timer ??= setTimeout(
      () => this.#end('its answer did not end', this.#answerMs),
      this.#answerMs,
    );
  }

  /** A body that may take as long as it likes, as long as it comes. */
  beginStream(): void {
    clearTimeout(this.#timer);
    let [before, takenBefore] = [this.#received, this.#takenMs];
    this.#timer = setInterval(() => {
      const takenMs = this.#takenMs + this.#takingMs() - takenBefore;
      // While a part is being taken nothing can come; what is left of such a time is too short to judge.
      const isJudged = takenMs < this.#windowMs / 2;
      const owed = (minRate * (this.#windowMs - takenMs)) / 1000;
      if (isJudged && this.#received - before < owed)
        this.#end(`it sent ${this.#received - before} bytes`, this.#windowMs);
      [before, takenBefore] = [this.#received, takenBefore + takenMs];
    }, this.#windowMs);
  }

  /** A part of the body came; the time until it is taken is not the service's. */
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

  /** Of the part that is being taken now. */
  #takingMs(): number {
    return this.#takenFrom === undefined ? 0 : performance.now() - this.#takenFrom;
  }

  /** The answer is here, or given up. */
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
