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
 * Reports the files of a run. Polls the assets of finished uploads while other files are still being sent; without a
 * timeout, only reads once more, at the end, those that were uploaded before and whose processing had failed, since the
 * service may have processed them again.
 */
export class ReadyWatch {
  readonly #deps: SessionPorts;
  readonly #timeoutMs: number | undefined;
  readonly #listeners: ReadyListeners;
  /** Maps an asset uid to the files to report. Files with the same content can share an asset. */
  readonly #waiting = new Map<string, FileOutcome[]>();
  readonly #receiptWrites: Promise<void>[] = [];
  #added: string[] = [];

  constructor(deps: SessionPorts, timeoutMs: number | undefined, listeners: ReadyListeners) {
    this.#deps = deps;
    this.#timeoutMs = timeoutMs;
    this.#listeners = listeners;
  }

  /** Adds an outcome. Reports it at once unless its asset is to be read. */
  add(outcome: FileOutcome): void {
    const { uploaded, error } = outcome;
    const { assetUid = '', state } = uploaded ?? {};
    const isRead = uploaded && !error && (this.#timeoutMs !== undefined || state === 'failed');
    const others = this.#waiting.get(assetUid);
    if (!isRead) this.#listeners.onResult(outcome);
    else if (state === 'ready') this.#listeners.onResult({ ...outcome, status: 'ready' });
    else if (others) others.push(outcome);
    else {
      this.#waiting.set(assetUid, [outcome]);
      this.#added.push(assetUid);
    }
  }

  /** Polls the added assets while `work` runs. Resolves once `work` is done and all files are reported. */
  async runWhile(work: () => Promise<void>): Promise<void> {
    if (this.#timeoutMs === undefined) {
      await work();
      if (this.#waiting.size > 0) await this.#pollWhile(async () => {});
    } else await this.#pollWhile(work);
  }

  async #pollWhile(work: () => Promise<void>): Promise<void> {
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
      timeoutMs: this.#timeoutMs ?? 0,
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
    const isReadOnce = this.#timeoutMs === undefined && isStillProcessing(found);
    const result = found instanceof CodedError ? !isReadOnce && { error: found } : { status: asText(found.status) };
    for (const outcome of this.#waiting.get(uid) ?? []) onResult({ ...outcome, ...result });
    this.#waiting.delete(uid);
  }
}

const isStillProcessing = (found: AssetRecord | CodedError) =>
  found instanceof CodedError && found.explanation.code === 'still_processing';
