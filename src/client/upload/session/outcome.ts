import type { MediactlError } from '../../errors.ts';
import type { Spool } from '../sources/spool.ts';
import type { Outcome } from './events.ts';
import type { Uploaded, UploadJob, UploadTools } from './job.ts';

export type RunTools = UploadTools & {
  spool: Spool;
  /** What `-` stands for. */
  stdin(): AsyncIterable<Buffer | string>;
  /** Told of each asset that is whole. */
  onUploaded(assetUid: string): Promise<void>;
};

/** What became of one file. */
export type FileOutcome = {
  job: UploadJob;
  /** Of its page in the journal; absent where it never got one. */
  id?: string;
  /** Where its bytes are; for stdin, the spool. */
  path: string;
  uploaded?: Uploaded;
  /** Another run has it in hand, and it is left to that one. */
  isElsewhere?: boolean;
  /** Of a queue that it is in, or came through. */
  queueId?: string;
  requests: number;
  /** Milliseconds. */
  durationMs: number;
  /** Where it was waited for. */
  status?: string | undefined;
  error?: MediactlError;
};

/** In a word. A file that is whole and failed afterwards was uploaded. */
export function outcomeOf({ uploaded, isElsewhere, queueId, error }: FileOutcome): Outcome {
  if (isElsewhere) return 'elsewhere';
  if (queueId !== undefined && !uploaded && !error) return 'queued';
  return uploaded?.how ?? (error && isStop(error) ? 'left' : 'failed');
}

/** Nothing failed: somebody stopped it, or the time was up. */
export const isStop = ({ explanation: { code } }: MediactlError) =>
  ['until', 'interrupted', 'terminated'].includes(code);
