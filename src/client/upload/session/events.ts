import { describeRateLimit } from '../../../shared/figures.ts';
import type { UploadOutcome } from '../../../shared/upload-outcomes.ts';
import type { Remedy } from '../../errors.ts';
import type { TransportNotice } from '../../http/rate-limiter.ts';

/**
 * Event about a run of several files, emitted before the first byte is sent: the totals to upload, and the number of files
 * that are already uploaded. `files_settling` is the number of files that a watch has found but that still change.
 * `--progress json` prints it unchanged.
 */
export type RunEvent = {
  event: 'planned';
  files_total: number;
  bytes_total: number;
  files_skipped: number;
  files_settling?: number;
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
        reason: notice.kind === 'retrying' ? notice.reason : describeRateLimit(notice.kept),
      } as const);
