import { statusMeans } from '../../contract/assumptions.ts';
import { fieldsIn, textIn } from '../../contract/reading.ts';
import type { Asset } from '../../contract/types.ts';
import { uidKey } from '../../contract/uid.ts';
import type { Clock } from '../clock.ts';
import { exitCodes, MediactlError } from '../errors.ts';
import type { GateState } from '../http/gate.ts';
import type { AssetsApi } from './assets.ts';
import { itemsOf, maxPageSize } from './pages.ts';

export type WaitOptions = {
  clock: Clock;
  /** Milliseconds. */
  timeoutMs: number;
  /** Returns the state of the rate limiter: a poll may be delayed by an outage or an exhausted rate limit. */
  gate?: () => GateState;
  /** Status to wait for. */
  status?: string;
  signal?: AbortSignal | undefined;
  /** Called after each poll with each asset found. */
  onStatus?: (asset: Asset, status: string) => void;
  /** Called once per asset with its result. Waiting for the others may still fail. */
  onSettled?: (uid: string, outcome: Asset | MediactlError) => void;
};

const firstPauseMs = 1_000;
const longestPauseMs = 30_000;
/** Minimum pause per request of the previous poll, if it took several. */
const pausePerRequestMs = 1_000;
/** Minimum time for the last poll. */
const leastLookMs = 5_000;
/** Maximum number of consecutive pages without a match. The remaining assets are further down the list. */
const mostVainPages = 3;
/** Maximum number of consecutive failed polls, each of which includes retries. */
const mostFailures = 10;

type Settled = Map<string, Asset | MediactlError>;

/** Source of assets that are added while others are being waited for. */
export type Growth = {
  /** Returns the uids added since the last call. */
  take(): readonly string[];
  /** Resolves when no more will be added. */
  over: Promise<void>;
};

/**
 * Polls assets until processing ends: "After upload, the client polls GET /assets/{uid}/ with asset_uid until
 * status is ready." (§4) Saves requests: the interval grows from 1 s to 30 s, and several assets are looked up
 * in one page of the list. Retries during an outage.
 *
 * @returns for each uid the asset with the requested status, or the reason for failure: `processing_failed`
 *   (12), `still_processing` (8), `not_found` (3)
 * @throws MediactlError if the service stays unreachable
 */
export async function waitForAssets(
  assets: AssetsApi,
  uids: readonly string[],
  options: WaitOptions,
): Promise<Settled> {
  const settled: Settled = new Map();
  let waiting = uids;
  await waitForGrowing(
    assets,
    {
      take: () => {
        const come = waiting;
        waiting = [];
        return come;
      },
      over: Promise.resolve(),
    },
    {
      ...options,
      onSettled: (uid, outcome) => {
        settled.set(uid, outcome);
        options.onSettled?.(uid, outcome);
      },
    },
  );
  return settled;
}

/**
 * Polls a growing set of assets. The timeout starts when no more will be added.
 *
 * @throws MediactlError if the service stays unreachable
 */
export async function waitForGrowing(
  assets: AssetsApi,
  growth: Growth,
  {
    clock,
    timeoutMs,
    status = 'ready',
    signal,
    gate = () => 'open',
    onStatus,
    onSettled,
  }: WaitOptions,
): Promise<void> {
  const pending = new Set<string>();
  const statuses = new Map<string, string>();
  let deadline = Number.POSITIVE_INFINITY;
  const over = new AbortController();
  growth.over.then(() => over.abort());
  await Promise.resolve(); // an input that has already ended is noticed here
  const settle = (uid: string, outcome: Asset | MediactlError) => {
    pending.delete(uid);
    statuses.delete(uid);
    onSettled?.(uid, outcome);
  };
  let failures = 0;
  let outage: unknown;
  let pagesNeeded = 1;
  for (let pauseMs = firstPauseMs; ; ) {
    const isOver = over.signal.aborted;
    if (isOver) deadline = Math.min(deadline, clock.now() + timeoutMs);
    for (const uid of growth.take()) pending.add(uid);
    if (pending.size === 0 && isOver) return;
    const asked = [...pending];
    let requests = 0;
    try {
      const look = await within(clock, deadline, gate, lookAt(assets, asked, pagesNeeded));
      if (!look && gate() === 'away') throw away();
      requests = look?.requests ?? 0;
      pagesNeeded = look?.pages ?? pagesNeeded;
      for (const [uid, found] of look?.found ?? []) {
        const outcome = found instanceof MediactlError ? found : judge(found, status);
        if (!(found instanceof MediactlError)) {
          statuses.set(uid, statusOf(found));
          onStatus?.(found, statusOf(found));
        }
        if (outcome) settle(uid, outcome);
      }
      failures = 0;
      outage = undefined;
    } catch (error) {
      if (!isOutage(error) || ++failures >= mostFailures) throw error;
      outage = error;
    }
    const leftMs = deadline - clock.now();
    if (leftMs <= 0 && outage) throw outage; // the state of the assets is unknown
    if (leftMs <= 0)
      for (const uid of asked)
        if (pending.has(uid)) settle(uid, stillProcessing(uid, statuses.get(uid), timeoutMs));
    if (pending.size === 0 && isOver) return;
    const jitteredMs = pauseMs * (0.8 + 0.4 * clock.random());
    const costMs = requests > 1 ? requests * pausePerRequestMs : 0;
    await pause(clock, Math.min(Math.max(jitteredMs, costMs), Math.max(0, leftMs)), signal, over);
    // Restart with short pauses once the last asset is added.
    pauseMs =
      isOver === over.signal.aborted ? Math.min(longestPauseMs, pauseMs * 1.5) : firstPauseMs;
  }
}

