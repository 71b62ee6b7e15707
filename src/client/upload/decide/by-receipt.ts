import { stat } from 'node:fs/promises';
import { isAbsolute } from 'node:path';
import { parentOf } from '../../../contract/asset.ts';
import type { KeptOutcome } from '../../../contract/upload-outcomes.ts';
import type { Api } from '../../api/api.ts';
import { ignoreNotFound } from '../../errors.ts';
import type { FileIdentity } from '../sources/source.ts';
import type { ReceiptKey, UploadFile } from '../sources/upload-file.ts';
import type { Receipt } from '../store/receipt-row.ts';
import type { Receipts } from '../store/receipts.ts';
import type { KeepDecision, LocalRecord } from './decision.ts';
import type { DecidePolicy, FileMatcher, MatcherDeps } from './matcher.ts';

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

/** Returns true if a file has the content of a receipt: its size and times, or its size and checksum. */
export async function hasContentOf(
  receipt: Receipt,
  { identity, digest }: { identity: FileIdentity; digest(): Promise<string> },
): Promise<boolean> {
  if (isUnchanged(receipt, identity)) return true;
  return identity.sizeBytes === receipt.sizeBytes && (await digest()) === receipt.blake3;
}

export const keep = (outcome: KeptOutcome, receipt: Receipt, records: readonly LocalRecord[] = []): KeepDecision => ({
  action: 'keep',
  outcome,
  receipt,
  records,
});

/**
 * Returns the receipt of a file: by its path or, if that has none, by another path that leads to the same file, such as
 * a link that stands where its directory was before, or a second mount of its disk.
 */
export async function findOwnReceipt(
  receipts: Receipts | undefined,
  key: ReceiptKey,
  { path, sizeBytes, stream }: Pick<UploadFile, 'path' | 'sizeBytes' | 'stream'>,
): Promise<Receipt | undefined> {
  const receipt = await receipts?.find(key);
  if (receipt || !receipts || !isAbsolute(key.realPath) || stream || sizeBytes === undefined) return receipt;
  const namesakes = await receipts.findNamesakes(key, sizeBytes);
  if (namesakes.length === 0) return undefined;
  const identify = (at: string) => stat(at, { bigint: true }).catch(() => undefined);
  const file = await identify(path);
  for (const each of namesakes) {
    const other = file && (await identify(each.realPath));
    if (other && other.dev === file.dev && other.ino === file.ino) return each;
  }
  return undefined;
}

/** Returns the change of a receipt that was found by another path. */
const pathRecords = (receipt: Receipt, { realPath }: ReceiptKey, identity: FileIdentity): LocalRecord[] =>
  receipt.realPath === realPath ? [] : [{ record: 'path', key: receipt, to: { realPath, ...fileTimesOf(identity) } }];

/** Matches a file that was uploaded from this path and has not been touched since. Reads its receipt, and no byte. */
export const sameFile: FileMatcher = async ({ file, key, identity }, before, { receipts, policy }) => {
  // An upload resumed by its id is unfinished, whatever receipts exist for its file.
  if (!key || !identity || file.id !== undefined) return undefined;
  const receipt = await findOwnReceipt(receipts, key, { ...file, sizeBytes: identity.sizeBytes });
  if (!receipt) return undefined;
  if (!policy.checksum && isUnchanged(receipt, identity))
    return keep(
      receipt.blake3 === null ? 'same_name_and_size' : 'skipped',
      receipt,
      pathRecords(receipt, key, identity),
    );
  return receipt.blake3 === null ? undefined : { ...before, reason: 'changed', mayBeDuplicate: true };
};

/**
 * Matches a file whose content was uploaded: from this path (it was only touched) or, as `existing` says, from another
 * path to the same folder (`content`) or to any folder (`anywhere`). Reads the file if a receipt that counts has its
 * size. Empty files never match. An asset of another folder takes a request, as it may no longer exist.
 */
export const sameContent: FileMatcher = async (subject, before, deps) => {
  const { key, identity } = subject;
  const { receipts, policy, mark } = deps;
  const sizeBytes = identity?.sizeBytes ?? 0;
  const isAnywhere = policy.existing === 'anywhere';
  // A folder that does not exist yet has no duplicates, but others may.
  const place = key ?? (isAnywhere ? anywhereIn(deps) : undefined);
  if (before.entry || !receipts || !place || !identity || sizeBytes === 0) return undefined;
  const own = key && (await findOwnReceipt(receipts, key, { ...subject.file, sizeBytes }));
  const mayBeOwn = own?.sizeBytes === sizeBytes && own.blake3 !== null;
  if (!mayBeOwn && !(await mayBeDuplicate(place, sizeBytes, deps))) return undefined;
  const blake3 = await subject.digest();
  if (mayBeOwn && own.blake3 === blake3) {
    const to = { realPath: key?.realPath ?? own.realPath, ...fileTimesOf(identity) };
    return keep('skipped', own, [{ record: 'path', key: own, to }]);
  }
  if (!comparesContent(policy)) return undefined;
  const receipt = await receipts.findByContent(place, { sizeBytes, blake3 }, mark, isAnywhere);
  if (!receipt) return undefined;
  const folder = isAnywhere ? await findFolder(deps.api, receipt) : receipt.folder;
  if (folder !== undefined) return keep('duplicate', { ...receipt, folder });
  return { ...before, records: [{ record: 'forgotten', assetUid: receipt.assetUid }] };
};

/** Returns true if content that was uploaded from another path counts. */
const comparesContent = ({ existing }: DecidePolicy) => existing === 'content' || existing === 'anywhere';

/** Returns true if a file of another path was uploaded that has the size, and would count as a duplicate. */
export async function mayBeDuplicate(
  key: ReceiptKey | undefined,
  sizeBytes: number | undefined,
  { receipts, policy }: Pick<MatcherDeps, 'receipts' | 'policy'>,
): Promise<boolean> {
  if (!key || !sizeBytes || !comparesContent(policy)) return false;
  return (await receipts?.hasSize(key, sizeBytes)) ?? false;
}

const anywhereIn = ({ api, workspace }: MatcherDeps): ReceiptKey => ({
  service: api.transport.baseUrl.origin,
  workspace,
  folder: '',
  realPath: '',
});

/** Returns the folder that an asset is in now, '' for the top level; undefined if the asset no longer exists. */
async function findFolder({ assets }: Api, { assetUid, folder }: Receipt): Promise<string | undefined> {
  const asset = await assets.get(assetUid).catch(ignoreNotFound);
  const parent = asset && parentOf(asset);
  return asset && (parent === undefined ? folder : (parent ?? ''));
}
