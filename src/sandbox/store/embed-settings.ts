import type { SandboxStore } from './sandbox-store.ts';

export type EmbedRestriction = { enabled: boolean; domains: string[] };

/**
 * Embed settings of workspaces: "a domain restriction … enabled or disabled, and an allow-list of domains" (§2).
 */
export class EmbedRestrictions {
  readonly #store: SandboxStore;

  constructor(store: SandboxStore) {
    this.#store = store;
  }

  get(workspace: string): EmbedRestriction {
    const row = this.#store.get<{ embed_restricted: number }>(
      'SELECT embed_restricted FROM workspaces WHERE uid = ?',
      workspace,
    );
    const domains = this.#store
      .all<{ domain: string }>('SELECT domain FROM embed_domains WHERE workspace_uid = ? ORDER BY domain', workspace)
      .map(({ domain }) => domain);
    return { enabled: row?.embed_restricted === 1, domains };
  }

  setEnabled(workspace: string, enabled: boolean): void {
    this.#store.run('UPDATE workspaces SET embed_restricted = ? WHERE uid = ?', enabled ? 1 : 0, workspace);
  }

  /** Adds a domain to the allow-list if it is not on the list yet ("idempotent", §4). */
  addDomain(workspace: string, domain: string): void {
    this.#store.run('INSERT OR IGNORE INTO embed_domains (workspace_uid, domain) VALUES (?, ?)', workspace, domain);
  }

  /** Removes a domain from the allow-list. Returns false if the domain was not on the list. */
  removeDomain(workspace: string, domain: string): boolean {
    const removedRows = this.#store.run(
      'DELETE FROM embed_domains WHERE workspace_uid = ? AND domain = ?',
      workspace,
      domain,
    );
    return removedRows > 0;
  }
}
