import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { readTextFileOrEmpty } from '../../client/read-file.ts';
import { writeStateFile } from '../../client/state-files.ts';
import { asObject, parseJsonOrUndefined } from '../../contract/json-values.ts';
import { type Scope, scopes } from '../../contract/scopes.ts';

/** Result of calls that need a scope, and the ISO 8601 time at which that result was first observed. */
export type ObservedScope = { allowed: boolean; at: string };

/**
 * Stores the scopes that a profile's key has or lacks (403), as observed from its calls, since no endpoint returns
 * them. There is one file per profile and service.
 */
export class ObservedScopes {
  readonly #path: string;

  constructor(stateDir: string, profile: string, baseUrl: URL) {
    this.#path = join(stateDir, 'scopes', `${encodeURIComponent(`${profile} ${baseUrl.origin}`)}.json`);
  }

  read(): Partial<Record<Scope, ObservedScope>> {
    const stored = asObject(parseJsonOrUndefined(readTextFileOrEmpty(this.#path)));
    return Object.fromEntries(
      scopes.flatMap((scope) => {
        const { allowed, at } = asObject(stored[scope]);
        return typeof allowed === 'boolean' && typeof at === 'string' ? [[scope, { allowed, at }]] : [];
      }),
    );
  }

  /** Stores observed scopes if they have changed. @param now milliseconds since the Unix epoch */
  async store(observed: ReadonlyMap<Scope, boolean>, now: number): Promise<void> {
    const stored = this.read();
    const changes = [...observed].filter(([scope, allowed]) => stored[scope]?.allowed !== allowed);
    if (changes.length === 0) return;
    const at = new Date(now).toISOString();
    for (const [scope, allowed] of changes) stored[scope] = { allowed, at };
    await writeStateFile(this.#path, JSON.stringify(stored));
  }

  /** Deletes the observed scopes of the previous key. Ignores errors, since later calls overwrite old results. */
  async clear(): Promise<void> {
    await rm(this.#path, { force: true }).catch(() => {});
  }
}
