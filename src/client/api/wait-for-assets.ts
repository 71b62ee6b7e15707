import { classifyStatus } from '../../contract/assumptions.ts';
import type { Clock } from '../../contract/clock.ts';
import { asObject, asText } from '../../contract/json-values.ts';
import type { Asset } from '../../contract/types.ts';
import { normalizeUid } from '../../contract/uid.ts';
import { exitCodes } from '../error-table.ts';
import { MediactlError } from '../errors.ts';
import type { RateLimiterState } from '../http/rate-limiter.ts';
import type { AssetsApi } from './assets.ts';
import { itemsOf, maxPageSize } from './pagination.ts';

export type WaitOptions = {
  clock: Clock;
  /** Maximum wait for the assets. */
  timeoutMs: number;
  /** Returns the state of the rate limiter, because an outage or an exhausted rate limit might delay a poll. */
  rateLimiterState?: () => RateLimiterState;
  /** Status to wait for, `ready` by default. */
  status?: string;
  signal?: AbortSignal | undefined;
  /** Called after each poll, once for each asset that the poll found. */
  onStatus?: (asset: Asset, status: string) => void;
  /** Called once per asset with its result. The wait for the other assets can still fail. */
  onResult?: (uid: string, outcome: Asset | MediactlError) => void;
};

const minPauseMs = 1_000;
const maxPauseMs = 30_000;
/** Minimum pause for each request of the previous poll, if that poll needed several requests. */
const pausePerRequestMs = 1_000;
/** Minimum time that the last poll is given to complete, even past the deadline. */
const minLastPollMs = 5_000;
/** Maximum number of consecutive pages without a match. Assets further down the list are then fetched individually. */
const maxPagesWithoutMatch = 3;
/** Maximum number of consecutive failed polls, each of which includes retries. */
const maxFailures = 10;

type AssetOutcomes = Map<string, Asset | MediactlError>;

/** Source of assets that are added while earlier assets are being waited for. */
export type IncomingAssets = {
  /** Returns the uids added since the last call. */
  takeNew(): readonly string[];
  /** Resolves when no more assets will be added. */
  done: Promise<void>;
};

/**
 * Polls assets until each of them is ready or has failed ("After upload, the client polls GET /assets/{uid}/ with
 * asset_uid until status is ready.", §4). To save requests, the interval grows from 1 s to 30 s, and several assets
 * are looked up in one page of the list. Keeps polling during an outage.
 *
 * @returns a map from each uid to the asset with the requested status, or to the error `processing_failed` (exit
 *   12), `still_processing` (exit 8), `not_found` (exit 3) or `wrong_status` (exit 2)
 * @throws MediactlError (exit 10) if the service stays unreachable
 */
export async function waitForAssets(
  assets: AssetsApi,
  uids: readonly string[],
  options: WaitOptions,
): Promise<AssetOutcomes> {
  const settled: AssetOutcomes = new Map();
  let waiting = uids;
  await waitForIncoming(
    assets,
    {
      takeNew: () => {
        const come = waiting;
        waiting = [];
        return come;
      },
      done: Promise.resolve(),
    },
    {
      ...options,
      onResult: (uid, outcome) => {
        settled.set(uid, outcome);
        options.onResult?.(uid, outcome);
      },
    },
  );
  return settled;
}

/**
 * Polls a growing set of assets until each has a result. The timeout starts when no more assets will be added.
 *
 * @throws MediactlError (exit 10) if the service stays unreachable
 */
