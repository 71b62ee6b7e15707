import { openChecksum } from '../sources/checksum.ts';
import { PrefixDigest } from '../sources/prefix-digest.ts';
import type { FileIdentity, Source } from '../sources/source.ts';
import type { Receipt, ReceiptKey, Receipts } from '../store/receipts.ts';
import type { How, Uploaded } from './job.ts';
import type { UploadRun } from './upload-run.ts';

/** Of what has no version, its length alone is known: that vouches for nothing. */
const unknownVersion = '0';

/** What tells one version of a file from another: the time of its last write, or a server's word for it. */
export const versionOf = ({ validator, mtimeNs }: FileIdentity) => validator ?? mtimeNs;

/** Nobody touched the file since it was sent. */
export const isAsSent = (receipt: Pick<Receipt, 'sizeBytes' | 'mtimeNs'>, now: FileIdentity) =>
  receipt.sizeBytes === now.sizeBytes &&
  receipt.mtimeNs === versionOf(now) &&
  receipt.mtimeNs !== unknownVersion;

/** This file, untouched since it was sent. */
export function thereBefore({ tools, key, source }: UploadRun): Uploaded | undefined {
  const receipt = tools.receipts?.find(key);
  return receipt && isAsSent(receipt, source.identity)
    ? uploadedBefore(receipt, 'there')
    : undefined;
}

/**
 * What was sent before, by its content: this file, which was touched and holds the same, or one of
 * another name in the same folder. It is read only where something of its size was sent.
 */
export async function sentBefore(run: UploadRun): Promise<Uploaded | undefined> {
  const { tools, key, source, options, job } = run;
  const { receipts } = tools;
  if (job.isOnce || !receipts || !mayBeKnown(receipts, key, source.sizeBytes)) return undefined;
  const digest = await digestOf(run);
  const before = options.same === 'skip' ? tools.before : undefined;
  const known = knownByContent(receipts, key, source.sizeBytes, digest, before);
  if (known?.kind === 'there') await receipts.touched(key, versionOf(source.identity));
  return known && uploadedBefore(known.receipt, known.kind);
}

type Book = Pick<Receipts, 'find' | 'hasSize' | 'sameContent'>;

/** Whether reading it could tell anything. All empty files are alike, and tell nothing. */
export const mayBeKnown = (receipts: Book, key: ReceiptKey, sizeBytes: number) =>
  sizeBytes > 0 && receipts.hasSize(key, sizeBytes);

/** `before`: files of another name count where they were sent before then, in ms; without it none does. */
export function knownByContent(
  receipts: Book,
  key: ReceiptKey,
  sizeBytes: number,
  blake3: string,
  before: number | undefined,
): { kind: 'there' | 'same'; receipt: Receipt } | undefined {
  const own = receipts.find(key);
  if (own?.sizeBytes === sizeBytes && own.blake3 === blake3) return { kind: 'there', receipt: own };
  if (before === undefined) return undefined;
  const other = receipts.sameContent(key, { sizeBytes, blake3 }, before);
  return other && { kind: 'same', receipt: other };
}

/** Returns the BLAKE3 of a file that is opened for that alone. */
export async function digestAt(opening: Promise<Source>): Promise<string> {
  const source = await opening;
  return digestOf({ source }).finally(() => source.close());
}

/** BLAKE3 of all of the file, in hex. */
export async function digestOf({ source }: Pick<UploadRun, 'source'>): Promise<string> {
  const digest = new PrefixDigest(source, await openChecksum());
  await digest.catchUp(source.sizeBytes);
  await digest.assertUnchanged();
  return digest.current().blake3;
}

export const uploadedBefore = (receipt: Receipt, how: How): Uploaded => ({
  how,
  state: receipt.state,
  assetUid: receipt.assetUid,
  sessionUid: receipt.sessionUid,
  name: receipt.name,
  sizeBytes: receipt.sizeBytes,
  bytesSent: 0,
  resumedFrom: null,
  blake3: receipt.blake3,
  verified: receipt.verified,
});
