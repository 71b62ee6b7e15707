import { MediactlError } from '../../errors.ts';
import type { Receipts } from './receipts.ts';

/** Notes in the receipts what waiting has found of an asset: it is ready, failed, or gone. */
export async function noteOutcome(
  receipts: Pick<Receipts, 'settled' | 'forgetAsset'>,
  assetUid: string,
  found: unknown,
): Promise<void> {
  if (!(found instanceof MediactlError)) {
    return receipts.settled(assetUid, 'ready');
  }
  const { code, reason = null } = found.explanation;
  if (code === 'processing_failed') await receipts.settled(assetUid, 'failed', reason);
  if (code === 'not_found') await receipts.forgetAsset(assetUid);
}