export async function waitForIncoming(
  assets: AssetsApi,
  growth: IncomingAssets,
  { clock, timeoutMs, status = 'ready', signal, rateLimiterState = () => 'open', onStatus, onResult }: WaitOptions,
): Promise<void> {
  const pending = new Set<string>();
  const statuses = new Map<string, string>();
  let deadline = Number.POSITIVE_INFINITY;
  const over = new AbortController();
  growth.done.then(() => over.abort());
  await Promise.resolve(); // gives `over` a chance to abort if `done` has already resolved
  const settle = (uid: string, outcome: Asset | MediactlError) => {
    pending.delete(uid);
    statuses.delete(uid);
    onResult?.(uid, outcome);
  };
  let failures = 0;
  let outage: unknown;
  let pagesNeeded = 1;
  for (let pauseMs = minPauseMs; ; ) {
    const isInputDone = over.signal.aborted;
    if (isInputDone) deadline = Math.min(deadline, clock.now() + timeoutMs);
    for (const uid of growth.takeNew()) pending.add(uid);
    if (pending.size === 0 && isInputDone) return;
    const polled = [...pending];
    let requests = 0;
    try {
      const poll = await pollUntilDeadline(clock, deadline, rateLimiterState, pollAssets(assets, polled, pagesNeeded));
      if (!poll && rateLimiterState() === 'unreachable') throw unreachableError();
      requests = poll?.requests ?? 0;
      pagesNeeded = poll?.pages ?? pagesNeeded;
      for (const [uid, found] of poll?.found ?? []) {
        const outcome = found instanceof MediactlError ? found : classifyAsset(found, status);
        if (!(found instanceof MediactlError)) {
          statuses.set(uid, statusOf(found));
          onStatus?.(found, statusOf(found));
        }
        if (outcome) settle(uid, outcome);
      }
      failures = 0;
      outage = undefined;
    } catch (error) {
      if (!isOutage(error) || ++failures >= maxFailures) throw error;
      outage = error;
    }
    const leftMs = deadline - clock.now();
    if (leftMs <= 0 && outage) throw outage; // the state of the assets is unknown
    if (leftMs <= 0)
      for (const uid of polled) if (pending.has(uid)) settle(uid, stillProcessing(uid, statuses.get(uid), timeoutMs));
    if (pending.size === 0 && isInputDone) return;
    const jitteredMs = pauseMs * (0.8 + 0.4 * clock.random());
    const costMs = requests > 1 ? requests * pausePerRequestMs : 0;
    await sleepUntilDone(clock, Math.min(Math.max(jitteredMs, costMs), Math.max(0, leftMs)), signal, over);
    // Restart with short pauses once the last asset is added.
    pauseMs = isInputDone === over.signal.aborted ? Math.min(maxPauseMs, pauseMs * 1.5) : minPauseMs;
  }
}

const unreachableError = () =>
  new MediactlError('the service cannot be reached', {
    code: 'unreachable',
    reason: 'it did not answer while its assets were waited for',
    hint: 'mediactl uploads wait, once it is there again',
    retryable: true,
  });

/** Awaits a poll. Returns undefined if an outage or the rate limit delays the poll past the deadline. */
async function pollUntilDeadline<T>(
  clock: Clock,
  deadline: number,
  gate: () => RateLimiterState,
  work: Promise<T>,
): Promise<T | undefined> {
  if (deadline === Number.POSITIVE_INFINITY) return work;
  const over = new AbortController();
  const until = Math.max(deadline, clock.now() + minLastPollMs);
  const late = clock.sleep(until - clock.now(), over.signal).then(
    () => (gate() === 'open' ? work : undefined),
    () => undefined,
  );
  try {
    return await Promise.race([work, late]);
  } finally {
    over.abort();
    work.catch(() => {}); // avoid an unhandled rejection
  }
}

/** Sleeps between polls. Wakes early when no more assets will be added. */
async function sleepUntilDone(
  clock: Clock,
  delayMs: number,
  signal: AbortSignal | undefined,
  over: AbortController,
): Promise<void> {
  if (over.signal.aborted) return clock.sleep(delayMs, signal);
  const either = signal ? AbortSignal.any([signal, over.signal]) : over.signal;
  await clock.sleep(delayMs, either).catch((error) => {
    if (signal?.aborted || !over.signal.aborted) throw error;
  });
}

/** Error code of a refused connection, which does not count as an outage here. */
const refusedCode = 'refused';

const isOutage = (error: unknown) =>
  error instanceof MediactlError &&
  error.exitCode === exitCodes.unreachable &&
  error.explanation.retryable === true &&
  error.explanation.code !== refusedCode;

/** Maximum number of failed assets per poll whose full record is fetched to find the reason. An error lists no more. */
const maxReasonsRead = 10;

type PollResult = { found: AssetOutcomes; requests: number; pages?: number };

/**
 * Fetches the current state of assets. Several assets are looked up in the newest pages of the list, and any that
 * are not found there are fetched individually. If there are fewer assets than pages to search, all are fetched
 * individually, which takes fewer requests.
 *
 * @param pagesNeeded number of pages searched in the last lookup
 */
