import type { Clock } from '../clock.ts';
import { asMediactlError, exitCodes, MediactlError } from '../errors.ts';
import type { Fleet } from './fleet.ts';
import { heeding } from './patience.ts';
import type { Roots } from './roots.ts';
import { selfCheck } from './self-check.ts';

const longestCheckMs = 60_000;
/** Number of consecutive failures with one code after which a worker pauses. */
const maxFailuresInRow = 10;

/** Abort reason of attempts when their worker pauses or stops itself. */
export const paused = new MediactlError('this worker paused', {
  code: 'worker_paused',
  exitCode: exitCodes.rejected,
});

type Tools = { roots: Roots; clock: Clock; leaseMs: number; warn(text: string): void };

/** Circuit breaker of a worker: pauses it while a self-check fails or after too many consecutive failures, and warns why. */
export class Health {
  readonly #fleet: Fleet;
  readonly #tools: Tools;
  readonly #checkMs: number;
  /** Aborts when the worker pauses; replaced when it continues. */
  #shift = new AbortController();
  /** Reason of the current pause. */
  #trouble: MediactlError | undefined;
  /** Number of consecutive failures, and their common code. */
  #inRow = { code: '', count: 0 };
  /** Half-open: after a pause, the worker processes one file at a time until one succeeds. */
  isOnProbation = false;

  constructor(fleet: Fleet, tools: Tools) {
    this.#fleet = fleet;
    this.#tools = tools;
    this.#checkMs = Math.min(longestCheckMs, 2 * tools.leaseMs);
  }

  /**
   * Runs the self-check until it succeeds, with warnings.
   *
   * @returns a signal that aborts with `over`, or when the worker pauses next
   */
  async untilSound(over: AbortSignal): Promise<AbortSignal> {
    const { clock } = this.#tools;
    await heeding(this.#pauseOver(over), { clock, signal: over }).catch(() => {}); // stopped
    this.#trouble = undefined;
    this.#inRow.count = 0;
    this.#shift = new AbortController();
    return AbortSignal.any([over, this.#shift.signal]);
  }

  async #pauseOver(over: AbortSignal): Promise<void> {
    const { warn, clock } = this.#tools;
    let said = '';
    let trouble = this.#trouble ?? (await this.#check(warn));
    while (trouble && !over.aborted) {
      const { message, explanation } = trouble;
      const why = [message, explanation.reason, explanation.hint].filter(Boolean).join('; ');
      const again = `it checks again every ${this.#checkMs / 1_000} s`;
      if (message !== said) warn(`this worker is paused: ${why}; ${again}`);
      said = message;
      this.isOnProbation = true;
      await clock.sleep(this.#checkMs, over).catch(() => {});
      if (!over.aborted) trouble = await this.#check();
    }
    if (said && !over.aborted) warn('this worker continues: nothing is wrong any more');
  }

  /** Runs the self-check. @returns its error, if any */
  #check(warn: (text: string) => void = () => {}): Promise<MediactlError | undefined> {
    return selfCheck(this.#fleet, { ...this.#tools, warn }).then(() => undefined, asMediactlError);
  }

  /** Runs the self-check at intervals until the signal aborts. */
  async keepChecking(over: AbortSignal): Promise<void> {
    while (!over.aborted) {
      await this.#tools.clock.sleep(this.#checkMs, over).catch(() => {});
      const trouble = over.aborted ? undefined : await this.#check();
      if (trouble && !over.aborted) this.pause(trouble);
    }
  }

  /** Pauses the worker: requeues its jobs, and fetches no others until a self-check succeeds. */
  pause(trouble: MediactlError): void {
    this.#trouble ??= trouble;
    this.#shift.abort(paused);
  }

  succeeded(): void {
    this.#inRow.count = 0;
    this.isOnProbation = false;
  }

  /** Counts a failure that may be this worker's fault. Pauses it after too many consecutive ones with one code. */
  failed({ explanation, message: reason }: MediactlError): void {
    const { code, hint } = explanation;
    this.#inRow = { code, count: this.#inRow.code === code ? this.#inRow.count + 1 : 1 };
    if (this.#inRow.count < maxFailuresInRow) return;
    const problem = `${maxFailuresInRow} files in a row failed with ${code}`;
    this.pause(new MediactlError(problem, { ...paused.explanation, reason, hint }));
  }
}