const away = () =>
  new MediactlError('the service cannot be reached', {
    code: 'unreachable',
    exitCode: exitCodes.unreachable,
    reason: 'it did not answer while its assets were waited for',
    hint: 'mediactl uploads wait, once it is there again',
    retryable: true,
  });

/** Awaits a poll until the deadline. Returns undefined if an outage or the rate limit delays it past that. */
async function within<T>(
  clock: Clock,
  deadline: number,
  gate: () => GateState,
  work: Promise<T>,
): Promise<T | undefined> {
  if (deadline === Number.POSITIVE_INFINITY) return work;
  const over = new AbortController();
  const until = Math.max(deadline, clock.now() + leastLookMs);
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

/** Sleeps between polls. Ends early when no more assets will be added. */
async function pause(
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

/** A connection that was refused and never worked is not an outage. */
const neverReached = 'refused';

const isOutage = (error: unknown) =>
  error instanceof MediactlError &&
  error.exitCode === exitCodes.unreachable &&
  error.explanation.retryable === true &&
  error.explanation.code !== neverReached;

/** Maximum number of failed assets per poll whose record is read for the reason: as many as an error lists. */
const maxReasonsRead = 10;

type Look = { found: Settled; requests: number; pages?: number };

/**
 * Polls assets: a single one by its own endpoint, several through the newest pages of the list, the rest
 * individually. A few assets far down the list are cheaper to fetch individually.
 *
 * @param pagesNeeded number of pages that contained them in the last poll
 */
async function lookAt(
  assets: AssetsApi,
  uids: readonly string[],
  pagesNeeded: number,
): Promise<Look> {
  const byPages = uids.length > 1 && uids.length >= pagesNeeded;
  const look: Look = byPages
    ? await lookThroughPages(assets, uids)
    : { found: new Map(), requests: 0 };
  for (const uid of uids.filter((each) => !look.found.has(each))) {
    look.found.set(uid, await assets.get(uid).catch(notFound));
    look.requests++;
  }
  // List items may lack the reason why processing failed.
  const isUnexplained = (found: Asset | MediactlError) =>
    !(found instanceof MediactlError) &&
    statusMeans(found.status) === 'failed' &&
    failureReason(found) === undefined;
  const unexplained = [...look.found].filter(([, found]) => byPages && isUnexplained(found));
  for (const [uid, found] of unexplained.slice(0, maxReasonsRead)) {
    look.found.set(uid, await assets.get(uid).catch(() => found));
    look.requests++;
  }
  return look;
}

/** Finds assets in the newest pages of the list, one request per hundred, while pages contain matches. */
async function lookThroughPages(assets: AssetsApi, uids: readonly string[]): Promise<Look> {
  const found: Settled = new Map();
  const wanted = new Map(uids.map((uid) => [uidKey(uid), uid]));
  let requests = 0;
  let offset = 0;
  let vain = 0;
  while (vain < mostVainPages && found.size < uids.length) {
    const items = itemsOf<Asset>(await assets.page({}, maxPageSize, offset));
    requests++;
    if (items.length === 0) break;
    offset += items.length;
    const before = found.size;
    for (const asset of items) {
      const uid = wanted.get(uidKey(asset.uid));
      if (uid !== undefined) found.set(uid, asset);
    }
    vain = found.size > before ? 0 : vain + 1;
  }
  return { found, requests, pages: requests };
}

/** Returns a 404 as a result, since one missing asset must not end the wait for the others. */
function notFound(error: unknown): MediactlError {
  if (error instanceof MediactlError && error.exitCode === exitCodes.notFound) return error;
  throw error;
}

/** Classifies an asset: the asset itself if it has the status, an error if it never will, undefined while in progress. */
function judge(asset: Asset, wanted: string): Asset | MediactlError | undefined {
  if (textIn(asset.status)?.toLowerCase() === wanted.toLowerCase()) return asset;
  const means = statusMeans(asset.status);
  if (means === 'failed') return processingFailed(asset);
  if (means === 'in progress') return undefined;
  return new MediactlError(`asset ${asset.uid} is ready, and will not become ${wanted}`, {
    code: 'wrong_status',
    exitCode: exitCodes.usage,
    hint: 'wait for ready',
  });
}

const statusOf = ({ status }: Asset) =>
  statusMeans(status) === 'ready' ? 'ready' : (textIn(status) ?? 'in progress');

/** Fields in which services explain why processing failed: a string, or an object with a `message`. */
const reasonFields = [
  ...['failure_reason', 'error', 'processing_error', 'error_message', 'status_message', 'reason'],
];

export const failureReason = (asset: Asset) =>
  reasonFields
    .map((field) => textIn(asset[field]) ?? textIn(fieldsIn(asset[field]).message))
    .find((reason) => reason !== undefined && reason !== '');

export const processingFailed = (asset: Asset) =>
  new MediactlError(`the service could not process asset ${asset.uid}`, {
    code: 'processing_failed',
    exitCode: exitCodes.unplayable,
    reason: failureReason(asset) ?? `its status is ${statusOf(asset)}`,
    hint: 'check that the file plays here, then send it again with upload --again',
    details: { asset_uid: asset.uid, status: asset.status },
  });

const stillProcessing = (uid: string, status: string | undefined, timeoutMs: number) =>
  new MediactlError(`asset ${uid} is still ${status ?? 'in progress'}`, {
    code: 'still_processing',
    exitCode: exitCodes.stillProcessing,
    reason: `it was not ready within ${Math.round(timeoutMs / 1000)} s`,
    hint: `mediactl assets wait ${uid}, with a longer --timeout`,
    retryable: true,
    details: { asset_uid: uid, status: status ?? null },
  });
