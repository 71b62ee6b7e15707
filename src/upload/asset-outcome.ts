import { MediactlError } from '../errors.ts';
import type { Receipts } from './receipts.ts';

/** Notes in the receipts what waiting has found of an asset: it is ready, failed, or gone. */
export function noteOutcome(
  receipts: Pick<Receipts, 'settled' | 'forgetAsset'>,
  assetUid: string,
  found: unknown,
): void {
  if (!(found instanceof MediactlError)) {
    receipts.settled(assetUid, 'ready');
    return;
  }
  const { code, reason = null } = found.explanation;
  if (code === 'processing_failed') receipts.settled(assetUid, 'failed', reason);
  if (code === 'not_found') receipts.forgetAsset(assetUid);
}
