import type { AssetsApi } from '../api/assets.ts';
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

/**
 * "After upload, the client polls GET /assets/{uid}/ with asset_uid until status is ready." (§4)
 * Requests are the currency, so the pauses grow from 1 s to 30 s.
 *
 * @throws MediactlError `processing_failed` (12), `still_processing` (8)
 */
export async function waitForAsset(
  assets: AssetsApi,
  uid: string,
  { clock, timeoutMs, status = 'ready', signal, onStatus }: WaitOptions,
): Promise<Asset> {
  const deadline = clock.now() + timeoutMs;
  for (let pauseMs = firstPauseMs; ; pauseMs = Math.min(longestPauseMs, pauseMs * 1.5)) {
    const asset = await assets.get(uid);
    onStatus?.(asset);
    if (asset.status === status) return asset;
    if (statusMeans(asset.status) === 'failed') throw processingFailed(asset);
    if (statusMeans(asset.status) === 'ready')
      throw new MediactlError(`asset ${uid} is ready, and will not become ${status}`, {
        code: 'wrong_status',
        exitCode: exitCodes.usage,
        hint: 'wait for ready',
      });
    const leftMs = deadline - clock.now();
    if (leftMs <= 0) throw stillProcessing(asset, timeoutMs);
    const jitteredMs = pauseMs * (0.8 + 0.4 * clock.random());
    await clock.sleep(Math.min(jitteredMs, leftMs), signal);
  }
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
