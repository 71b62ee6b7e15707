import { exitCodes } from '../errors.ts';
import type { Uploaded, UploadTools } from '../upload/session/job.ts';
import { isAsSent, uploadedBefore, versionOf } from '../upload/session/known.ts';
import type { Source } from '../upload/sources/source.ts';
import type { Receipts } from '../upload/store/receipts.ts';
import type { UploadTask } from './task.ts';

/* Receipts on the worker's own disk: prevent duplicate uploads if the store loses its newest writes. */

export type OwnReceipts = Pick<Receipts, 'find' | 'keep'>;

const keyOf = ({ service, workspace, folder = '' }: UploadTask, { realPath }: Source) => ({
  ...{ service, workspace, folder, path: realPath },
});

/** Returns the upload of this file from the local receipts, if the file is unchanged and its asset still exists. */
export async function uploadedHere(
  task: UploadTask,
  source: Source,
  receipts: OwnReceipts,
  { assets }: UploadTools['api'],
): Promise<Uploaded | undefined> {
  if (task.again !== undefined) return undefined;
  const receipt = receipts.find(keyOf(task, source));
  const isSame = receipt?.name === (task.name ?? task.filename);
  if (!receipt || !isSame || !isAsSent(receipt, source.identity)) return undefined;
  const isThere = await assets.get(receipt.assetUid).then(
    () => true,
    ({ exitCode }) => exitCode !== exitCodes.notFound,
  );
  return isThere ? uploadedBefore(receipt, 'there') : undefined;
}

/** Writes a local receipt. Resolves when it is on disk. */
export const keepHere = (
  task: UploadTask,
  source: Source,
  uploaded: Uploaded,
  receipts: OwnReceipts,
  now: number,
): Promise<void> =>
  receipts.keep({
    ...keyOf(task, source),
    ...uploaded,
    mtimeNs: versionOf(source.identity),
    reason: null,
    at: new Date(now).toISOString(),
  });
