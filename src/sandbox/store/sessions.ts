import type { Store } from './database.ts';

export type SessionRow = {
  uid: string;
  asset_uid: string;
  total_size: number;
  /** Milliseconds since the epoch. */
  expires_at: number;
  completed_at: string | null;
};

export class Sessions {
  readonly #store: Store;

  constructor(store: Store) {
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

  /** Undefined also where its asset is in the trash: nothing is uploaded to that. */
  find(uid: string): SessionRow | undefined {
    return this.#store.get(`${unlessTrashed} WHERE upload_sessions.uid = ?`, uid);
  }

  complete(uid: string, now: string): void {
    this.#store.run('UPDATE upload_sessions SET completed_at = ? WHERE uid = ?', now, uid);
  }

  /** Before its time: from `now`, in milliseconds, it is gone. */
  expire(uid: string, now: number): void {
    this.#store.run('UPDATE upload_sessions SET expires_at = ? WHERE uid = ?', now, uid);
  }

  delete(uid: string): void {
    this.#store.run('DELETE FROM upload_sessions WHERE uid = ?', uid);
  }

  /** Sessions that may hold bytes of an unfinished upload. */
  open(): SessionRow[] {
    return this.#store.all(`${unlessTrashed} WHERE completed_at IS NULL`);
  }

  /** Unfinished ones whose time is over, also where the asset is in the trash. */
  expired(now: number): SessionRow[] {
    return this.#store.all(
      'SELECT * FROM upload_sessions WHERE completed_at IS NULL AND expires_at <= ?',
      now,
    );
  }

  /** When the first of the unfinished ones expires, in milliseconds since the epoch. */
  nextExpiry(): number | undefined {
    const next = this.#store.get<{ at: number | null }>(
      'SELECT min(expires_at) AS at FROM upload_sessions WHERE completed_at IS NULL',
    );
    return next?.at ?? undefined;
  }
}

const unlessTrashed = `SELECT upload_sessions.* FROM upload_sessions
  JOIN assets ON assets.uid = asset_uid AND assets.deleted_at IS NULL`;
