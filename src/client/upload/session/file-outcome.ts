import type { MediactlError } from '../../errors.ts';
import type { Spool } from '../sources/spool.ts';
import type { UploadOutcome } from './events.ts';
import type { UploadDeps, Uploaded, UploadJob } from './upload-job.ts';

/** Dependencies of an upload run. */
export type RunDeps = UploadDeps & {
  spool: Spool;
  /** Opens stdin, the source of the path `-`. */
  stdin(): AsyncIterable<Buffer | string>;
  /** Called with the uid of each asset whose upload is complete. */
  onUploaded(assetUid: string): Promise<void>;
};

/** Outcome of one file of a run. */
export type FileOutcome = {
  job: UploadJob;
  /** Id of the journal entry; absent if none was made. */
  id?: string;
  /** Path from which the bytes are read; for stdin, the path of the spool file. */
  path: string;
  uploaded?: Uploaded;
  /** True if this run skips the file because another process is uploading it. */
  isElsewhere?: boolean;
  /** Id of the queue job, if the file was queued. */
  queueId?: string;
  requests: number;
  durationMs: number;
  /** Processing status of the asset, if the run waited for it. */
  status?: string | undefined;
  error?: MediactlError;
};

/** Returns the outcome's name. A complete upload counts as uploaded even if a later step failed. */
export function outcomeOf({ uploaded, isElsewhere, queueId, error }: FileOutcome): UploadOutcome {
  if (isElsewhere) return 'elsewhere';
  if (queueId !== undefined && !uploaded && !error) return 'queued';
  return uploaded?.how ?? (error && isInterruption(error) ? 'left' : 'failed');
}

/** Returns true if the error means that a signal or `--until` stopped the run. */
export const isInterruption = ({ explanation: { code } }: MediactlError) =>
  ['until', 'interrupted', 'terminated'].includes(code);
