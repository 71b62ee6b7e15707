import { randomUUID } from 'node:crypto';
import type { SandboxStore } from './sandbox-store.ts';

export type WorkspaceRow = {
  uid: string;
  name: string;
  is_primary: number;
  embed_restricted: number;
  created_at: string;
};

export class Workspaces {
  readonly #store: SandboxStore;

  constructor(store: SandboxStore) {
    this.#store = store;
  }

  /** Creates two workspaces in a new sandbox, so that users can try out selecting a workspace. */
  seed(now: string): void {
    if (this.count() > 0) return;
    for (const [name, primary] of [
      ['Main', 1],
      ['Archive', 0],
    ] as const)
      this.#store.run(
        'INSERT INTO workspaces (uid, name, is_primary, created_at) VALUES (?, ?, ?, ?)',
        randomUUID(),
        name,
        primary,
        now,
      );
  }

  count(): number {
    return this.#store.get<{ n: number }>('SELECT count(*) AS n FROM workspaces')?.n ?? 0;
  }

  page(limit: number, offset: number): WorkspaceRow[] {
    return this.#store.all('SELECT * FROM workspaces ORDER BY is_primary DESC, name LIMIT ? OFFSET ?', limit, offset);
  }

  find(uid: string): WorkspaceRow | undefined {
    return this.#store.get('SELECT * FROM workspaces WHERE uid = ?', uid);
  }

  primary(): WorkspaceRow {
    return this.page(1, 0)[0] as WorkspaceRow;
  }
}
