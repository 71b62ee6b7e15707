import { asMediactlError, type MediactlError } from '../../client/errors.ts';
import type { Receipts } from '../../client/upload/store/receipts.ts';
import type { Context } from '../context.ts';

const isStateError = ({ kind }: MediactlError) => kind === 'state';

/**
 * Opens this machine's receipts for writing. With `force`, a damaged or missing database is replaced, and if nothing
 * can be written, the database is in memory and ends with this process.
 *
 * @throws MediactlError `state_…` (exit 14) if the receipts cannot be used
 */
export async function openReceipts(context: Context, force: boolean): Promise<Receipts> {
  try {
    return await context.receipts(force ? 'recreate' : 'write');
  } catch (thrown) {
    const error = asMediactlError(thrown);
    if (!force || !isStateError(error)) throw thrown;
    context.terminal.warn(
      `${error.message} (${error.explanation.reason}): this upload cannot be resumed, and another run would upload it again`,
    );
    context.useMemoryDatabase();
    return context.receipts();
  }
}

/** Returns a function that deletes the receipts for a deleted asset. Warns once if that fails. */
export const createReceiptRemover = (context: Context) =>
  createReceiptChange(context, (receipts, assetUid) => receipts.forgetAsset(assetUid));

/**
 * Returns a function that records to which folder an asset was moved, so that its file counts as uploaded to that one.
 * Warns once if that fails.
 */
export const createReceiptMover = (context: Context, folder: string | undefined) =>
  createReceiptChange(context, (receipts, assetUid) => receipts.moveAsset(assetUid, folder ?? ''));

async function createReceiptChange(
  context: Context,
  change: (receipts: Receipts, assetUid: string) => Promise<void>,
): Promise<(assetUid: string) => Promise<void>> {
  let isReported = false;
  const failed = (thrown: unknown) => {
    const error = asMediactlError(thrown);
    if (!isStateError(error)) throw thrown;
    if (!isReported)
      context.terminal.warn(
        `${error.message} (${error.explanation.reason}): the upload history still has the assets as they were`,
      );
    isReported = true;
    return undefined;
  };
  const receipts = await context.receiptsIfAny().catch(failed);
  return async (assetUid) => {
    if (receipts) await change(receipts, assetUid).catch(failed);
  };
}
