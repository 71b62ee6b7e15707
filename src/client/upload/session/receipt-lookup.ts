import { parentOf } from '../../../contract/asset.ts';
import type { KeptOutcome, SuccessOutcome } from '../../../contract/upload-outcomes.ts';
import type { Api } from '../../api/api.ts';
import { asCodedError } from '../../errors.ts';
import { digestOf } from '../sources/checksum.ts';
import type { FileIdentity, UploadSource } from '../sources/source.ts';
import type { ReceiptKey } from '../sources/upload-file.ts';
import type { Receipt, Receipts } from '../store/receipts.ts';
import type { Uploaded } from './file-outcome.ts';
import type { UploadSettings } from './upload-deps.ts';
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
 * modification time was set back (`cp -p`). A modification time of 0, which some file systems give every file, shows
 * nothing.
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
  return receipt && isUnchanged(receipt, source.identity) ? toUploaded(receipt, 'skipped') : undefined;
}

/**
 * Returns a finished upload with the same content, from this path (the file was only touched) or from another path
 * (dedupe). Forgets the receipts of an asset that no longer exists.
 */
export async function findReceiptByContent(run: UploadRun): Promise<Uploaded | undefined> {
  const { deps, receiptKey, source, options } = run;
  const { api, receipts } = deps;
  if (!receipts) return undefined;
  const { sizeBytes, identity } = source;
  const content = { sizeBytes, digest: () => digestOf(source) };
  const dedupe = { duplicates: options.duplicates, mark: deps.mark };
  const { match, deleted } = await matchContent({ api, receipts }, receiptKey, content, dedupe);
  if (deleted) await receipts.forgetAsset(deleted.assetUid);
  if (match?.kind === 'skipped')
    await receipts.updatePath(receiptKey, { realPath: receiptKey.realPath, ...fileTimesOf(identity) });
  return match && toUploaded(match.receipt, match.kind);
}

/** An asset that makes it unnecessary to upload a file, as its receipt describes it. */
export type FoundUpload = { kind: KeptOutcome; receipt: Receipt };

/**
 * Finds a receipt with the same content: first for the same path and folder (`skipped`), then, unless `duplicates` is `upload`, for
 * other paths in the same folder or, if it is `skip-anywhere`, in any folder (`duplicate`). Calls `digest` only if a receipt has the
 * file's size. Empty files never match.
 *
 * @param mark highest receipt id when the run started, since later receipts might be its own
 * @returns the match, or as `deleted` the receipt of an asset of another folder that no longer exists
 */
export async function matchContent(
  { api, receipts }: { api: Api; receipts: Receipts },
  key: ReceiptKey,
  { sizeBytes, digest }: { sizeBytes: number; digest: () => Promise<string> },
  { duplicates, mark }: { duplicates: UploadSettings['duplicates']; mark: number },
): Promise<{ match?: FoundUpload; deleted?: Receipt }> {
  if (sizeBytes === 0 || !(await receipts.hasSize(key, sizeBytes))) return {};
  const blake3 = await digest();
  const own = await receipts.find(key);
  if (own?.sizeBytes === sizeBytes && own.blake3 === blake3) return { match: { kind: 'skipped', receipt: own } };
  if (duplicates === 'upload') return {};
  const isAnywhere = duplicates === 'skip-anywhere';
  const receipt = await receipts.findByContent(key, { sizeBytes, blake3 }, mark, isAnywhere);
  if (!receipt) return {};
  const folder = isAnywhere ? await findFolder(api, receipt) : receipt.folder;
  return folder === undefined
    ? { deleted: receipt }
    : { match: { kind: 'duplicate', receipt: { ...receipt, folder } } };
}

/** Returns the folder that an asset is in now, '' for the top level; undefined if the asset no longer exists. */
async function findFolder({ assets }: Api, { assetUid, folder }: Receipt): Promise<string | undefined> {
  const asset = await assets.get(assetUid).catch((error) => {
    if (asCodedError(error).kind === 'notFound') return undefined;
    throw error;
  });
  const parent = asset && parentOf(asset);
  return asset && (parent === undefined ? folder : (parent ?? ''));
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
  return how === 'duplicate' ? { ...uploaded, folder: receipt.folder } : uploaded;
}
