import type { TransportNotice } from '../../http/transport.ts';

/** What happens to a run of many files; `--progress json` prints these as they are. */
export type RunEvent =
  /** Before the first byte: what there is to send, and how many files are there already. */
  | { event: 'planned'; files: number; bytes: number; there: number }
  /** Every second or so. */
  | {
      event: 'overall';
      files_done: number;
      files: number;
      files_failed: number;
      bytes_done: number;
      bytes: number;
      bytes_per_second: number | null;
      seconds_left: number | null;
      /** Left of the window, and when it renews; null where the service does not tell. */
      requests_left: number | null;
      renews_at: string | null;
    };

/** What happens to one file, in order. */
export type FileEvent = { path: string } & (
  | { event: 'started'; size_bytes: number }
  /** The prefix that the service already holds is read again from disk, to know it is unchanged. */
  | { event: 'rehashing'; offset_bytes: number }
  | { event: 'resumed'; asset_uid: string; session_uid: string; offset_bytes: number }
  | { event: 'created'; asset_uid: string; session_uid: string }
  | { event: 'progress'; acknowledged_bytes: number; sent_bytes: number; size_bytes: number }
  | { event: 'waiting'; why: 'rate-limited' | 'retrying'; until: string; reason: string }
  | { event: 'going_on' }
  | { event: 'notice'; message: string }
  | { event: 'uploaded'; asset_uid: string; blake3: string; verified: boolean | null }
  | { event: 'status'; asset_uid: string; status: string }
  /** Of many: it needs no more of this run, but to be waited for. Downloads tell of theirs too. */
  | { event: 'finished'; outcome: Outcome | 'downloaded'; asset_uid: string | null }
);

/**
 * Sent by this run; there before it, by its path or by its content; in another run's hands; in a queue,
 * for workers; stopped by somebody, or by the time.
 */
export type Outcome = 'uploaded' | 'there' | 'same' | 'elsewhere' | 'queued' | 'left' | 'failed';

export type UploadEvent = RunEvent | FileEvent;

/** What is left of the requests of a window, and when it renews (milliseconds since the epoch). */
export type Budget = { limit: number; left: number; resetAt: number };

export type OnUploadEvent = (event: FileEvent) => void;

/** What hears of a transport's waits is told of them as events of a file. */
export const waitingEvent = (notice: TransportNotice) =>
  notice.kind === 'resumed'
    ? ({ event: 'going_on' } as const)
    : ({
        event: 'waiting',
        why: notice.kind,
        until: new Date(notice.untilMs).toISOString(),
        reason: notice.kind === 'retrying' ? notice.reason : 'rate limit',
      } as const);
