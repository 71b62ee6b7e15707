import { classifyStatus } from '../../contract/assumptions.ts';
import type { AssetRecord } from '../../contract/types.ts';
import { normalizeUid } from '../../contract/uid.ts';
import type { Clock } from '../../shared/clock.ts';
import { asObject, asText } from '../../shared/json-values.ts';
import { backoff, pollUntil, TimeoutError, withTimeout } from '../../shared/retry.ts';
import type { AssetsApi } from '../api/assets.ts';
import { itemsOf, maxPageSize } from '../api/pagination.ts';
import { CodedError } from '../errors.ts';
import { isRetryable } from '../http/error-response.ts';
import type { RateLimiterState } from '../http/rate-limiter.ts';

export type WaitOptions = {
  clock: Clock;
  timeoutMs: number;
  /** Returns the state of the rate limiter, because an outage or an exhausted rate limit might delay a poll. */
  rateLimiterState?: () => RateLimiterState;
  /** Status to wait for, `ready` by default. */
  status?: string;
  signal: AbortSignal;
  /** Called after each poll, once for each asset that the poll found. */
  onStatus?: (asset: AssetRecord, status: string) => void;
  /** Called once per asset with its result. The wait for the other assets can still fail. */
  onResult?: (uid: string, outcome: AssetRecord | CodedError) => void;
};

/** Backoff between polls. It restarts once no more assets will be added. */
const pollBackoff = { minMs: 1_000, maxMs: 40_000 };
/** Minimum pause for each request of the previous poll, if that poll needed several requests. */
const pausePerRequestMs = 1_000;
/** Minimum time that the last poll is given to complete, even past the deadline. */
const minLastPollMs = 5_000;
/** Maximum number of consecutive pages without a match. Assets further down the list are then fetched individually. */
const maxPagesWithoutMatch = 3;
/** Maximum number of consecutive failed polls, each of which includes retries. */
const maxFailures = 10;

type AssetOutcomes = Map<string, AssetRecord | CodedError>;

/** Source of assets that are added while earlier assets are being waited for. */
export type IncomingAssets = {
  takeNew(): readonly string[];
  /** Resolves when no more assets will be added. */
  done: Promise<void>;
};

/**
 * Polls assets until each of them is ready or has failed ("After upload, the client polls GET /assets/{uid}/ with
 * asset_uid until status is ready.", §4). To save requests, the interval grows from 1 s to 40 s, less a random part, and
 * several assets are looked up in one page of the list. Keeps polling during an outage.
 *
 * @returns a map from each uid to the asset with the requested status, or to the error `processing_failed` (exit
 *   12), `still_processing` (exit 8), `not_found` (exit 3) or `usage` (exit 2)
 * @throws CodedError (exit 10) if the service stays unreachable
 */
export async function waitForAssets(assets: AssetsApi, uids: readonly string[], options: WaitOptions) {
  const settled: AssetOutcomes = new Map();
  const waiting = [...uids];
  const onResult = (uid: string, outcome: AssetRecord | CodedError) => {
    settled.set(uid, outcome);
    options.onResult?.(uid, outcome);
  };
  const incoming = { takeNew: () => waiting.splice(0), done: Promise.resolve() };
  await waitForIncoming(assets, incoming, { ...options, onResult });
  return settled;
}

/** Polls a growing set. The timeout starts when it is complete. @throws CodedError (exit 10) after a long outage */
export async function waitForIncoming(assets: AssetsApi, incoming: IncomingAssets, options: WaitOptions) {
  const inputDone = new AbortController();
  incoming.done.then(() => inputDone.abort());
  await Promise.resolve(); // gives `inputDone` a chance to abort if `done` has already resolved
  const wait = new AssetWait({ ...options, assets, incoming, inputDone: inputDone.signal });
  await pollUntil(options.signal, () => wait.poll(), {
    clock: { sleep: (delayMs, signal) => sleepUntil(inputDone.signal, options.clock, delayMs, signal) },
    intervalMs: () => wait.nextPauseMs(),
  });
}

/** Sleeps between polls. Wakes early when no more assets will be added. */
async function sleepUntil(done: AbortSignal, clock: Clock, delayMs: number, signal: AbortSignal | undefined) {
  if (done.aborted) return clock.sleep(delayMs, signal);
  await clock.sleep(delayMs, signal ? AbortSignal.any([signal, done]) : done).catch(() => signal?.throwIfAborted());
}

