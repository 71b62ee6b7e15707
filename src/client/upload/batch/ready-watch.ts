import { asText } from '../../../contract/json-values.ts';
import { waitForIncoming } from '../../api/wait-for-assets.ts';
import { asMediactlError, MediactlError } from '../../errors.ts';
import { waitingEvent } from '../session/events.ts';
import { labelOf } from '../session/job.ts';
import type { FileOutcome, RunTools } from '../session/outcome.ts';
import { noteOutcome } from '../store/asset-outcome.ts';

type Hearers = {
  /** Called with each file once its asset is ready, has failed, or timed out. */
  onSettled(outcome: FileOutcome): void;
  /** Called with an error that ends the wait for all files. */
  onFailed(error: MediactlError): void;
};

/**
 * Polls the assets of finished uploads while other files are still being sent. Reports each file once its asset
 * is ready, has failed, or timed out.
 */
export class ReadyWatch {
  readonly #tools: RunTools;
  readonly #timeoutMs: number;
  readonly #tell: (outcome: FileOutcome) => void;
  readonly #onFailed: (error: MediactlError) => void;
  /** Files to report, by asset uid; two files of the same content may share an asset. */
  readonly #waiting = new Map<string, FileOutcome[]>();
  readonly #ended = new AbortController();
  readonly #noted: Promise<void>[] = [];
  #come: string[] = [];
  #noMore = () => {};
  readonly #over = new Promise<void>((resolve) => {
    this.#noMore = resolve;
  });

  constructor(tools: RunTools, timeoutMs: number, { onSettled, onFailed }: Hearers) {
    this.#tools = tools;
    this.#timeoutMs = timeoutMs;
    this.#tell = onSettled;
    this.#onFailed = onFailed;
  }

  /** Adds a complete upload. Reports it at once if its asset is already known to be ready. */
  add(outcome: FileOutcome): void {
    const { assetUid = '', state } = outcome.uploaded ?? {};
    if (state === 'ready') {
      outcome.status = 'ready';
      this.#tell(outcome);
      return;
    }
    const others = this.#waiting.get(assetUid);
    if (others) others.push(outcome);
    else {
      this.#waiting.set(assetUid, [outcome]);
      this.#come.push(assetUid);
    }
  }

  /** Polls while `work` adds uploads. Resolves once `work` is done and all files are reported. */
  async during(work: () => Promise<void>): Promise<void> {
    const watching = this.#run();
    try {
      await work();
    } catch (error) {
      this.#ended.abort(new Error('the run has ended')); // stops polling
      this.#noMore();
      throw error;
    }
    this.#noMore();
    await watching;
  }

  async #run(): Promise<void> {
    const { api, signal, onEvent, receipts } = this.#tools;
    let current = '';
    const observed = api.withObserver({
      lane: 'background',
      onNotice: (notice) => onEvent({ path: current, ...waitingEvent(notice) }),
    });
    try {
      await waitForIncoming(
        observed.assets,
        { takeNew: () => this.#come.splice(0), done: this.#over },
        {
          clock: api.transport.clock,
          signal: signal ? AbortSignal.any([signal, this.#ended.signal]) : this.#ended.signal,
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
              this.#noted.push(
                noteOutcome(receipts, uid, found).catch((error) =>
                  this.#onFailed(asMediactlError(error)),
                ),
              );
            for (const outcome of this.#waiting.get(uid) ?? []) {
              if (found instanceof MediactlError) outcome.error = found;
              else outcome.status = asText(found.status);
              this.#tell(outcome);
            }
            this.#waiting.delete(uid);
          },
        },
      );
      await Promise.all(this.#noted);
    } catch (thrown) {
      if (this.#ended.signal.aborted) return; // the run reports the reason
      this.#onFailed(asMediactlError(thrown));
      await this.#over;
      for (const outcome of [...this.#waiting.values()].flat()) {
        outcome.error ??= asMediactlError(thrown);
        this.#tell(outcome);
      }
    }
  }
}
