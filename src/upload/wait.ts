import type { AssetsApi } from '../api/assets.ts';
import { maxPageSize } from '../api/pages.ts';
import type { Clock } from '../clock.ts';
import { exitCodes, MediactlError } from '../errors.ts';
import { statusMeans } from '../wire/assumptions.ts';
import type { Asset } from '../wire/types.ts';

export type WaitOptions = {
  clock: Clock;
  /** Milliseconds. */
  timeoutMs: number;
  /** The status to wait for. */
  status?: string;
  signal?: AbortSignal | undefined;
  onStatus?: (asset: Asset) => void;
};

const firstPauseMs = 1_000;
const longestPauseMs = 30_000;
/** Where many are waited for, how many pages of the newest assets are looked through a round. */
const pagesLookedThrough = 3;

/**
 * "After upload, the client polls GET /assets/{uid}/ with asset_uid until status is ready." (§4)
 * Requests are the currency: the pauses grow from 1 s to 30 s, and many assets are looked up in one
 * page of the list.
 *
 * @returns for each uid the asset that came to the status, or why it did not: `processing_failed`
 *   (12), `still_processing` (8), `not_found` (3)
 */
export async function waitForAssets(
  assets: AssetsApi,
  uids: readonly string[],
  { clock, timeoutMs, status = 'ready', signal, onStatus }: WaitOptions,
): Promise<Map<string, Asset | MediactlError>> {
  const settled = new Map<string, Asset | MediactlError>();
  const deadline = clock.now() + timeoutMs;
  for (let pauseMs = firstPauseMs; ; pauseMs = Math.min(longestPauseMs, pauseMs * 1.5)) {
    const pending = uids.filter((uid) => !settled.has(uid));
    const latest = new Map<string, Asset>();
    for (const [uid, found] of await look(assets, pending)) {
      const outcome = found instanceof MediactlError ? found : judge(found, status);
      if (!(found instanceof MediactlError)) {
        onStatus?.(found);
        latest.set(uid, found);
      }
      if (outcome) settled.set(uid, outcome);
    }
    const leftMs = deadline - clock.now();
    for (const [uid, asset] of latest)
      if (leftMs <= 0 && !settled.has(uid)) settled.set(uid, stillProcessing(asset, timeoutMs));
    if (uids.every((uid) => settled.has(uid))) return settled;
    const jitteredMs = pauseMs * (0.8 + 0.4 * clock.random());
    await clock.sleep(Math.min(jitteredMs, Math.max(0, leftMs)), signal);
  }
}

/** One asset by its own endpoint; many by the newest pages of the list, the rest one by one. */
async function look(
  assets: AssetsApi,
  uids: readonly string[],
): Promise<Map<string, Asset | MediactlError>> {
  const found = new Map<string, Asset | MediactlError>();
  if (uids.length > 1)
    for await (const page of assets.list({}, { limit: pagesLookedThrough * maxPageSize })) {
      for (const asset of page) if (uids.includes(asset.uid)) found.set(asset.uid, asset);
      if (found.size === uids.length) return found;
    }
  for (const uid of uids.filter((each) => !found.has(each)))
    found.set(uid, await assets.get(uid).catch(notFound));
  return found;
}

/** One asset that is gone must not end the wait for the others. */
function notFound(error: unknown): MediactlError {
  if (error instanceof MediactlError && error.exitCode === exitCodes.notFound) return error;
  throw error;
}

/** What an asset's status decides; undefined while it is in progress. */
function judge(asset: Asset, wanted: string): Asset | MediactlError | undefined {
  if (asset.status === wanted) return asset;
  const means = statusMeans(asset.status);
  if (means === 'failed') return processingFailed(asset);
  if (means === 'in progress') return undefined;
  return new MediactlError(`asset ${asset.uid} is ready, and will not become ${wanted}`, {
    code: 'wrong_status',
    exitCode: exitCodes.usage,
    hint: 'wait for ready',
  });
}

/** The service's own reason, under whichever name it gives one. */
const failureReason = (asset: Asset) =>
  [asset.failure_reason, asset.error, asset.status_message].find(
    (reason) => typeof reason === 'string',
  );

const processingFailed = (asset: Asset) =>
  new MediactlError(`the service could not process asset ${asset.uid}`, {
    code: 'processing_failed',
    exitCode: exitCodes.unplayable,
    reason: failureReason(asset) ?? `its status is ${asset.status}`,
    hint: 'check that the file plays here, then upload it again',
    details: { asset_uid: asset.uid, status: asset.status },
  });

const stillProcessing = (asset: Asset, timeoutMs: number) =>
  new MediactlError(`asset ${asset.uid} is still ${asset.status ?? 'in progress'}`, {
    code: 'still_processing',
    exitCode: exitCodes.stillProcessing,
    reason: `it was not ready within ${Math.round(timeoutMs / 1000)} s`,
    hint: `mediactl assets wait ${asset.uid}, with a longer --timeout`,
    retryable: true,
    details: { asset_uid: asset.uid, status: asset.status },
  });
