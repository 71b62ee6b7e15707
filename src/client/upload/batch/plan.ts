import { isAsSent } from '../session/known.ts';
import type { Wanted } from '../sources/wanted.ts';
import type { Receipt, ReceiptKey, Receipts } from '../store/receipts.ts';

/** Files, and the bytes in them. */
export type Count = { files: number; bytes: number };

/** What is wanted less what is known, in figures. */
export type Plan = {
  /** There, by the receipts of this machine. */
  there: Count;
  /** There by its path, and touched or written to since. */
  changed: Count;
  /** Of the size of something that was sent: whether it is the same is seen when it is read. */
  alike: Count;
  new: Count;
  /** Requests that sending all of it takes, one that is repeated aside. */
  requests: number;
  /** Of the largest file. */
  largestBytes: number;
  /** Files to be sent that are in a directory below the one that was named. */
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

/** What the receipts say of a file, without reading it. */
export type Judgement = { kind: 'there'; receipt: Receipt } | { kind: 'changed' | 'alike' | 'new' };

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

/** A creation, and a request for each chunk. */
const requestsFor = (sizeBytes: number, chunkBytes: number) =>
  1 + Math.max(1, Math.ceil(sizeBytes / chunkBytes));

export const toSend = ({ changed, alike, new: fresh }: Plan): Count => ({
  files: changed.files + alike.files + fresh.files,
  bytes: changed.bytes + alike.bytes + fresh.bytes,
});
