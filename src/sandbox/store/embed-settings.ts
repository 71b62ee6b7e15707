import type { Store } from './database.ts';

export type EmbedSettings = { enabled: boolean; domains: string[] };

/**
 * Embed settings of workspaces (§2): "a domain restriction … enabled or disabled, and an allow-list
 * of domains".
 */
export class Embeds {
  readonly #store: Store;

  constructor(store: Store) {
    this.#store = store;
  }

  of(workspace: string): EmbedSettings {
    const row = this.#store.get<{ embed_restricted: number }>(
      'SELECT embed_restricted FROM workspaces WHERE uid = ?',
      workspace,
    );
    const domains = this.#store
      .all<{ domain: string }>(
        'SELECT domain FROM embed_domains WHERE workspace_uid = ? ORDER BY domain',
        workspace,
      )
      .map(({ domain }) => domain);
    return { enabled: row?.embed_restricted === 1, domains };
  }

  restrict(workspace: string, enabled: boolean): void {
    this.#store.run(
      'UPDATE workspaces SET embed_restricted = ? WHERE uid = ?',
      enabled ? 1 : 0,
      workspace,
    );
  }

  /** Adds a domain to the allow-list; "idempotent" (§4). */
  allow(workspace: string, domain: string): void {
    this.#store.run(
      'INSERT OR IGNORE INTO embed_domains (workspace_uid, domain) VALUES (?, ?)',
      workspace,
      domain,
    );
  }

  /** Removes a domain from the allow-list; returns false if it was not on it. */
  remove(workspace: string, domain: string): boolean {
    const gone = this.#store.run(
      'DELETE FROM embed_domains WHERE workspace_uid = ? AND domain = ?',
      workspace,
      domain,
    );
    return gone > 0;
  }
}
