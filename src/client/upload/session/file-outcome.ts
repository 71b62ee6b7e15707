import type { MediactlError } from '../../errors.ts';
import type { Spool } from '../sources/spool.ts';
import type { UploadOutcome } from './events.ts';
import type { UploadDeps, Uploaded, UploadJob } from './upload-job.ts';

/** Dependencies of an upload run. */
export type RunDeps = UploadDeps & {
  spool: Spool;
  /** Opens stdin, the source of the path `-`. */
  stdin(): AsyncIterable<Buffer | string>;
  /** Called with each asset whose upload is complete. */
  onUploaded(assetUid: string): Promise<void>;
};

/** Outcome of one file of a run. */
export type FileOutcome = {
  job: UploadJob;
  /** Id of the journal entry; absent if none was made. */
  id?: string;
  /** Path that the bytes are read from; for stdin, the spool file. */
  path: string;
  uploaded?: Uploaded;
  /** True if another process is uploading the file and this run leaves it alone. */
  isElsewhere?: boolean;
  /** Id of the queue job, if the file was queued. */
  queueId?: string;
  requests: number;
  durationMs: number;
  /** Processing status of the asset, if the run waited for it. */
  status?: string | undefined;
  error?: MediactlError;
};

/** Returns the outcome's name. A file that is complete on the service and failed later counts as uploaded. */
export function outcomeOf({ uploaded, isElsewhere, queueId, error }: FileOutcome): UploadOutcome {
  if (isElsewhere) return 'elsewhere';
  if (queueId !== undefined && !uploaded && !error) return 'queued';
  return uploaded?.how ?? (error && isStop(error) ? 'left' : 'failed');
}

/** Returns true for errors that mean a stop rather than a failure: a signal or `--until`. */
export const isStop = ({ explanation: { code } }: MediactlError) =>
  ['until', 'interrupted', 'terminated'].includes(code);
