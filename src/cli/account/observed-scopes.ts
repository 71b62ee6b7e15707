import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { readTextFileOrEmpty } from '../../client/read-file.ts';
import { writeStateFile } from '../../client/state-files.ts';
import { asObject, parseJsonOrUndefined } from '../../contract/json-values.ts';
import { type Scope, scopes } from '../../contract/scopes.ts';

/** Outcome of a call that needs a scope, and when it was first observed. */
export type ObservedScope = { allowed: boolean; at: string };

/**
 * Scopes of a profile's key as observed from its calls: allowed, or denied with 403. No endpoint returns
 * them. Stored per profile and service.
 */
export class ObservedScopes {
  readonly #path: string;

  constructor(stateDir: string, profile: string, baseUrl: URL) {
    const fileName = encodeURIComponent(`${profile} ${baseUrl.origin}`);
    this.#path = join(stateDir, 'scopes', `${fileName}.json`);
  }

  read(): Partial<Record<Scope, ObservedScope>> {
    const stored = asObject(parseJsonOrUndefined(readTextFileOrEmpty(this.#path)));
    return Object.fromEntries(
      scopes.flatMap((scope) => {
        const { allowed, at } = asObject(stored[scope]);
        return typeof allowed === 'boolean' && typeof at === 'string'
          ? [[scope, { allowed, at }]]
          : [];
      }),
    );
  }

  /** Stores observed scopes if they changed. @param now milliseconds since the epoch */
  async store(observed: ReadonlyMap<Scope, boolean>, now: number): Promise<void> {
    const stored = this.read();
    const changes = [...observed].filter(([scope, allowed]) => stored[scope]?.allowed !== allowed);
    if (changes.length === 0) return;
    const at = new Date(now).toISOString();
    for (const [scope, allowed] of changes) stored[scope] = { allowed, at };
    await writeStateFile(this.#path, JSON.stringify(stored));
  }

  /** Deletes the observations, since the profile has a new key. Errors are ignored: later calls correct the record. */
  async clear(): Promise<void> {
    await rm(this.#path, { force: true }).catch(() => {});
  }
}
