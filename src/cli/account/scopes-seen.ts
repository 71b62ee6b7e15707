import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { readTextFileOrEmpty } from '../../client/read-file.ts';
import { writeStateFile } from '../../client/state-files.ts';
import { asObject, parseJsonOrUndefined } from '../../contract/json-values.ts';
import { type Scope, scopes } from '../../contract/scopes.ts';

/** Outcome of a call that needs a scope, and when it was first observed. */
export type ScopeSeen = { allowed: boolean; at: string };

/**
 * Scopes of a profile's key as observed from its calls: allowed, or denied with 403. No endpoint returns
 * them. Stored per profile and service.
 */
export class ScopesSeen {
  readonly #path: string;

  constructor(stateDir: string, profile: string, baseUrl: URL) {
    const whose = encodeURIComponent(`${profile} ${baseUrl.origin}`);
    this.#path = join(stateDir, 'scopes', `${whose}.json`);
  }

  read(): Partial<Record<Scope, ScopeSeen>> {
    const kept = asObject(parseJsonOrUndefined(readTextFileOrEmpty(this.#path)));
    return Object.fromEntries(
      scopes.flatMap((scope) => {
        const { allowed, at } = asObject(kept[scope]);
        return typeof allowed === 'boolean' && typeof at === 'string'
          ? [[scope, { allowed, at }]]
          : [];
      }),
    );
  }

  /** Stores observed scopes if they changed. @param now milliseconds since the epoch */
  async note(answers: ReadonlyMap<Scope, boolean>, now: number): Promise<void> {
    const known = this.read();
    const news = [...answers].filter(([scope, allowed]) => known[scope]?.allowed !== allowed);
    if (news.length === 0) return;
    const at = new Date(now).toISOString();
    for (const [scope, allowed] of news) known[scope] = { allowed, at };
    await writeStateFile(this.#path, JSON.stringify(known));
  }

  /** Deletes the observations, since the profile has a new key. Errors are ignored: later calls correct the record. */
  async forget(): Promise<void> {
    await rm(this.#path, { force: true }).catch(() => {});
  }
}
