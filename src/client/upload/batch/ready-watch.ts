import type { AssetRecord } from '../../../contract/types.ts';
import { asText } from '../../../shared/json-values.ts';
import { asCodedError, CodedError } from '../../errors.ts';
import type { TransportNotice } from '../../http/rate-limiter.ts';
import { waitForIncoming } from '../../library/wait-for-assets.ts';
import { toWaitingEvent } from '../session/events.ts';
import type { FileOutcome } from '../session/file-outcome.ts';
import type { SessionPorts } from '../session/session-ports.ts';
import { shownPathOf } from '../sources/upload-file.ts';

type ReadyListeners = {
  /** Called with each file once its asset is ready, has failed, or timed out. */
  onResult(outcome: FileOutcome): void;
  /** Called with an error of polling, or of writing a receipt. */
  onFailed(error: CodedError): void;
};

/**
 * Reports files that were uploaded before, and whose processing had failed when an asset was last read. Reads each asset
 * once more, since the service may have processed it again: it is reported without an error if it is not failed now.
 */
export async function reportFailedBefore(
  deps: SessionPorts,
  outcomes: readonly FileOutcome[],
  listeners: ReadyListeners,
) {
  if (outcomes.length === 0) return;
  const watch = new ReadyWatch(deps, 0, {
    ...listeners,
    onResult: ({ error, ...outcome }) =>
      listeners.onResult(error && error.explanation.code !== 'still_processing' ? { ...outcome, error } : outcome),
  });
  for (const outcome of outcomes) watch.add(outcome);
  await watch.runWhile(async () => {});
}

/** Polls the assets of finished uploads while other files are still being sent. */
export class ReadyWatch {
  readonly #deps: SessionPorts;
  readonly #timeoutMs: number;
  readonly #listeners: ReadyListeners;
  /** Maps an asset uid to the files to report. Files with the same content can share an asset. */
  readonly #waiting = new Map<string, FileOutcome[]>();
  readonly #receiptWrites: Promise<void>[] = [];
  #added: string[] = [];

  constructor(deps: SessionPorts, timeoutMs: number, listeners: ReadyListeners) {
    this.#deps = deps;
    this.#timeoutMs = timeoutMs;
    this.#listeners = listeners;
  }

  /** Adds a complete upload. Reports it at once if its asset is already known to be ready. */
  add(outcome: FileOutcome): void {
    const { assetUid = '', state } = outcome.uploaded ?? {};
    const others = this.#waiting.get(assetUid);
    if (state === 'ready') this.#listeners.onResult({ ...outcome, status: 'ready' });
    else if (others) others.push(outcome);
    else {
      this.#waiting.set(assetUid, [outcome]);
      this.#added.push(assetUid);
    }
  }

  /** Polls the added assets while `work` runs. Resolves once `work` is done and all files are reported. */
  async runWhile(work: () => Promise<void>): Promise<void> {
    const failed = new AbortController();
    const done = work().catch((error) => {
      failed.abort(error); // stops polling
      throw error;
    });
    const closed = done.catch(() => {});
    const { signal } = this.#deps;
    await this.#poll(closed, AbortSignal.any([signal, failed.signal])).catch(async (thrown) => {
      if (failed.signal.aborted) return;
      const error = asCodedError(thrown);
      this.#listeners.onFailed(error);
      await closed;
      for (const outcome of [...this.#waiting.values()].flat())
        this.#listeners.onResult({ ...outcome, error: outcome.error ?? error });
    });
    await done.finally(() => Promise.all(this.#receiptWrites));
  }

  async #poll(done: Promise<void>, signal: AbortSignal): Promise<void> {
    const { api, onEvent } = this.#deps;
    const { clock } = api.transport;
    let current = '';
    const onNotice = (notice: TransportNotice) => onEvent({ path: current, ...toWaitingEvent(notice) });
    const { assets } = api.withObserver({ lane: 'background', onNotice });
    const incoming = { takeNew: () => this.#added.splice(0), done };
    await waitForIncoming(assets, incoming, {
      clock,
      signal,
      timeoutMs: this.#timeoutMs,
      rateLimiterState: () => api.transport.connection.rateLimiter.state,
      onStatus: ({ uid }, status) => {
        const [outcome] = this.#waiting.get(uid) ?? [];
        if (!outcome) return;
        current = shownPathOf(outcome.file);
        onEvent({ path: current, event: 'status', asset_uid: uid, status });
      },
      onResult: (uid, found) => this.#settle(uid, found),
    });
  }

  #settle(uid: string, found: AssetRecord | CodedError): void {
    const { onResult, onFailed } = this.#listeners;
    const saved = this.#deps.receipts?.saveProcessingResult(uid, found);
    if (saved) this.#receiptWrites.push(saved.catch((error) => onFailed(asCodedError(error))));
    const result = found instanceof CodedError ? { error: found } : { status: asText(found.status) };
    for (const outcome of this.#waiting.get(uid) ?? []) onResult({ ...outcome, ...result });
    this.#waiting.delete(uid);
  }
}
