import { classifyStatus, isAwaitingUpload } from '../../../contract/assumptions.ts';
import type { AssetRecord } from '../../../contract/types.ts';
import { asNumber } from '../../../shared/json-values.ts';
import { CodedError } from '../../errors.ts';
import { isGone } from '../../http/error-response.ts';
import { waitForAssets } from '../../library/wait-for-assets.ts';
import type { UploadRun } from './upload-run.ts';

/**
 * State of an upload's asset, as far as the service shows it: it does not exist (`none`), lacks bytes (`part`), has the
 * whole file (`whole`), or does not show which (`unclear`).
 */
export type Evidence = 'none' | 'part' | 'whole' | 'unclear';

/** Maximum time to wait until an asset shows whether it has the whole file. */
const maxWaitMs = 120_000;

/**
 * Reads an asset to see whether it has the whole file.
 *
 * @property mayBeWhole false if this machine has not sent all bytes, so that only another run can have completed it
 * @property isAcknowledged true if the service has acknowledged every byte
 */
export async function readEvidence(
  run: UploadRun,
  assetUid: string,
  { mayBeWhole, isAcknowledged }: { mayBeWhole: boolean; isAcknowledged: boolean },
): Promise<Evidence> {
  const { assets, transport } = run.deps.api;
  let asset: AssetRecord;
  try {
    asset = await assets.get(assetUid);
  } catch (error) {
    if (isGone(error)) return 'none';
    // 403: the API key can write but not read, so the asset's state is unknown.
    if (!(error instanceof CodedError) || error.explanation.status !== 403) throw error;
    return mayBeWhole ? 'unclear' : 'part';
  }
  const { status, size } = asset;
  const isReady = classifyStatus(status) === 'ready';
  // The state folder might be an old copy, and a later run has sent the rest.
  if (!mayBeWhole) return isReady && asNumber(size) === run.source.sizeBytes ? 'unclear' : 'part';
  if (isAwaitingUpload(status)) return 'part';
  if (isAcknowledged || isReady) return 'whole';
  // Some services report `queued` before the first byte arrives, so only a ready asset counts as complete.
  run.notice(`the upload session no longer exists; waiting until asset ${assetUid} is ready`);
  const options = { clock: transport.clock, timeoutMs: maxWaitMs, signal: run.deps.signal };
  const settled = await waitForAssets(assets, [assetUid], options);
  return settled.get(assetUid) instanceof CodedError ? 'unclear' : 'whole';
}
