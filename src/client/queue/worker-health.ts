import type { Clock } from '../../contract/clock.ts';
import { asMediactlError, MediactlError } from '../errors.ts';
import { raceAbort } from './connection-monitor.ts';
import type { QueueClient } from './queue-client.ts';
import type { Roots } from './roots.ts';
import { runSelfCheck } from './self-check.ts';

const maxCheckIntervalMs = 60_000;
/** Number of consecutive failures with the same error code after which a worker pauses. */
const maxConsecutiveFailures = 10;

/** Abort reason of attempts when their worker pauses or stops itself. */
export const pausedError = new MediactlError('this worker paused', {
  code: 'worker_paused',
});

type WorkerHealthDeps = { roots: Roots; clock: Clock; leaseMs: number; warn(text: string): void };

/** Circuit breaker that pauses a worker, with a warning, if a self-check fails or too many files fail in succession. */
export class WorkerHealth {
  readonly #client: QueueClient;
  readonly #deps: WorkerHealthDeps;
  readonly #checkIntervalMs: number;
  /** Aborts when the worker pauses; replaced when it continues. */
  #active = new AbortController();
  /** Reason of the current pause. */
  #pauseReason: MediactlError | undefined;
  /** Number of consecutive failures, and their common code. */
  #failureStreak = { code: '', count: 0 };
  /** True after a pause, when the worker processes one file at a time until a file succeeds. */
  isHalfOpen = false;

  constructor(client: QueueClient, deps: WorkerHealthDeps) {
    this.#client = client;
    this.#deps = deps;
    this.#checkIntervalMs = Math.min(maxCheckIntervalMs, 2 * deps.leaseMs);
  }

  /**
   * Runs the self-check until it succeeds, and warns with the reason while the worker is paused.
   *
   * @returns a signal that aborts with `signal`, or when the worker next pauses
   */
  async waitUntilHealthy(signal: AbortSignal): Promise<AbortSignal> {
    const { clock } = this.#deps;
    await raceAbort(this.#waitWhileUnhealthy(signal), { clock, signal }).catch(() => {}); // stopped
    this.#pauseReason = undefined;
    this.#failureStreak.count = 0;
    this.#active = new AbortController();
    return AbortSignal.any([signal, this.#active.signal]);
  }

  async #waitWhileUnhealthy(signal: AbortSignal): Promise<void> {
    const { warn, clock } = this.#deps;
    let warned = '';
    let problem = this.#pauseReason ?? (await this.#check(warn));
    while (problem && !signal.aborted) {
      const { message, explanation } = problem;
      const why = [message, explanation.reason, explanation.hint].filter(Boolean).join('; ');
      const nextCheck = `it checks again every ${this.#checkIntervalMs / 1_000} s`;
      if (message !== warned) warn(`this worker is paused: ${why}; ${nextCheck}`);
      warned = message;
      this.isHalfOpen = true;
      await clock.sleep(this.#checkIntervalMs, signal).catch(() => {});
      if (!signal.aborted) problem = await this.#check();
    }
    if (warned && !signal.aborted) warn('this worker continues: nothing is wrong any more');
  }

  /** Runs the self-check. @returns its error, or undefined if it succeeds */
  #check(warn: (text: string) => void = () => {}): Promise<MediactlError | undefined> {
    return runSelfCheck(this.#client, { ...this.#deps, warn }).then(() => undefined, asMediactlError);
  }

  /** Runs the self-check at intervals until the signal aborts, and pauses the worker if the check fails. */
  async checkPeriodically(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await this.#deps.clock.sleep(this.#checkIntervalMs, signal).catch(() => {});
      const problem = signal.aborted ? undefined : await this.#check();
      if (problem && !signal.aborted) this.pause(problem);
    }
  }

  /** Pauses the worker, which requeues its jobs and fetches no others until a self-check succeeds. */
  pause(reason: MediactlError): void {
    this.#pauseReason ??= reason;
    this.#active.abort(pausedError);
  }

  onSuccess(): void {
    this.#failureStreak.count = 0;
    this.isHalfOpen = false;
  }

  /** Counts a failure that might be this worker's fault. Pauses the worker after too many with the same code. */
  onFailure({ explanation, message: reason }: MediactlError): void {
    const { code, hint } = explanation;
    this.#failureStreak = {
      code,
      count: this.#failureStreak.code === code ? this.#failureStreak.count + 1 : 1,
    };
    if (this.#failureStreak.count < maxConsecutiveFailures) return;
    const problem = `${maxConsecutiveFailures} files in a row failed with ${code}`;
    this.pause(new MediactlError(problem, { ...pausedError.explanation, reason, hint }));
  }
}
