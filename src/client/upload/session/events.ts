import type { UploadOutcome } from '../../../contract/upload-outcomes.ts';
import type { Remedy } from '../../errors.ts';
import type { TransportNotice } from '../../http/rate-limiter.ts';

/** Event about a run of several files. `--progress json` prints it unchanged. */
export type RunEvent =
  /** Emitted before the first byte is sent: the totals to upload, and the number of files that are already uploaded. */
  | { event: 'planned'; files_total: number; bytes_total: number; files_skipped: number }
  /** Emitted about once a second. */
  | {
      event: 'totals';
      files_done: number;
      files_total: number;
      files_failed: number;
      bytes_done: number;
      bytes_total: number;
      bytes_per_second: number | null;
      eta_seconds: number | null;
      /** Requests left in the rate-limit window, and its reset time; null if the service reports no limit. */
      requests_remaining: number | null;
      resets_at: string | null;
    };

/** Event about one file. The variants are in the order in which they occur. */
export type FileEvent = { path: string } & (
  | { event: 'started'; size_bytes: number }
  /** Emitted when the part that the service already has is hashed again, to check that it is unchanged. */
  | { event: 'verifying'; offset_bytes: number }
  | { event: 'resumed'; asset_uid: string; session_uid: string; offset_bytes: number }
  | { event: 'created'; asset_uid: string; session_uid: string }
  | { event: 'progress'; offset_bytes: number; bytes_sent: number; size_bytes: number }
  | { event: 'waiting'; kind: 'rate_limited' | 'retrying'; until: string; reason: string }
  | { event: 'requests_resumed' }
  /** `remedy` is the next step, which the interface words and adds to the message. */
  | { event: 'warning'; message: string; remedy?: Remedy | undefined }
  | { event: 'uploaded'; asset_uid: string; blake3: string; verified: boolean | null }
  | { event: 'status'; asset_uid: string; status: string }
  /** Emitted when a file in a run of several files is done, except for processing. Downloads emit it too. */
  | { event: 'finished'; outcome: UploadOutcome | 'downloaded'; asset_uid: string | null }
);

export type UploadEvent = RunEvent | FileEvent;

export type OnUploadEvent = (event: FileEvent) => void;

export const toWaitingEvent = (notice: TransportNotice) =>
  notice.kind === 'resumed'
    ? ({ event: 'requests_resumed' } as const)
    : ({
        event: 'waiting',
        kind: notice.kind === 'retrying' ? notice.kind : 'rate_limited',
        until: new Date(notice.untilMs).toISOString(),
        reason: notice.kind === 'retrying' ? notice.reason : 'rate limit',
      } as const);