type AssetWaitOptions = WaitOptions & {
  assets: AssetsApi;
  incoming: IncomingAssets;
  /** Aborted when no more assets will be added. */
  inputDone: AbortSignal;
};

class AssetWait {
  readonly #options: AssetWaitOptions;
  /** Maps each asset without a result to its latest status. */
  readonly #pending = new Map<string, string | undefined>();
  #deadline = Number.POSITIVE_INFINITY;
  #polls = 0;
  /** Number of requests of the latest poll. */
  #requests = 0;
  /** Number of pages of the list that the latest poll needed. */
  #pagesNeeded = 1;
  /** Number of consecutive polls that an outage ended. */
  #failures = 0;

  constructor(options: AssetWaitOptions) {
    this.#options = options;
  }

  /** Polls once. Returns true when each asset has a result and no more assets will be added. */
  async poll(): Promise<true | undefined> {
    const { clock, timeoutMs, incoming } = this.#options;
    const isInputDone = this.#options.inputDone.aborted;
    if (isInputDone && this.#deadline === Number.POSITIVE_INFINITY) {
      this.#deadline = clock.now() + timeoutMs;
      this.#polls = 0;
    }
    for (const uid of incoming.takeNew()) this.#pending.set(uid, undefined);
    if (this.#pending.size === 0) return isInputDone || undefined;
    const polled = [...this.#pending.keys()];
    const outage = await this.#readStates(polled);
    if (clock.now() >= this.#deadline) {
      if (outage) throw outage; // the state of the assets is unknown
      for (const uid of polled.filter((each) => this.#pending.has(each)))
        this.#settle(uid, stillProcessing(uid, this.#pending.get(uid), timeoutMs));
    }
    return (this.#pending.size === 0 && isInputDone) || undefined;
  }

  /** Returns the pause before the next poll, and starts to count its requests. */
  nextPauseMs(): number {
    const { clock } = this.#options;
    const pauseMs = backoff(this.#polls++ / 2, pollBackoff, clock);
    const costMs = this.#requests > 1 ? this.#requests * pausePerRequestMs : 0;
    this.#requests = 0;
    return Math.min(Math.max(pauseMs, costMs), Math.max(0, this.#deadline - clock.now()));
  }

  /** Reads the state of the assets and settles those that have a result. Returns the error of an outage. */
  async #readStates(uids: readonly string[]): Promise<unknown> {
    const { status: target = 'ready', rateLimiterState = () => 'open', onStatus } = this.#options;
    try {
      const outcomes = await this.#readUntilDeadline(uids);
      if (!outcomes && rateLimiterState() === 'unreachable')
        throw new CodedError('the service cannot be reached', {
          code: 'unreachable',
          reason: 'it did not respond during the wait for its assets',
          retryable: true,
        });
      for (const [uid, found] of outcomes ?? []) {
        if (found instanceof CodedError) {
          this.#settle(uid, found);
          continue;
        }
        this.#pending.set(uid, statusOf(found));
        onStatus?.(found, statusOf(found));
        const outcome = classifyAsset(found, target);
        if (outcome) this.#settle(uid, outcome);
      }
      this.#failures = 0;
      return undefined;
    } catch (error) {
      if (!isOutage(error) || ++this.#failures >= maxFailures) throw error;
      return error;
    }
  }

  /** Reads assets. Returns undefined if an outage or the rate limit delays that past the deadline. */
  async #readUntilDeadline(uids: readonly string[]): Promise<AssetOutcomes | undefined> {
    const { clock, rateLimiterState = () => 'open' } = this.#options;
    const reading = this.#read(uids);
    if (this.#deadline === Number.POSITIVE_INFINITY) return reading;
    const leftMs = Math.max(this.#deadline - clock.now(), minLastPollMs);
    return withTimeout(leftMs, () => reading, { clock }).catch((error) => {
      if (!(error instanceof TimeoutError)) throw error;
      return rateLimiterState() === 'open' ? reading : undefined;
    });
  }

  /**
   * Reads several assets from the newest pages of the list, and one by one those that are not found there. If there
   * are fewer assets than pages were needed before, reads all one by one, which takes fewer requests.
   */
  async #read(uids: readonly string[]): Promise<AssetOutcomes> {
    const found: AssetOutcomes = new Map();
    if (uids.length > 1 && uids.length >= this.#pagesNeeded) await this.#readNewestPages(uids, found);
    // List items might lack the reason why processing failed.
    const unexplained = [...found].filter(([, asset]) => isUnexplained(asset)).slice(0, maxReasonsRead);
    for (const uid of uids.filter((each) => !found.has(each))) found.set(uid, await this.#get(uid).catch(notFound));
    for (const [uid, listed] of unexplained) found.set(uid, await this.#get(uid).catch(() => listed));
    return found;
  }

  #get(uid: string): Promise<AssetRecord> {
    this.#requests++;
    return this.#options.assets.get(uid);
  }

  /** Reads the newest pages of the list until all assets are found, it ends, or several pages in a row have none. */
  async #readNewestPages(uids: readonly string[], found: AssetOutcomes): Promise<void> {
    const uidByKey = new Map(uids.map((uid) => [normalizeUid(uid), uid]));
    let offset = 0;
    let pagesWithoutMatch = 0;
    this.#pagesNeeded = 0;
    while (pagesWithoutMatch < maxPagesWithoutMatch && found.size < uids.length) {
      const items = itemsOf<AssetRecord>(await this.#options.assets.page({}, maxPageSize, offset));
      this.#requests++;
      this.#pagesNeeded++;
      if (items.length === 0) break;
      offset += items.length;
      const before = found.size;
      for (const asset of items) {
        const uid = uidByKey.get(normalizeUid(asset.uid));
        if (uid !== undefined) found.set(uid, asset);
      }
      pagesWithoutMatch = found.size > before ? 0 : pagesWithoutMatch + 1;
    }
  }

  #settle(uid: string, outcome: AssetRecord | CodedError): void {
    this.#pending.delete(uid);
    this.#options.onResult?.(uid, outcome);
  }
}

/** Returns true for an error of an outage, which a refused connection is not. */
export const isOutage = (error: unknown) =>
  isRetryable(error) && error.kind === 'unreachable' && error.explanation.subcode !== 'connection_refused';

/** Maximum number of failed assets per poll whose full record is fetched to find the reason. An error lists no more. */
const maxReasonsRead = 10;

const isUnexplained = (found: AssetRecord | CodedError) =>
  !(found instanceof CodedError) && classifyStatus(found.status) === 'failed' && failureReason(found) === undefined;

/** Returns the error of a missing asset, which must not end the wait for the other assets. Rethrows any other error. */
function notFound(error: unknown): CodedError {
  if (error instanceof CodedError && error.kind === 'notFound') return error;
  throw error;
}

/** Returns the asset if it has the target status, an error if it never will, or undefined while it is in progress. */
function classifyAsset(asset: AssetRecord, targetStatus: string): AssetRecord | CodedError | undefined {
  if (asText(asset.status)?.toLowerCase() === targetStatus.toLowerCase()) return asset;
  const means = classifyStatus(asset.status);
  if (means === 'failed') return processingFailed(asset);
  if (means === 'in progress') return undefined;
  const problem = `asset ${asset.uid} is ready and will not become ${targetStatus}`;
  return new CodedError(problem, { code: 'usage', hint: 'wait for ready' });
}

const statusOf = ({ status }: AssetRecord) =>
  classifyStatus(status) === 'ready' ? 'ready' : (asText(status) ?? 'in progress');

/** Fields in which services explain why processing failed, as a string or as an object with a `message`. */
const reasonFields = ['failure_reason', 'error', 'processing_error', 'error_message', 'status_message', 'reason'];

export const failureReason = (asset: AssetRecord) =>
  reasonFields
    .map((field) => asText(asset[field]) ?? asText(asObject(asset[field]).message))
    .find((reason) => reason !== undefined && reason !== '');

export const processingFailed = (asset: AssetRecord) =>
  new CodedError(`processing failed for asset ${asset.uid}`, {
    code: 'processing_failed',
    reason: failureReason(asset) ?? `its status is ${statusOf(asset)}`,
    details: { asset_uid: asset.uid, status: asset.status },
  });

const stillProcessing = (uid: string, status: string | undefined, timeoutMs: number) =>
  new CodedError(`asset ${uid} is still ${status ?? 'in progress'}`, {
    code: 'still_processing',
    reason: `it was not ready within ${Math.round(timeoutMs / 1000)} s`,
    retryable: true,
    details: { asset_uid: uid, status: status ?? null },
  });
