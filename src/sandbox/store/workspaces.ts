import { randomUUID } from 'node:crypto';
import { StoreTable } from './sandbox-store.ts';

export type WorkspaceRow = {
  uid: string;
  name: string;
  is_primary: number;
  embed_restricted: number;
  created_at: string;
};

export type EmbedRestriction = { enabled: boolean; domains: string[] };

export class Workspaces extends StoreTable {
  /** Creates two workspaces in a new sandbox, so that users can try out selecting a workspace. */
  seed(now: string): void {
    if (this.count() > 0) return;
    this.store.insert('workspaces', { uid: randomUUID(), name: 'Main', is_primary: 1, created_at: now });
    this.store.insert('workspaces', { uid: randomUUID(), name: 'Archive', is_primary: 0, created_at: now });
  }

  count(): number {
    return this.store.get<{ n: number }>('SELECT count(*) AS n FROM workspaces')?.n ?? 0;
  }

  page(limit: number, offset: number): WorkspaceRow[] {
    return this.store.all('SELECT * FROM workspaces ORDER BY is_primary DESC, name LIMIT ? OFFSET ?', limit, offset);
  }

  find(uid: string): WorkspaceRow | undefined {
    return this.store.get('SELECT * FROM workspaces WHERE uid = ?', uid);
  }

  primary(): WorkspaceRow {
    return this.page(1, 0)[0] as WorkspaceRow;
  }

  /** Returns "a domain restriction … enabled or disabled, and an allow-list of domains" (§2). */
  embedRestriction(uid: string): EmbedRestriction {
    const domains = this.store.all<{ domain: string }>(
      'SELECT domain FROM embed_domains WHERE workspace_uid = ? ORDER BY domain',
      uid,
    );
    return { enabled: this.find(uid)?.embed_restricted === 1, domains: domains.map(({ domain }) => domain) };
  }

  restrictEmbedding(uid: string, enabled: boolean): void {
    this.store.update('workspaces', uid, { embed_restricted: enabled ? 1 : 0 });
  }

  /** Adds a domain to the allow-list if it is not an embed domain yet ("idempotent", §4). */
  addEmbedDomain(uid: string, domain: string): void {
    this.store.run('INSERT OR IGNORE INTO embed_domains (workspace_uid, domain) VALUES (?, ?)', uid, domain);
  }

  /** Returns false if the domain was not on the list. */
  removeEmbedDomain(uid: string, domain: string): boolean {
    return this.store.run('DELETE FROM embed_domains WHERE workspace_uid = ? AND domain = ?', uid, domain) > 0;
  }
}
