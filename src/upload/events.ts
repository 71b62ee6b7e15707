import type { TransportNotice } from '../api/transport.ts';

/** What happens to one file, in order; `--progress json` prints these as they are. */
export type UploadEvent = { path: string } & (
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
);

export type OnUploadEvent = (event: UploadEvent) => void;

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
