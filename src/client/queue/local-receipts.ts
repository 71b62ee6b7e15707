import { exitCodes } from '../error-table.ts';
import { isUnchanged, toUploaded, versionOf } from '../upload/session/receipt-lookup.ts';
import type { UploadDeps, Uploaded } from '../upload/session/upload-job.ts';
import type { UploadSource } from '../upload/sources/source.ts';
import type { Receipts } from '../upload/store/receipts.ts';
import type { UploadTask } from './task.ts';

/* Receipts on the worker's own disk, which prevent duplicate uploads if the store loses its newest writes. */

export type LocalReceipts = Pick<Receipts, 'find' | 'save'>;

const localReceiptKeyOf = ({ service, workspace, folder = '' }: UploadTask, { realPath }: UploadSource) => ({
  ...{ service, workspace, folder, path: realPath },
});

/** Returns the upload of this file from the local receipts, if the file is unchanged and its asset still exists. */
export async function findLocalUpload(
  task: UploadTask,
  source: UploadSource,
  receipts: LocalReceipts,
  { assets }: UploadDeps['api'],
): Promise<Uploaded | undefined> {
  if (task.again !== undefined) return undefined;
  const receipt = receipts.find(localReceiptKeyOf(task, source));
  const isSame = receipt?.name === (task.name ?? task.filename);
  if (!receipt || !isSame || !isUnchanged(receipt, source.identity)) return undefined;
  const exists = await assets.get(receipt.assetUid).then(
    () => true,
    ({ exitCode }) => exitCode !== exitCodes.notFound,
  );
  return exists ? toUploaded(receipt, 'there') : undefined;
}

/** Writes a local receipt. Resolves when the receipt is on disk. */
export const saveLocalReceipt = (
  task: UploadTask,
  source: UploadSource,
  uploaded: Uploaded,
  receipts: LocalReceipts,
  now: number,
): Promise<void> =>
  receipts.save({
    ...localReceiptKeyOf(task, source),
    ...uploaded,
    mtimeNs: versionOf(source.identity),
    reason: null,
    at: new Date(now).toISOString(),
  });
