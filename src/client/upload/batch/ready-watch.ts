import { asText } from '../../../contract/json-values.ts';
import { waitForIncoming } from '../../api/wait-for-assets.ts';
import { asMediactlError, MediactlError } from '../../errors.ts';
import { toWaitingEvent } from '../session/events.ts';
import type { FileOutcome, RunDeps } from '../session/upload-job.ts';
import { labelOf } from '../session/upload-job.ts';

type ReadyListeners = {
  /** Called with each file once its asset is ready, has failed, or timed out. */
  onResult(outcome: FileOutcome): void;
  /** Called with an error of polling, or of writing a receipt. */
  onFailed(error: MediactlError): void;
};

/**
 * Polls the assets of finished uploads while other files are still being sent. Reports each file once its asset is
 * ready, has failed, or timed out.
 */
export class ReadyWatch {
  readonly #deps: RunDeps;
  readonly #timeoutMs: number;
  readonly #report: (outcome: FileOutcome) => void;
  readonly #onFailed: (error: MediactlError) => void;
  /** Maps an asset uid to the files to report. Files with the same content can share an asset. */
  readonly #waiting = new Map<string, FileOutcome[]>();
  readonly #aborter = new AbortController();
  readonly #receiptWrites: Promise<void>[] = [];
  #added: string[] = [];
  #close = () => {};
  readonly #closed = new Promise<void>((resolve) => {
    this.#close = resolve;
  });

  constructor(deps: RunDeps, timeoutMs: number, { onResult, onFailed }: ReadyListeners) {
    this.#deps = deps;
    this.#timeoutMs = timeoutMs;
    this.#report = onResult;
    this.#onFailed = onFailed;
  }

  /** Adds a complete upload. Reports it at once if its asset is already known to be ready. */
  add(outcome: FileOutcome): void {
    const { assetUid = '', state } = outcome.uploaded ?? {};
    if (state === 'ready') {
      outcome.status = 'ready';
      this.#report(outcome);
      return;
    }
    const others = this.#waiting.get(assetUid);
    if (others) others.push(outcome);
    else {
      this.#waiting.set(assetUid, [outcome]);
      this.#added.push(assetUid);
    }
  }

  /** Polls the added assets while `work` runs. Resolves once `work` is done and all files are reported. */
  async runWhile(work: () => Promise<void>): Promise<void> {
    const watching = this.#poll();
    try {
      await work();
    } catch (error) {
      this.#aborter.abort(new Error('the run has ended')); // stops polling
      this.#close();
      throw error;
    }
    this.#close();
    await watching;
  }

  async #poll(): Promise<void> {
    const { api, signal, onEvent, receipts } = this.#deps;
    let current = '';
    const observed = api.withObserver({
      lane: 'background',
      onNotice: (notice) => onEvent({ path: current, ...toWaitingEvent(notice) }),
    });
    try {
      await waitForIncoming(
        observed.assets,
        { takeNew: () => this.#added.splice(0), done: this.#closed },
        {
          clock: api.transport.clock,
          signal: signal ? AbortSignal.any([signal, this.#aborter.signal]) : this.#aborter.signal,
          timeoutMs: this.#timeoutMs,
          rateLimiterState: () => api.transport.rateLimiterState,
          onStatus: ({ uid }, status) => {
            const [outcome] = this.#waiting.get(uid) ?? [];
            if (!outcome) return;
            current = labelOf(outcome.job);
            onEvent({ path: current, event: 'status', asset_uid: uid, status });
          },
          onResult: (uid, found) => {
            if (receipts)
              this.#receiptWrites.push(
                receipts.saveProcessingResult(uid, found).catch((error) => this.#onFailed(asMediactlError(error))),
              );
            for (const outcome of this.#waiting.get(uid) ?? []) {
              if (found instanceof MediactlError) outcome.error = found;
              else outcome.status = asText(found.status);
              this.#report(outcome);
            }
            this.#waiting.delete(uid);
          },
        },
      );
      await Promise.all(this.#receiptWrites);
    } catch (thrown) {
      if (this.#aborter.signal.aborted) return; // the run reports the reason
      this.#onFailed(asMediactlError(thrown));
      await this.#closed;
      for (const outcome of [...this.#waiting.values()].flat()) {
        outcome.error ??= asMediactlError(thrown);
        this.#report(outcome);
      }
    }
  }
}
