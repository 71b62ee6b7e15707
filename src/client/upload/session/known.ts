import { openChecksum } from '../sources/checksum.ts';
import { PrefixDigest } from '../sources/prefix-digest.ts';
import type { FileIdentity, Source } from '../sources/source.ts';
import type { Receipt, ReceiptKey, Receipts } from '../store/receipts.ts';
import type { How, Uploaded } from './job.ts';
import type { UploadRun } from './upload-run.ts';

/** Version of a source that has neither modification time nor ETag (stdin). It never counts as unchanged. */
const unknownVersion = '0';

/** Returns the version of a file: the server's strong ETag if there is one, else the modification time. */
export const versionOf = ({ validator, mtimeNs }: FileIdentity) => validator ?? mtimeNs;

/** Returns true if size and modification time equal those in the receipt. */
export const isAsSent = (receipt: Pick<Receipt, 'sizeBytes' | 'mtimeNs'>, now: FileIdentity) =>
  receipt.sizeBytes === now.sizeBytes &&
  receipt.mtimeNs === versionOf(now) &&
  receipt.mtimeNs !== unknownVersion;

/** Returns the finished upload of this path if the file is unchanged since. */
export function thereBefore({ tools, key, source }: UploadRun): Uploaded | undefined {
  const receipt = tools.receipts?.find(key);
  return receipt && isAsSent(receipt, source.identity)
    ? uploadedBefore(receipt, 'there')
    : undefined;
}

/**
 * Returns an upload with the same content: of this path (the file was only touched), or of another file in
 * the same folder (dedupe). Hashes the file only if a receipt has its size.
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

/** Returns true if hashing a file could find a receipt: one has its size. Empty files are never deduped. */
export const mayBeKnown = (receipts: Book, key: ReceiptKey, sizeBytes: number) =>
  sizeBytes > 0 && receipts.hasSize(key, sizeBytes);

/**
 * Finds a receipt with the same content: of the same path, else of another path in the same folder.
 *
 * @param mark highest receipt id that counts for other paths; undefined ignores other paths
 */
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

/** Returns the BLAKE3 of a file and closes it. */
export async function digestAt(opening: Promise<Source>): Promise<string> {
  const source = await opening;
  return digestOf({ source }).finally(() => source.close());
}

/** Returns the BLAKE3 of the complete file, in hex. */
export async function digestOf({ source }: Pick<UploadRun, 'source'>): Promise<string> {
  const digest = new PrefixDigest(source, await openChecksum());
  await digest.catchUp(source.sizeBytes);
  await digest.assertUnchanged();
  return digest.current().blake3;
}

/** Converts the receipt of an earlier upload to the result of this run, which sent no bytes. */
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
