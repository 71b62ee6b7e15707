import { parentOf } from '../../../contract/asset.ts';
import type { Api } from '../../api/api.ts';
import { exitCodes } from '../../error-table.ts';
import { asMediactlError } from '../../errors.ts';
import { digestOf } from '../sources/checksum.ts';
import type { FileIdentity, UploadSource } from '../sources/source.ts';
import type { ReceiptKey } from '../sources/upload-candidate.ts';
import type { Receipt, Receipts } from '../store/receipts.ts';
import type { SuccessOutcome, Uploaded, UploadOptions } from './upload-job.ts';
import type { UploadRun } from './upload-run.ts';

/** Returns the strong ETag of a file if it has one, else its modification time. */
export const versionOf = ({ validator, mtimeNs }: FileIdentity) => validator ?? mtimeNs;

/** Returns the version and the change time of a file, for its receipt. */
export const fileTimesOf = (identity: FileIdentity): Pick<Receipt, 'mtimeNs' | 'ctimeNs'> => ({
  mtimeNs: versionOf(identity),
  ctimeNs: identity.ctimeNs ?? null,
});

/**
 * Returns true if size and version are equal. A change time that differs shows that the file was written, although its
 * modification time was set back (`cp -p`). Stdin, whose version is unknown (0), never counts as unchanged.
 */
export function isUnchanged(receipt: Pick<Receipt, 'sizeBytes' | 'mtimeNs' | 'ctimeNs'>, now: FileIdentity): boolean {
  const { mtimeNs, ctimeNs } = fileTimesOf(now);
  const isTouched = receipt.ctimeNs !== null && ctimeNs !== null && receipt.ctimeNs !== ctimeNs;
  return receipt.sizeBytes === now.sizeBytes && receipt.mtimeNs === mtimeNs && mtimeNs !== '0' && !isTouched;
}

/** Returns the finished upload from this path if the file has not changed since. */
export async function findReceiptByPath(run: UploadRun): Promise<Uploaded | undefined> {
  const { deps, options, receiptKey, source } = run;
  const receipt = options.checksum ? undefined : await deps.receipts?.find(receiptKey);
  return receipt && isUnchanged(receipt, source.identity) ? toUploaded(receipt, 'there') : undefined;
}

/**
 * Returns a finished upload with the same content, from this path (the file was only touched) or from another path
 * (dedupe). Hashes the file only if a receipt has its size.
 */
export async function findReceiptByContent(run: UploadRun): Promise<Uploaded | undefined> {
  const { deps, receiptKey, source, options, job } = run;
  const { receipts } = deps;
  if (job.isSingleRead || !receipts || !(await mayHaveReceipt(receipts, receiptKey, source.sizeBytes)))
    return undefined;
  const blake3 = await digestOf(source);
  const dedupe = { same: options.same, mark: deps.maxReceiptId };
  const found = await matchReceiptByContent(receipts, receiptKey, { sizeBytes: source.sizeBytes, blake3 }, dedupe);
  const match = found && (await locateDuplicate(deps.api, options.same, found));
  if (found && !match) await receipts.forgetAsset(found.receipt.assetUid);
  if (match?.kind === 'there')
    await receipts.updatePath(receiptKey, { path: receiptKey.path, ...fileTimesOf(source.identity) });
  return match && toUploaded(match.receipt, match.kind);
}

/** Returns true if a receipt has the file's size, so that hashing could find a match. Empty files are never deduped. */
export const mayHaveReceipt = async (receipts: Receipts, key: ReceiptKey, sizeBytes: number) =>
  sizeBytes > 0 && receipts.hasSize(key, sizeBytes);

export type ReceiptMatch = { kind: 'there' | 'same'; receipt: Receipt };

/**
 * Looks up a duplicate of `--same skip-anywhere`, which might have been moved or deleted. Returns its receipt with the
 * folder that it is in now; undefined if the asset no longer exists.
 */
export async function locateDuplicate({ assets }: Api, same: UploadOptions['same'], match: ReceiptMatch) {
  const { kind, receipt } = match;
  if (kind === 'there' || same !== 'skip-anywhere') return match;
  const asset = await assets.get(receipt.assetUid).catch((error) => {
    if (asMediactlError(error).exitCode === exitCodes.notFound) return undefined;
    throw error;
  });
  if (!asset) return undefined;
  const parent = parentOf(asset);
  return { kind, receipt: { ...receipt, folder: parent === undefined ? receipt.folder : (parent ?? '') } };
}

/**
 * Finds a receipt with the same content, first for the same path and folder, then for other paths if `same` says so.
 *
 * @param mark highest receipt id when the run started, since later receipts might be its own
 */
export async function matchReceiptByContent(
  receipts: Receipts,
  key: ReceiptKey,
  { sizeBytes, blake3 }: { sizeBytes: number; blake3: string },
  { same, mark }: { same: UploadOptions['same']; mark: number },
): Promise<ReceiptMatch | undefined> {
  const own = await receipts.find(key);
  if (own?.sizeBytes === sizeBytes && own.blake3 === blake3) return { kind: 'there', receipt: own };
  if (same === 'upload') return undefined;
  const other = await receipts.findByContent(key, { sizeBytes, blake3 }, mark, same === 'skip-anywhere');
  return other && { kind: 'same', receipt: other };
}

export async function digestAndClose(opening: Promise<UploadSource>): Promise<string> {
  const source = await opening;
  return digestOf(source).finally(() => source.close());
}

export function toUploaded(receipt: Receipt, how: SuccessOutcome): Uploaded {
  const { state, assetUid, sessionUid, name, sizeBytes, blake3, verified } = receipt;
  const uploaded = {
    how,
    state,
    assetUid,
    sessionUid,
    name,
    sizeBytes,
    bytesSent: 0,
    resumedFrom: null,
    blake3,
    verified,
  };
  return how === 'same' ? { ...uploaded, folder: receipt.folder } : uploaded;
}
