import { createHash, randomBytes } from 'node:crypto';
import type { Scope } from '../../contract/scopes.ts';
import { StoreTable } from './sandbox-store.ts';

export type ApiKey = { hash: string; name: string; scopes: readonly Scope[] };

const hashOf = (key: string) => createHash('sha256').update(key).digest('hex');

/** API keys, stored as SHA-256 hashes. */
export class ApiKeys extends StoreTable {
  create(name: string, granted: readonly Scope[]): string {
    const key = `sandbox_${randomBytes(24).toString('base64url')}`;
    this.store.insert('api_keys', { hash: hashOf(key), name, scopes: JSON.stringify(granted) });
    return key;
  }

  count(): number {
    return this.store.get<{ n: number }>('SELECT count(*) AS n FROM api_keys')?.n ?? 0;
  }

  find(key: string): ApiKey | undefined {
    const row = this.store.get<ApiKey & { scopes: string }>('SELECT * FROM api_keys WHERE hash = ?', hashOf(key));
    return row && { ...row, scopes: JSON.parse(row.scopes) };
  }
}
