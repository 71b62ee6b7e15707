import {
  type KeptOutcome,
  type SuccessOutcome,
  type UploadOutcome,
  uploadOutcomes,
} from '../../../shared/upload-outcomes.ts';
import { CodedError } from '../../errors.ts';
import { type LeftOut, leftOutPath } from '../sources/file-chooser.ts';
import { fileAt, type UploadFile } from '../sources/upload-file.ts';
import type { Receipt } from '../store/receipt-row.ts';

/** A file that is complete on the service. */
export type Uploaded = Pick<
  Receipt,
  'state' | 'assetUid' | 'sessionUid' | 'name' | 'sizeBytes' | 'blake3' | 'verified'
> & {
  how: SuccessOutcome;
  /** Uid of the folder that a duplicate is in; empty for the top level. */
  folder?: string;
  bytesSent: number;
  /** Offset from which this run resumed; null if it created the session. */
  resumedFrom: number | null;
};

/** Returns the upload that a receipt describes, as the outcome of a run that has not sent it. */
export function toUploaded(receipt: Receipt, how: KeptOutcome): Uploaded {
  const { state, assetUid, sessionUid, name, sizeBytes, blake3, verified, folder } = receipt;
  const asset = { state, assetUid, sessionUid, name, sizeBytes, blake3, verified };
  return { how, ...asset, bytesSent: 0, resumedFrom: null, ...(how === 'duplicate' && { folder }) };
}

export type FileOutcome = {
  file: UploadFile;
  /** Id of the upload; absent if it was not started. */
  id?: string;
  uploaded?: Uploaded;
  /** Uid of the asset that this run created or resumed, also if the upload failed. */
  assetUid?: string | undefined;
  /** True if this run skips the file because another process is uploading it. */
  isBusy?: boolean;
  /** Program that left the file, or the directory, so that it is no part of the run. */
  leftBy?: string;
  jobId?: string;
  requests: number;
  /** Bytes that this process has sent of the file, also if it was not completed. */
  bytesSent?: number;
  durationMs: number;
  /** Path to which the file was moved after its upload. */
  movedTo?: string | undefined;
  /** Processing status of the asset, if the run waited for it. */
  status?: string | undefined;
  error?: CodedError;
};

/** Creates the outcome of a file, to be completed later unless `result` has everything. */
export const createOutcome = (file: UploadFile, result: Partial<FileOutcome> = {}): FileOutcome => ({
  file,
  requests: 0,
  durationMs: 0,
  ...result,
});

/** Returns the outcome of a file or a directory that is no part of a run. */
export const leftOutOutcome = (left: LeftOut): FileOutcome =>
  createOutcome(fileAt(leftOutPath(left)), { leftBy: left.by });

/** Returns the outcome's name. A complete upload counts as uploaded even if a later step failed. */
export function outcomeOf({ uploaded, isBusy, leftBy, jobId, error }: FileOutcome): UploadOutcome {
  if (isBusy) return 'busy';
  if (leftBy !== undefined) return 'left_out';
  if (jobId !== undefined && !uploaded && !error) return 'queued';
  return uploaded?.how ?? (error && isInterruption(error) ? 'interrupted' : 'failed');
}

/** Returns true for a file that was uploaded before, and whose processing failed. */
export const isFailedBefore = ({ uploaded, error }: FileOutcome) =>
  uploaded !== undefined && !uploadOutcomes[uploaded.how].isSent && error?.explanation.code === 'processing_failed';

/** Returns true if the error means that a signal or a planned stop ended the run. */
export const isInterruption = ({ explanation: { code } }: CodedError) => isInterruptionCode(code);

export const isInterruptionCode = (code: string) => ['interrupted', 'terminated'].includes(code);

/** Creates the abort reason of a run that ends at a time that its user has chosen, which is no failure. */
export const plannedStop = (problem: string) => new CodedError(problem, { subcode: 'planned_stop' });

export const isPlannedStop = (error: CodedError | undefined) => error?.explanation.subcode === 'planned_stop';
