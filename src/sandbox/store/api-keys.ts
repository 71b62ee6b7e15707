import { createHash, randomBytes } from 'node:crypto';
import { type Scope, scopes } from '../../contract/scopes.ts';
import { StoreTable } from './sandbox-store.ts';

export type ApiKey = { hash: string; name: string; scopes: readonly Scope[] };

const hashOf = (key: string) => createHash('sha256').update(key).digest('hex');

/** API keys, stored as SHA-256 hashes. */
export class ApiKeys extends StoreTable {
  /** Maps hashes to temporary keys, which are kept only in memory. */
  readonly #ephemeral = new Map<string, ApiKey>();

  create(name: string, granted: readonly Scope[]): string {
    const key = `sandbox_${randomBytes(24).toString('base64url')}`;
    this.store.insert('api_keys', { hash: hashOf(key), name, scopes: JSON.stringify(granted) });
    return key;
  }

  /** Creates a key with all scopes that is never written to the database. */
  ephemeral(name: string): string {
    const key = randomBytes(32).toString('base64url');
    const hash = hashOf(key);
    this.#ephemeral.set(hash, { hash, name, scopes });
    return key;
  }

  count(): number {
    return this.store.get<{ n: number }>('SELECT count(*) AS n FROM api_keys')?.n ?? 0;
  }

  find(key: string): ApiKey | undefined {
    const hash = hashOf(key);
    const row = this.store.get<ApiKey & { scopes: string }>('SELECT * FROM api_keys WHERE hash = ?', hash);
    return row ? { ...row, scopes: JSON.parse(row.scopes) } : this.#ephemeral.get(hash);
  }
}
