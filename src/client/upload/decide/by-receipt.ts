import { dirname, isAbsolute } from 'node:path';
import { parentOf } from '../../../contract/asset.ts';
import { evidenceKinds } from '../../../shared/file-evidence.ts';
import type { KeptOutcome } from '../../../shared/upload-outcomes.ts';
import type { Api } from '../../api/api.ts';
import { ignoreNotFound } from '../../errors.ts';
import { fileExists, isSameInode, tryLstat, tryStat } from '../../local-path.ts';
import { type FileIdentity, fileTimesOf, matchesReceipt } from '../sources/file-identity.ts';
import type { ReceiptKey, UploadFile } from '../sources/upload-file.ts';
import { kindOf, type Receipt } from '../store/receipt-row.ts';
import type { Receipts } from '../store/receipts.ts';
import { evidenceOf, type KeepDecision, type LocalRecord } from './decision.ts';
import type { FileMatcher, MatcherDeps } from './matcher.ts';

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
  const file = await tryStat(path);
  for (const each of namesakes) if (file && isSameInode(file, await tryStat(each.realPath))) return each;
  return undefined;
}

/**
 * Keeps a file that has the content of a receipt, which may be one of another path. If that path has a file of its own,
 * as after `cp -al`, the file gets a second receipt, so that neither directory owns the asset alone.
 */
async function keepOwn(saved: Receipt, { realPath }: ReceiptKey, identity: FileIdentity): Promise<KeepDecision> {
  // The content of an asset that has other bytes than were sent is known from a download.
  const receipt: Receipt = saved.verified === false ? { ...saved, verified: true, evidence: 'bytes' } : saved;
  const outcome = evidenceKinds[kindOf(receipt)].kept;
  if (receipt.realPath === realPath && matchesReceipt(receipt, identity)) return keep(outcome, receipt);
  const to = { realPath, ...fileTimesOf(identity) };
  if (await isSamePath(receipt.realPath, realPath))
    return keep(outcome, receipt, [{ record: 'path', key: receipt, to }]);
  const copy = { ...receipt, ...to };
  return keep(outcome, copy, [{ record: 'adopted', receipt: copy }]);
}

/** Returns true if two paths of one file lead to the same entry of a directory, as through a link or a second mount. */
async function isSamePath(one: string, other: string): Promise<boolean> {
  if (one === other) return true;
  const files = await Promise.all([one, other].map(tryLstat));
  // A file that has one name has one entry.
  if (files.every((file) => file?.isFile() && file.nlink === 1n)) return true;
  return isSameInode(await tryStat(dirname(one)), await tryStat(dirname(other)));
}

/** Matches a file that was uploaded from this path and has not been touched since. Reads its receipt, and no byte. */
export const sameFile: FileMatcher = async ({ file, key, identity }, before, { receipts, policy }) => {
  // An upload resumed by its id is unfinished, whatever receipts exist for its file.
  if (!key || !identity || file.id !== undefined) return undefined;
  const receipt = await findOwnReceipt(receipts, key, { ...file, sizeBytes: identity.sizeBytes });
  if (!receipt) return undefined;
  if (!policy.checksum && matchesReceipt(receipt, identity)) return keepOwn(receipt, key, identity);
  if (receipt.blake3 === null) return undefined;
  const evidence = evidenceOf(receipt, receipt.verified === false ? 'contradicted' : 'changed');
  return { ...before, reason: 'changed', mayBeDuplicate: true, evidence };
};

/**
 * Matches a file whose content was uploaded: from this path (it was only touched) or, as `existing` says, from another
 * path to the same folder (`content`) or to any folder (`anywhere`), or from a path to the same folder that is gone (`file`):
 * two paths that both exist are two files. In a mirror, `Renames` matches renamed files. Reads the file if a receipt that counts has its
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
  if (mayBeOwn && own.blake3 === blake3) return keepOwn(own, place, identity);
  if (!comparesContent(deps)) return undefined;
  const same = await receipts.listByContent(place, { sizeBytes, blake3 }, mark, isAnywhere);
  if (policy.existing === 'file') return key && keepRenamed(same, key, identity, deps);
  const [receipt] = same;
  if (!receipt) return undefined;
  const folder = isAnywhere ? await findFolder(deps.api, receipt) : receipt.folder;
  if (folder !== undefined) return keep('duplicate', { ...receipt, folder });
  return { ...before, records: [{ record: 'forgotten', assetUid: receipt.assetUid }] };
};

/** Keeps a file whose content was uploaded from a path that is gone, unless another file of the run is that one. */
async function keepRenamed(
  same: readonly Receipt[],
  { realPath }: ReceiptKey,
  identity: FileIdentity,
  { receipts, renamed }: MatcherDeps,
): Promise<KeepDecision | undefined> {
  for (const receipt of same) {
    const { assetUid, realPath: old } = receipt;
    const isGone = isAbsolute(old) && !(await fileExists(old)) && (await receipts?.findMovedTo(receipt)) === null;
    if (!isGone || renamed.has(assetUid)) continue;
    renamed.add(assetUid);
    return keep('skipped', receipt, [{ record: 'moved', from: receipt, to: { realPath, ...fileTimesOf(identity) } }]);
  }
  return undefined;
}

/** Returns true if content that was uploaded from another path counts. */
const comparesContent = ({ policy: { existing }, mirror }: MatcherDeps) =>
  existing === 'content' || existing === 'anywhere' || (existing === 'file' && mirror === undefined);

/** Returns true if a file of another path was uploaded that has the size, and would count as a duplicate. */
export async function mayBeDuplicate(
  key: ReceiptKey | undefined,
  sizeBytes: number | undefined,
  deps: MatcherDeps,
): Promise<boolean> {
  if (!key || !sizeBytes || !comparesContent(deps)) return false;
  return (await deps.receipts?.hasSize(key, sizeBytes)) ?? false;
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
