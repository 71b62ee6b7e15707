import type { Api } from '../../api/api.ts';
import { isUnchanged, toUploaded } from '../session/receipt-lookup.ts';
import { createOutcome, type FileOutcome, type UploadOptions } from '../session/upload-job.ts';
import {
  type FolderResolver,
  type ReceiptKey,
  receiptKeyOf,
  type UploadCandidate,
} from '../sources/upload-candidate.ts';
import type { Receipt, Receipts } from '../store/receipts.ts';

export type FileTotals = { files: number; bytes: number };

/** Totals of a run before it starts, for files that are already uploaded and files to send. */
export type Plan = {
  /** Files already uploaded, according to this machine's receipts. */
  there: FileTotals;
  /** Files whose path was uploaded before, but whose size or modification time has changed. */
  changed: FileTotals;
  /** Files with the same size as an earlier upload. Hashing them shows whether the content is the same. */
  sameSize: FileTotals;
  new: FileTotals;
  /** Number of requests needed to send everything, without retries. */
  requests: number;
  largestBytes: number;
  /** Number of files to send that are in a subdirectory of the given directory. */
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

/** Upload state of a file according to its receipts, size and modification time, before its content is read. */
export type Classification = { kind: 'there'; receipt: Receipt } | { kind: 'changed' | 'sameSize' | 'new' };

export async function classify(
  file: UploadCandidate,
  key: ReceiptKey | undefined,
  receipts: Receipts | undefined,
): Promise<Classification> {
  const { sizeBytes, mtimeNs } = file;
  if (!receipts || !key || sizeBytes === undefined) return { kind: 'new' };
  const receipt = await receipts.find(key);
  if (receipt && isUnchanged(receipt, { sizeBytes, mtimeNs: mtimeNs ?? '' })) return { kind: 'there', receipt };
  if (receipt) return { kind: 'changed' };
  return { kind: sizeBytes > 0 && (await receipts.hasSize(key, sizeBytes)) ? 'sameSize' : 'new' };
}

export function addToPlan(plan: Plan, { kind }: Classification, file: UploadCandidate, chunkBytes: number): void {
  const sizeBytes = file.sizeBytes ?? 0;
  plan[kind].files++;
  plan[kind].bytes += sizeBytes;
  if (kind === 'there') return;
  const creations = 1;
  const chunks = Math.max(1, Math.ceil(sizeBytes / chunkBytes));
  plan.requests += creations + chunks + (file.about?.tags?.length ? 1 : 0);
  if (file.relativeDir !== '') plan.nested++;
  plan.largestBytes = Math.max(plan.largestBytes, sizeBytes);
}

export const totalToSend = ({ changed, sameSize, new: fresh }: Plan): FileTotals => ({
  files: changed.files + sameSize.files + fresh.files,
  bytes: changed.bytes + sameSize.bytes + fresh.bytes,
});

export type Candidates = AsyncIterable<UploadCandidate> | Iterable<UploadCandidate>;

/** Finds receipts of files already uploaded from another path, so that `--sync` recognizes a renamed directory. */
export type FindMoved = (files: readonly UploadCandidate[]) => Promise<ReadonlyMap<UploadCandidate, Receipt>>;

type PlanContext = Pick<UploadOptions, 'again' | 'chunkBytes'> & {
  api: Api;
  workspace: string;
  folders: FolderResolver;
  receipts?: Receipts | undefined;
  signal?: AbortSignal | undefined;
  findMoved?: FindMoved | undefined;
};

/** Adds all files to the plan. Reports those that are already uploaded, and returns those still to be uploaded. */
export async function filesToUpload(
  candidates: Candidates,
  plan: Plan,
  { api, workspace, folders, receipts, again, chunkBytes, signal, findMoved }: PlanContext,
  onAlreadyUploaded: (outcome: FileOutcome, file: UploadCandidate, receipt: Receipt) => void,
): Promise<UploadCandidate[]> {
  const service = api.transport.baseUrl.origin;
  const files: UploadCandidate[] = [];
  const add = (file: UploadCandidate, classification: Classification) => {
    addToPlan(plan, classification, file, chunkBytes);
    if (classification.kind !== 'there') return files.push(file);
    const outcome = createOutcome(file.path, workspace, { uploaded: toUploaded(classification.receipt, 'there') });
    return onAlreadyUploaded(outcome, file, classification.receipt);
  };
  const unmatched = new Map<UploadCandidate, Classification>();
  for await (const file of candidates) {
    signal?.throwIfAborted();
    const key = receiptKeyOf(file, { service, workspace, folders });
    const classification = await classify(file, key, again ? undefined : receipts);
    if (findMoved && classification.kind !== 'there' && classification.kind !== 'changed')
      unmatched.set(file, classification);
    else add(file, classification);
  }
  const moved = unmatched.size > 0 ? await findMoved?.([...unmatched.keys()]) : undefined;
  for (const [file, classification] of unmatched) {
    const receipt = moved?.get(file);
    add(file, receipt ? { kind: 'there', receipt } : classification);
  }
  return files;
}
