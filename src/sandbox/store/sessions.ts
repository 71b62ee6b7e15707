import type { SandboxStore } from './sandbox-store.ts';

export type SessionRow = {
  uid: string;
  asset_uid: string;
  total_size: number;
  /** Expiry time, in milliseconds since the Unix epoch. */
  expires_at: number;
  completed_at: string | null;
};

export class UploadSessions {
  readonly #store: SandboxStore;

  constructor(store: SandboxStore) {
    this.#store = store;
  }

  insert(session: Omit<SessionRow, 'completed_at'>): void {
    this.#store.run(
      'INSERT INTO upload_sessions (uid, asset_uid, total_size, expires_at) VALUES (?, ?, ?, ?)',
      session.uid,
      session.asset_uid,
      session.total_size,
      session.expires_at,
    );
  }

  /** Returns a session; undefined if it does not exist or its asset is in the trash. */
  find(uid: string): SessionRow | undefined {
    return this.#store.get(`${selectUntrashed} WHERE upload_sessions.uid = ?`, uid);
  }

  complete(uid: string, now: string): void {
    this.#store.run('UPDATE upload_sessions SET completed_at = ? WHERE uid = ?', now, uid);
  }

  /** Expires a session early, at `now` in milliseconds since the Unix epoch. */
  expire(uid: string, now: number): void {
    this.#store.run('UPDATE upload_sessions SET expires_at = ? WHERE uid = ?', now, uid);
  }

  delete(uid: string): void {
    this.#store.run('DELETE FROM upload_sessions WHERE uid = ?', uid);
  }

  /** Returns all incomplete sessions whose asset is not in the trash. */
  findIncomplete(): SessionRow[] {
    return this.#store.all(`${selectUntrashed} WHERE completed_at IS NULL`);
  }

  /** Returns all expired incomplete sessions, even if the asset is in the trash. */
  findExpired(now: number): SessionRow[] {
    return this.#store.all('SELECT * FROM upload_sessions WHERE completed_at IS NULL AND expires_at <= ?', now);
  }

  /**
   * Returns the earliest expiry time of incomplete sessions, in milliseconds since the Unix epoch; undefined if
   * there are none.
   */
  nextExpiry(): number | undefined {
    const next = this.#store.get<{ at: number | null }>(
      'SELECT min(expires_at) AS at FROM upload_sessions WHERE completed_at IS NULL',
    );
    return next?.at ?? undefined;
  }
}

const selectUntrashed = `SELECT upload_sessions.* FROM upload_sessions
  JOIN assets ON assets.uid = asset_uid AND assets.deleted_at IS NULL`;
