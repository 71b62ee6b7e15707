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
  /** Why a look may take long: the service is away, or the budget is used up. */
  gate?: () => GateState;
  /** The status to wait for. */
  status?: string;
  signal?: AbortSignal | undefined;
  /** Told of each look. */
  onStatus?: (asset: Asset, status: string) => void;
  /** Told once of each, as soon as it is settled: the wait for the others may end otherwise. */
  onSettled?: (uid: string, outcome: Asset | MediactlError) => void;
};

const firstPauseMs = 1_000;
const longestPauseMs = 30_000;
/** After a look that took several requests, so long for each of them. */
const pausePerRequestMs = 1_000;
/** The last look is given so long. */
const leastLookMs = 5_000;
/** So many pages of the newest assets without one that is waited for, and the rest are further down. */
const mostVainPages = 3;
/** Rounds in a row that a service may fail to answer, each tried several times by itself. */
const mostFailures = 10;

type Settled = Map<string, Asset | MediactlError>;

/** Assets that come to be waited for while others are. */
export type Growth = {
  /** Those that came since it was last asked. */
  take(): readonly string[];
  /** Resolves once no more will come. */
  over: Promise<void>;
};

/**
 * "After upload, the client polls GET /assets/{uid}/ with asset_uid until status is ready." (§4)
 * Requests are the currency: the pauses grow from 1 s to 30 s, and many assets are looked up in one
 * page of the list. An outage is waited through.
 *
 * @returns for each uid the asset that came to the status, or why it did not: `processing_failed`
 *   (12), `still_processing` (8), `not_found` (3)
 * @throws MediactlError where the service cannot be asked any more
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
 * The same for assets of which more may come. The time runs once no more do.
 *
 * @throws MediactlError where the service cannot be asked any more
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
  await Promise.resolve(); // a growth that is over already tells so now
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
    if (leftMs <= 0 && outage) throw outage; // nobody knows what became of them
    if (leftMs <= 0)
      for (const uid of asked)
        if (pending.has(uid)) settle(uid, stillProcessing(uid, statuses.get(uid), timeoutMs));
    if (pending.size === 0 && isOver) return;
    const jitteredMs = pauseMs * (0.8 + 0.4 * clock.random());
    const costMs = requests > 1 ? requests * pausePerRequestMs : 0;
    await pause(clock, Math.min(Math.max(jitteredMs, costMs), Math.max(0, leftMs)), signal, over);
    // The last ones are looked at often, as those were that were looked at first.
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

/** Undefined where it is held up until then: by an outage, or a budget that is used up. */
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
    work.catch(() => {}); // nobody is left to hear it
  }
}

/** Ends early where no more assets come. */
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

/** Nobody listens there, and nobody has: that is no outage. */
const neverReached = 'refused';

const isOutage = (error: unknown) =>
  error instanceof MediactlError &&
  error.exitCode === exitCodes.unreachable &&
  error.explanation.retryable === true &&
  error.explanation.code !== neverReached;

/** Failed assets of one look whose own record is read for a reason: as many as an error names. */
const maxReasonsRead = 10;

type Look = { found: Settled; requests: number; pages?: number };

/**
 * One asset by its own endpoint; many by the newest pages of the list, the rest one by one. A few that
 * are far down are cheaper one by one.
 *
 * @param pagesNeeded how many pages held them lately
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
  // Lists may leave out why processing failed.
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

/** Those of them that are among the newest: as many pages as hold some, a request for a hundred. */
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

/** One asset that is gone must not end the wait for the others. */
function notFound(error: unknown): MediactlError {
  if (error instanceof MediactlError && error.exitCode === exitCodes.notFound) return error;
  throw error;
}

/** What an asset's status decides; undefined while it is in progress. */
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

/** Where services say why processing failed: a text, or a record with a `message`. */
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
