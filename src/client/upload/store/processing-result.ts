import { MediactlError } from '../../errors.ts';
import type { Receipts } from './receipts.ts';

/** Updates the receipts of an asset after its processing, or deletes them if the asset no longer exists. */
export async function recordProcessingResult(
  receipts: Pick<Receipts, 'setState' | 'forgetAsset'>,
  assetUid: string,
  result: unknown,
): Promise<void> {
  if (!(result instanceof MediactlError)) {
    return receipts.setState(assetUid, 'ready');
  }
  const { code, reason = null } = result.explanation;
  if (code === 'processing_failed') await receipts.setState(assetUid, 'failed', reason);
  if (code === 'not_found') await receipts.forgetAsset(assetUid);
}
