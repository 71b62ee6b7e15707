import { createHash } from 'node:crypto';
import { keptOutcomes } from '../../../contract/upload-outcomes.ts';
import type { Api } from '../../api/api.ts';
import { createOutcome, type FileOutcome } from '../session/file-outcome.ts';
import { type FoundUpload, isUnchanged, toUploaded } from '../session/receipt-lookup.ts';
import type { UploadSettings } from '../session/upload-deps.ts';
import { unverifiedError } from '../session/verify.ts';
import { type FolderResolver, type ReceiptKey, receiptKeyOf, type UploadFile } from '../sources/upload-file.ts';
import type { Receipt, Receipts } from '../store/receipts.ts';

export type FileTotals = { files: number; bytes: number };

/** Totals of a run before it starts, for files that are already uploaded and files to send. */
export type Plan = {
  /** Files by what is known of them before their content is read. Hashing a `sameSize` file shows if it is new. */
  totals: Record<Classification['kind'], FileTotals>;
  /** Receipts to save of files that another machine has uploaded. */
  adopted: Receipt[];
  /** Number of requests to compare files with the assets in their folder. */
  comparisons: number;
  /** Number of requests to send everything, without retries. */
  requests: number;
  largestBytes: number;
  /** Number of files to send that are in a subdirectory of the given directory. */
  nested: number;
};

/** A file whose path was not uploaded before or has changed since, or that has the size of an earlier upload. */
export type FileToUpload = { kind: (typeof kindsToSend)[number] };

const kindsToSend = ['new', 'changed', 'sameSize'] as const;

/** Upload state of a file according to its receipts, size and modification time, before its content is read. */
export type Classification = FoundUpload | FileToUpload;

export const emptyPlan = (): Plan => ({
  totals: Object.fromEntries(
    [...keptOutcomes, ...kindsToSend].map((kind) => [kind, { files: 0, bytes: 0 }]),
  ) as Plan['totals'],
  adopted: [],
  comparisons: 0,
  requests: 0,
  largestBytes: 0,
  nested: 0,
});

async function classify(
  file: UploadFile,
  key: ReceiptKey | undefined,
  receipts: Receipts | undefined,
): Promise<Classification> {
  const { sizeBytes, mtimeNs = '', ctimeNs } = file;
  if (!receipts || !key || sizeBytes === undefined) return { kind: 'new' };
  const receipt = await receipts.find(key);
  if (receipt && isUnchanged(receipt, { sizeBytes, mtimeNs, ctimeNs }))
    return { kind: receipt.blake3 === null ? 'same_name_and_size' : 'skipped', receipt };
  if (receipt?.blake3) return { kind: 'changed' };
  return { kind: sizeBytes > 0 && (await receipts.hasSize(key, sizeBytes)) ? 'sameSize' : 'new' };
}

export function addToPlan(plan: Plan, classification: Classification, file: UploadFile, chunkBytes: number): void {
  const sizeBytes = file.sizeBytes ?? 0;
  const total = plan.totals[classification.kind];
  total.files++;
  total.bytes += sizeBytes;
  if ('receipt' in classification) return;
  const creations = 1;
  const chunks = Math.max(1, Math.ceil(sizeBytes / chunkBytes));
  plan.requests += creations + chunks + (file.about?.tags?.length ? 1 : 0);
  if (file.relativeDir !== '') plan.nested++;
  plan.largestBytes = Math.max(plan.largestBytes, sizeBytes);
}

export const totalToSend = ({ totals }: Plan): FileTotals => sumOf(kindsToSend.map((kind) => totals[kind]));

export const countFiles = ({ totals }: Plan): number => sumOf(Object.values(totals)).files;

const sumOf = (totals: readonly FileTotals[]): FileTotals => ({
  files: totals.reduce((sum, { files }) => sum + files, 0),
  bytes: totals.reduce((sum, { bytes }) => sum + bytes, 0),
});

export type Candidates = AsyncIterable<UploadFile> | Iterable<UploadFile>;

/**
 * Finds which of the files without a receipt are already uploaded: from another path, before a directory was renamed,
 * or by another machine.
 *
 * @returns what was found, the number of requests that it took, and receipts to save when the run begins
 */
export type FindUploaded = (
  files: readonly UploadFile[],
) => Promise<{ found: ReadonlyMap<UploadFile, FoundUpload>; requests: number; adopted: Receipt[] }>;

type PlanContext = Pick<UploadSettings, 'force' | 'checksum' | 'chunkBytes' | 'requireChecksum'> & {
  api: Api;
  workspace: string;
  folders: FolderResolver;
  receipts?: Receipts | undefined;
  signal?: AbortSignal | undefined;
  /** Run one after the other, each with the files that the ones before did not find. */
  findUploaded?: readonly FindUploaded[];
};

/** Adds all files to the plan. Reports those that are already uploaded, and returns those still to be uploaded. */
export async function filesToUpload(
  candidates: Candidates,
  plan: Plan,
  context: PlanContext,
  onAlreadyUploaded: (outcome: FileOutcome, file: UploadFile, found: FoundUpload) => void,
): Promise<Map<UploadFile, FileToUpload>> {
  const { api, workspace, folders, receipts, force, checksum = false, chunkBytes, signal, findUploaded = [] } = context;
  const service = api.transport.baseUrl.origin;
  const files = new Map<UploadFile, FileToUpload>();
  const add = (file: UploadFile, classification: Classification) => {
    const isHashed = checksum && classification.kind === 'skipped';
    const decision = isHashed ? ({ kind: 'changed' } as const) : classification;
    addToPlan(plan, decision, file, chunkBytes);
    if (!('receipt' in decision)) return files.set(file, decision);
    const { kind, receipt } = decision;
    const outcome = createOutcome(file, { uploaded: toUploaded(receipt, kind) });
    if (context.requireChecksum && receipt.verified === null) outcome.error = unverifiedError(receipt.assetUid, true);
    return onAlreadyUploaded(outcome, file, decision);
  };
  const unmatched = new Map<UploadFile, Classification>(); // in the given order
  for await (const file of candidates) {
    signal?.throwIfAborted();
    const key = receiptKeyOf(file, { service, workspace, folders });
    const classification = await classify(file, key, force ? undefined : receipts);
    if ('receipt' in classification) add(file, classification);
    else unmatched.set(file, classification);
  }
  for (const find of force ? [] : findUploaded) {
    const withoutReceipt = [...unmatched].flatMap(([file, { kind }]) => (kind === 'changed' ? [] : [file]));
    if (withoutReceipt.length === 0) break;
    const { found, requests, adopted } = await find(withoutReceipt);
    plan.adopted.push(...adopted);
    plan.comparisons += requests;
    for (const [file, match] of found) {
      unmatched.delete(file);
      add(file, match);
    }
  }
  for (const [file, classification] of unmatched) add(file, classification);
  return files;
}

/** Returns the id of a run's mark, which is the same each time the same files are uploaded in the same way. */
export const markIdOf = (baseUrl: URL, { workspace, identity }: { workspace: string; identity: readonly string[] }) =>
  createHash('sha256')
    .update(JSON.stringify([baseUrl.origin, workspace, identity]))
    .digest('hex');
