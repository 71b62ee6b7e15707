import { asCodedError, type CodedError } from '../errors.ts';
import type { Library } from '../library/library.ts';
import { fileExists } from '../local-path.ts';
import type { Receipt } from '../upload/store/receipt-row.ts';
import type { Receipts } from '../upload/store/receipts.ts';
import type { ChangeItem, StoredItem } from './change-item.ts';

type ReceiptDeps = {
  library: Library;
  /** Returns the receipts; undefined if nothing was ever uploaded from here. */
  receipts(): Promise<Receipts | undefined>;
  onNotice(notice: { kind: 'receipts_not_updated'; error: CodedError }): void;
};

/**
 * Result of deleting or moving an asset. An asset that may have been deleted is also `gone`. `sent` means that its deletion
 * is about to be sent: if this process is killed, no receipt says that the file is uploaded. `kept` means that the asset was
 * not deleted after that.
 */
type ReceiptOutcome = 'sent' | 'done' | 'not done' | 'gone' | 'kept';

/**
 * Returns a function that moves the receipt of an asset, or forgets it, so that the next run compares the file. Reports once
 * if that fails.
 */
export async function createReceiptUpdate(
  { library, receipts: open, onNotice }: ReceiptDeps,
  items: readonly StoredItem[],
): Promise<(item: StoredItem, outcome: ReceiptOutcome) => Promise<void>> {
  const { assets } = library.api;
  const hasReceipt = ({ kind, after }: ChangeItem) =>
    kind === 'asset' && (after === null || assets.folderIn(after) !== undefined);
  let isReported = false;
  const failed = (thrown: unknown) => {
    const error = stateErrorOf(thrown);
    if (!isReported) onNotice({ kind: 'receipts_not_updated', error });
    isReported = true;
  };
  const receipts = items.some(hasReceipt) ? await open().catch(failed) : undefined;
  const forgotten = new Map<string, Receipt | undefined>();
  return async (item, outcome) => {
    if (!receipts || !hasReceipt(item)) return;
    const { uid, before, after } = item;
    if (forgotten.has(uid)) {
      const receipt = outcome === 'kept' ? forgotten.get(uid) : undefined;
      if (receipt && !(await receipts.find(receipt).catch(failed))) await receipts.save(receipt).catch(failed);
      if (outcome !== 'sent') forgotten.delete(uid);
      return;
    }
    if (outcome === 'kept' || (outcome === 'sent' && !(await hasFile(receipts, uid).catch(failed)))) return;
    if (outcome === 'sent') forgotten.set(uid, (await receipts.findByAsset(uid).catch(failed)) ?? undefined);
    const place =
      outcome === 'gone' || !after ? undefined : assets.folderIn((outcome === 'done' ? after : before) ?? {});
    const update = place === undefined ? receipts.forgetAsset(uid) : receipts.moveAsset(uid, place ?? '');
    await update.catch(failed);
  };
}

/** Returns true if a file that was uploaded as an asset is there. The asset of one that is missing is known by its receipt alone. */
async function hasFile(receipts: Receipts, uid: string): Promise<boolean> {
  for (const path of await receipts.findOtherPaths(uid, '')) if (await fileExists(path)) return true;
  return false;
}

/** Returns an error of the state folder. @throws any other error */
export function stateErrorOf(thrown: unknown): CodedError {
  const error = asCodedError(thrown);
  if (error.kind !== 'state') throw thrown;
  return error;
}