async function pollAssets(assets: AssetsApi, uids: readonly string[], pagesNeeded: number): Promise<PollResult> {
  const byPages = uids.length > 1 && uids.length >= pagesNeeded;
  const pollResult: PollResult = byPages ? await pollNewestPages(assets, uids) : { found: new Map(), requests: 0 };
  for (const uid of uids.filter((each) => !pollResult.found.has(each))) {
    pollResult.found.set(uid, await assets.get(uid).catch(notFound));
    pollResult.requests++;
  }
  // List items might lack the reason why processing failed.
  const isUnexplained = (found: Asset | MediactlError) =>
    !(found instanceof MediactlError) &&
    classifyStatus(found.status) === 'failed' &&
    failureReason(found) === undefined;
  const unexplained = [...pollResult.found].filter(([, found]) => byPages && isUnexplained(found));
  for (const [uid, found] of unexplained.slice(0, maxReasonsRead)) {
    pollResult.found.set(uid, await assets.get(uid).catch(() => found));
    pollResult.requests++;
  }
  return pollResult;
}

/**
 * Looks up assets in the newest pages of the list, 100 items per request. Stops when all are found, at the end of
 * the list, or after several consecutive pages without a match.
 */
async function pollNewestPages(assets: AssetsApi, uids: readonly string[]): Promise<PollResult> {
  const found: AssetOutcomes = new Map();
  const uidByKey = new Map(uids.map((uid) => [normalizeUid(uid), uid]));
  let requests = 0;
  let offset = 0;
  let pagesWithoutMatch = 0;
  while (pagesWithoutMatch < maxPagesWithoutMatch && found.size < uids.length) {
    const items = itemsOf<Asset>(await assets.page({}, maxPageSize, offset));
    requests++;
    if (items.length === 0) break;
    offset += items.length;
    const before = found.size;
    for (const asset of items) {
      const uid = uidByKey.get(normalizeUid(asset.uid));
      if (uid !== undefined) found.set(uid, asset);
    }
    pagesWithoutMatch = found.size > before ? 0 : pagesWithoutMatch + 1;
  }
  return { found, requests, pages: requests };
}

/**
 * Returns the error of a missing asset as a result, because it must not end the wait for the other assets. Rethrows
 * any other error.
 */
function notFound(error: unknown): MediactlError {
  if (error instanceof MediactlError && error.exitCode === exitCodes.notFound) return error;
  throw error;
}

/** Returns the asset if it has the target status, an error if it never will, or undefined while it is in progress. */
function classifyAsset(asset: Asset, targetStatus: string): Asset | MediactlError | undefined {
  if (asText(asset.status)?.toLowerCase() === targetStatus.toLowerCase()) return asset;
  const means = classifyStatus(asset.status);
  if (means === 'failed') return processingFailed(asset);
  if (means === 'in progress') return undefined;
  return new MediactlError(`asset ${asset.uid} is ready, and will not become ${targetStatus}`, {
    code: 'wrong_status',
  });
}

const statusOf = ({ status }: Asset) =>
  classifyStatus(status) === 'ready' ? 'ready' : (asText(status) ?? 'in progress');

/** Fields in which services explain why processing failed, as a string or as an object with a `message`. */
const reasonFields = [...['failure_reason', 'error', 'processing_error', 'error_message', 'status_message', 'reason']];

export const failureReason = (asset: Asset) =>
  reasonFields
    .map((field) => asText(asset[field]) ?? asText(asObject(asset[field]).message))
    .find((reason) => reason !== undefined && reason !== '');

export const processingFailed = (asset: Asset) =>
  new MediactlError(`the service could not process asset ${asset.uid}`, {
    code: 'processing_failed',
    reason: failureReason(asset) ?? `its status is ${statusOf(asset)}`,
    details: { asset_uid: asset.uid, status: asset.status },
  });

const stillProcessing = (uid: string, status: string | undefined, timeoutMs: number) =>
  new MediactlError(`asset ${uid} is still ${status ?? 'in progress'}`, {
    code: 'still_processing',
    reason: `it was not ready within ${Math.round(timeoutMs / 1000)} s`,
    hint: `mediactl assets wait ${uid}, with a longer --timeout`,
    retryable: true,
    details: { asset_uid: uid, status: status ?? null },
  });
