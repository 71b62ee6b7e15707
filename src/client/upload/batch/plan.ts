import { isAsSent } from '../session/known.ts';
import type { Wanted } from '../sources/wanted.ts';
import type { Receipt, ReceiptKey, Receipts } from '../store/receipts.ts';

/** Number of files and their total size. */
export type Count = { files: number; bytes: number };

/** Totals of a run before it starts: what is already uploaded and what has to be sent. */
export type Plan = {
  /** Files already uploaded, by the receipts of this machine. */
  there: Count;
  /** Files whose path was uploaded before and whose size or modification time differs now. */
  changed: Count;
  /** Files of the same size as an earlier upload. Hashing them shows if the content is the same. */
  alike: Count;
  new: Count;
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
  alike: { files: 0, bytes: 0 },
  new: { files: 0, bytes: 0 },
  requests: 0,
  largestBytes: 0,
  nested: 0,
});

/** State of a file by its receipts, size and modification time, before its content is read. */
export type Judgement = { kind: 'there'; receipt: Receipt } | { kind: 'changed' | 'alike' | 'new' };

/** Classifies a file by its receipts, without reading it. */
export function judge(
  file: Wanted,
  key: ReceiptKey | undefined,
  receipts: Pick<Receipts, 'find' | 'hasSize'> | undefined,
): Judgement {
  const { sizeBytes, mtimeNs } = file;
  if (!receipts || !key || sizeBytes === undefined) return { kind: 'new' };
  const receipt = receipts.find(key);
  if (receipt && isAsSent(receipt, { sizeBytes, mtimeNs: mtimeNs ?? '' }))
    return { kind: 'there', receipt };
  if (receipt) return { kind: 'changed' };
  return { kind: sizeBytes > 0 && receipts.hasSize(key, sizeBytes) ? 'alike' : 'new' };
}

/** Adds a file to the plan. */
export function count(plan: Plan, { kind }: Judgement, file: Wanted, chunkBytes: number): void {
  const sizeBytes = file.sizeBytes ?? 0;
  plan[kind].files++;
  plan[kind].bytes += sizeBytes;
  if (kind === 'there') return;
  plan.requests += requestsFor(sizeBytes, chunkBytes) + (file.about?.tags?.length ? 1 : 0);
  if (file.below !== '') plan.nested++;
  plan.largestBytes = Math.max(plan.largestBytes, sizeBytes);
}

/** Counts one creation and one request per chunk. */
const requestsFor = (sizeBytes: number, chunkBytes: number) =>
  1 + Math.max(1, Math.ceil(sizeBytes / chunkBytes));

/** Returns the totals of all files that have to be sent. */
export const toSend = ({ changed, alike, new: fresh }: Plan): Count => ({
  files: changed.files + alike.files + fresh.files,
  bytes: changed.bytes + alike.bytes + fresh.bytes,
});
