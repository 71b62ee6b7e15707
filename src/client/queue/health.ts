import type { Clock } from '../clock.ts';
import { asMediactlError, exitCodes, MediactlError } from '../errors.ts';
import type { Fleet } from './fleet.ts';
import { heeding } from './patience.ts';
import type { Roots } from './roots.ts';
import { selfCheck } from './self-check.ts';

const longestCheckMs = 60_000;
/** Failures of one kind in a row after which a worker pauses. */
const maxFailuresInRow = 10;

/** Ends the attempts of a worker that pauses or ends by itself. */
export const paused = new MediactlError('this worker paused', {
  code: 'worker_paused',
  exitCode: exitCodes.rejected,
});

type Tools = { roots: Roots; clock: Clock; leaseMs: number; warn(text: string): void };

/** Pauses a worker while something is wrong with it, and says what. */
export class Health {
  readonly #fleet: Fleet;
  readonly #tools: Tools;
  readonly #checkMs: number;
  /** Aborts when the worker pauses; another one replaces it when it continues. */
  #shift = new AbortController();
  /** Why it pauses, until it continues. */
  #trouble: MediactlError | undefined;
  /** The last failures, all with one code. */
  #inRow = { code: '', count: 0 };
  /** The worker takes one file at a time after a pause, until one succeeds. */
  isOnProbation = false;

  constructor(fleet: Fleet, tools: Tools) {
    this.#fleet = fleet;
    this.#tools = tools;
    this.#checkMs = Math.min(longestCheckMs, 2 * tools.leaseMs);
  }

  /**
   * Checks the worker. While something is wrong, says what, and checks again.
   *
   * @returns aborts with `over`, and when the worker pauses next
   */
  async untilSound(over: AbortSignal): Promise<AbortSignal> {
    const { clock } = this.#tools;
    await heeding(this.#pauseOver(over), { clock, signal: over }).catch(() => {}); // told to end
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

  /** @returns what is wrong */
  #check(warn: (text: string) => void = () => {}): Promise<MediactlError | undefined> {
    return selfCheck(this.#fleet, { ...this.#tools, warn }).then(() => undefined, asMediactlError);
  }

  /** Checks regularly until the signal aborts. */
  async keepChecking(over: AbortSignal): Promise<void> {
    while (!over.aborted) {
      await this.#tools.clock.sleep(this.#checkMs, over).catch(() => {});
      const trouble = over.aborted ? undefined : await this.#check();
      if (trouble && !over.aborted) this.pause(trouble);
    }
  }

  /** Hands back what is under way; nothing is taken until a later check finds nothing wrong. */
  pause(trouble: MediactlError): void {
    this.#trouble ??= trouble;
    this.#shift.abort(paused);
  }

  succeeded(): void {
    this.#inRow.count = 0;
    this.isOnProbation = false;
  }

  /** Pauses the worker when too many files in a row fail in one way that may be its own fault. */
  failed({ explanation, message: reason }: MediactlError): void {
    const { code, hint } = explanation;
    this.#inRow = { code, count: this.#inRow.code === code ? this.#inRow.count + 1 : 1 };
    if (this.#inRow.count < maxFailuresInRow) return;
    const problem = `${maxFailuresInRow} files in a row failed with ${code}`;
    this.pause(new MediactlError(problem, { ...paused.explanation, reason, hint }));
  }
}
