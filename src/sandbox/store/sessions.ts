import { StoreTable } from './sandbox-store.ts';

export type SessionRow = {
  uid: string;
  asset_uid: string;
  total_size: number;
  /** Expiry time, in milliseconds since the Unix epoch. */
  expires_at: number;
  completed_at: string | null;
};

export class UploadSessions extends StoreTable {
  insert(session: Omit<SessionRow, 'completed_at'>): void {
    this.store.insert('upload_sessions', session);
  }

  /** Returns a session; undefined if it does not exist or its asset is in the trash. */
  find(uid: string): SessionRow | undefined {
    return this.store.get(`${selectUntrashed} WHERE upload_sessions.uid = ?`, uid);
  }

  /** Completes a session and queues its asset for processing. */
  complete({ uid, asset_uid }: SessionRow, now: string): void {
    this.store.transaction(() => {
      this.store.update('upload_sessions', uid, { completed_at: now });
      this.store.update('assets', asset_uid, { status: 'queued', failure_reason: null, updated_at: now });
    });
  }

  expire(uid: string, now: number): void {
    this.store.update('upload_sessions', uid, { expires_at: now });
  }

  /** Deletes an expired session. Its asset becomes failed, and no longer counts toward the storage quota. */
  delete({ uid, asset_uid }: SessionRow, now: string): void {
    this.store.transaction(() => {
      this.store.run('DELETE FROM upload_sessions WHERE uid = ?', uid);
      this.store.run(
        `UPDATE assets SET status = 'failed', failure_reason = 'the upload session expired', size = 0,
          updated_at = ? WHERE uid = ? AND status = 'uploading'`,
        now,
        asset_uid,
      );
    });
  }

  /** Returns all incomplete sessions whose asset is not in the trash. */
  findIncomplete(): SessionRow[] {
    return this.store.all(`${selectUntrashed} WHERE completed_at IS NULL`);
  }

  /** Returns all expired incomplete sessions, even if the asset is in the trash. */
  findExpired(now: number): SessionRow[] {
    return this.store.all('SELECT * FROM upload_sessions WHERE completed_at IS NULL AND expires_at <= ?', now);
  }
}

const selectUntrashed = `SELECT upload_sessions.* FROM upload_sessions
  JOIN assets ON assets.uid = asset_uid AND assets.deleted_at IS NULL`;
