import { MediactlError } from '../../errors.ts';
import type { Receipts } from './receipts.ts';

/** Updates the receipts of an asset after waiting for its processing: ready, failed, or deleted. */
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
