import { createHash } from 'node:crypto';
import { type PlannedOutcome, plannedNames } from '../../../shared/upload-outcomes.ts';
import type { Candidates, Decider } from '../decide/decide.ts';
import {
  type Decision,
  type FolderMove,
  type FollowDecision,
  hasChange,
  type KeepDecision,
  type LocalRecord,
} from '../decide/decision.ts';
import { unwrittenError } from '../decide/metadata.ts';
import type { UploadSettings } from '../decide/upload-settings.ts';
import { createOutcome, type FileOutcome, toUploaded } from '../session/file-outcome.ts';
import { unverifiedError } from '../session/verify.ts';
import type { UploadFile } from '../sources/upload-file.ts';
import { acknowledged } from '../store/upload-entry.ts';

export type FileTotals = { files: number; bytes: number };

/** What a plan counts: the outcome of a file, or that its content is to be compared first. */
type PlannedKind = Exclude<PlannedOutcome, 'deleted' | 'left_out'> | 'toCompare';

/** Totals of a run before it starts, for files that are already uploaded and files to send. */
export type Plan = {
  totals: Record<PlannedKind, FileTotals>;
  /** True once all files of the run are found and decided. */
  isComplete: boolean;
  /** Number of bytes that the service has of the files to send, from unfinished uploads. */
  acknowledgedBytes: number;
  /** Number of requests to compare files with the assets in their folder. */
  comparisons: number;
  /** Number of requests to send everything, without retries. */
  requests: number;
  largestBytes: number;
  /** Number of files to send that are in a subdirectory of the given directory. */
  nested: number;
  /** Changes of folders that take assets along with their files. */
  folderMoves: Set<FolderMove>;
};

const kindsToSend = ['new', 'changed', 'resumed', 'toCompare'] as const satisfies PlannedKind[];

export const emptyPlan = (): Plan => ({
  totals: Object.fromEntries(
    [...plannedNames, 'toCompare'].map((kind) => [kind, { files: 0, bytes: 0 }]),
  ) as Plan['totals'],
  isComplete: false,
  acknowledgedBytes: 0,
  comparisons: 0,
  requests: 0,
  largestBytes: 0,
  nested: 0,
  folderMoves: new Set(),
});

/** Returns the outcome that a decision leads to; of a file whose content is to be compared, `toCompare`. */
export function plannedKindOf(decision: Decision): PlannedKind {
  switch (decision.action) {
    case 'keep':
      return decision.outcome;
    case 'resume':
      return 'resumed';
    default:
      if (decision.mayBeDuplicate) return 'toCompare';
      return decision.reason === 'changed' ? 'changed' : 'new';
  }
}

export function addToPlan(plan: Plan, decision: Decision, file: UploadFile, chunkBytes: number): void {
  const entry = decision.action === 'resume' ? decision.entry : undefined;
  const knownBytes = file.sizeBytes ?? entry?.file.sizeBytes;
  const sizeBytes = knownBytes ?? 0;
  const total = plan.totals[plannedKindOf(decision)];
  total.files++;
  total.bytes += sizeBytes;
  if (decision.action === 'keep') {
    // A change is read again if it waited for a question or for other files.
    if (decision.change) plan.requests += 2;
    for (const move of decision.folderMoves ?? [])
      plan.requests += plan.folderMoves.has(move) ? 0 : requestsToMoveFolder;
    for (const move of decision.folderMoves ?? []) plan.folderMoves.add(move);
    return;
  }
  const acknowledgedBytes = entry ? acknowledged(entry) : 0;
  plan.acknowledgedBytes += acknowledgedBytes;
  plan.requests += requestsToSend(knownBytes === undefined ? 1 : sizeBytes - acknowledgedBytes, chunkBytes);
  if (file.about?.tags?.length) plan.requests++;
  if (file.relativeDir !== '') plan.nested++;
  plan.largestBytes = Math.max(plan.largestBytes, sizeBytes);
}

/** The change of a folder, and the folders afterwards, which verify it. */
const requestsToMoveFolder = 2;

/** A creation, or the question how far an unfinished upload is, and a request for each chunk: none if it is empty. */
const requestsToSend = (bytes: number, chunkBytes: number) => 1 + Math.ceil(bytes / chunkBytes);

/** Returns the totals of the files to send, with the bytes of unfinished uploads that the service has. */
export const totalToSend = ({ totals }: Plan): FileTotals => sumOf(kindsToSend.map((kind) => totals[kind]));

export const countFiles = ({ totals }: Plan): number => sumOf(Object.values(totals)).files;

const sumOf = (totals: readonly FileTotals[]): FileTotals => ({
  files: totals.reduce((sum, { files }) => sum + files, 0),
  bytes: totals.reduce((sum, { bytes }) => sum + bytes, 0),
});

/** A kept file whose asset, or the folder of that, is to be changed. */
export type FollowedFile = readonly [UploadFile, FollowDecision];

/**
 * Decides all files, and adds them to the plan. Reports those that are already uploaded.
 *
 * @returns the files to attempt, those whose asset is to be changed, and the changes of this machine's records to save
 *   when the run begins
 */
export async function decideFiles(
  candidates: Candidates,
  plan: Plan,
  decider: Decider,
  settings: UploadSettings,
  signal: AbortSignal | undefined,
  onKept: (outcome: FileOutcome, decision: KeepDecision) => void,
): Promise<{ files: Map<UploadFile, Decision>; followed: FollowedFile[]; records: LocalRecord[] }> {
  const files = new Map<UploadFile, Decision>();
  const followed: FollowedFile[] = [];
  const records: LocalRecord[] = [];
  for await (const [file, decision] of decider.decideAll(untilAborted(candidates, signal))) {
    addToPlan(plan, decision, file, settings.chunkBytes);
    if (decision.action !== 'keep') {
      files.set(file, decision);
      continue;
    }
    if (hasChange(decision)) {
      followed.push([file, decision]);
      continue;
    }
    records.push(...decision.records);
    onKept(createOutcome(file, keptResult(decision, settings)), decision);
  }
  plan.comparisons = decider.requests;
  return { files, followed, records: [...decider.takeRecords(), ...records] };
}

/**
 * Returns the result of a file that is not sent, which is an error if its checksum is required but not known, or if its
 * asset does not get the metadata that the user gave.
 */
export function keptResult(
  { outcome, receipt, unwritten = {} }: Pick<KeepDecision, 'outcome' | 'receipt' | 'unwritten'>,
  { requireChecksum }: UploadSettings,
): Pick<FileOutcome, 'uploaded' | 'error'> {
  const { verified, assetUid } = receipt;
  const error = requireChecksum && verified === null ? unverifiedError(assetUid, true) : undefined;
  const missing = unwrittenError(outcome, assetUid, unwritten);
  return { uploaded: toUploaded(receipt, outcome), ...((error ?? missing) && { error: error ?? missing }) };
}

async function* untilAborted(files: Candidates, signal: AbortSignal | undefined): AsyncGenerator<UploadFile> {
  for await (const file of files) {
    signal?.throwIfAborted();
    yield file;
  }
}

/** Returns the id of a run's mark, which is the same each time the same files are uploaded in the same way. */
export const markIdOf = (baseUrl: URL, { workspace, identity }: { workspace: string; identity: readonly string[] }) =>
  createHash('sha256')
    .update(JSON.stringify([baseUrl.origin, workspace, identity]))
    .digest('hex');
