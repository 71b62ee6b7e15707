import { isUnchanged } from '../session/receipt-lookup.ts';
import type { UploadCandidate } from '../sources/upload-candidate.ts';
import type { Receipt, ReceiptKey, Receipts } from '../store/receipts.ts';

/** Number of files and their total size. */
export type FileTotals = { files: number; bytes: number };

/** Totals of a run before it starts: what is already uploaded and what has to be sent. */
export type Plan = {
  /** Files already uploaded, by the receipts of this machine. */
  there: FileTotals;
  /** Files whose path was uploaded before and whose size or modification time differs now. */
  changed: FileTotals;
  /** Files of the same size as an earlier upload. Hashing them shows if the content is the same. */
  sameSize: FileTotals;
  new: FileTotals;
  /** Requests needed to send everything, without retries. */
  requests: number;
  /** Size of the largest file to send. */
  largestBytes: number;
  /** Files to send that are in a subdirectory of the given directory. */
  nested: number;
};

export const emptyPlan = (): Plan => ({
  there: { files: 0, bytes: 0 },
  changed: { files: 0, bytes: 0 },
  sameSize: { files: 0, bytes: 0 },
  new: { files: 0, bytes: 0 },
  requests: 0,
  largestBytes: 0,
  nested: 0,
});

/** State of a file by its receipts, size and modification time, before its content is read. */
export type Classification =
  | { kind: 'there'; receipt: Receipt }
  | { kind: 'changed' | 'sameSize' | 'new' };

/** Classifies a file by its receipts, without reading it. */
export function classify(
  file: UploadCandidate,
  key: ReceiptKey | undefined,
  receipts: Pick<Receipts, 'find' | 'hasSize'> | undefined,
): Classification {
  const { sizeBytes, mtimeNs } = file;
  if (!receipts || !key || sizeBytes === undefined) return { kind: 'new' };
  const receipt = receipts.find(key);
  if (receipt && isUnchanged(receipt, { sizeBytes, mtimeNs: mtimeNs ?? '' }))
    return { kind: 'there', receipt };
  if (receipt) return { kind: 'changed' };
  return { kind: sizeBytes > 0 && receipts.hasSize(key, sizeBytes) ? 'sameSize' : 'new' };
}

/** Adds a file to the plan. */
export function addToPlan(
  plan: Plan,
  { kind }: Classification,
  file: UploadCandidate,
  chunkBytes: number,
): void {
  const sizeBytes = file.sizeBytes ?? 0;
  plan[kind].files++;
  plan[kind].bytes += sizeBytes;
  if (kind === 'there') return;
  plan.requests += requestsFor(sizeBytes, chunkBytes) + (file.about?.tags?.length ? 1 : 0);
  if (file.relativeDir !== '') plan.nested++;
  plan.largestBytes = Math.max(plan.largestBytes, sizeBytes);
}

/** Counts one creation and one request per chunk. */
const requestsFor = (sizeBytes: number, chunkBytes: number) =>
  1 + Math.max(1, Math.ceil(sizeBytes / chunkBytes));

/** Returns the totals of all files that have to be sent. */
export const totalToSend = ({ changed, sameSize, new: fresh }: Plan): FileTotals => ({
  files: changed.files + sameSize.files + fresh.files,
  bytes: changed.bytes + sameSize.bytes + fresh.bytes,
});
