import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { keepState } from '../../client/folders.ts';
import { readTextFileIfAny } from '../../client/read-file.ts';
import { fieldsIn, jsonIn } from '../../contract/reading.ts';
import { type Scope, scopes } from '../../contract/scopes.ts';

/** What the service answered where a call needed the scope, and when it did so first. */
export type ScopeSeen = { allowed: boolean; at: string };

/** What is known of the scopes of a profile's key, which no endpoint tells: by what was done with it, and what was answered 403. */
export class ScopesSeen {
  readonly #path: string;

  constructor(stateDir: string, profile: string, baseUrl: URL) {
    const whose = encodeURIComponent(`${profile} ${baseUrl.origin}`);
    this.#path = join(stateDir, 'scopes', `${whose}.json`);
  }

  read(): Partial<Record<Scope, ScopeSeen>> {
    const kept = fieldsIn(jsonIn(readTextFileIfAny(this.#path)));
    return Object.fromEntries(
      scopes.flatMap((scope) => {
        const { allowed, at } = fieldsIn(kept[scope]);
        return typeof allowed === 'boolean' && typeof at === 'string'
          ? [[scope, { allowed, at }]]
          : [];
      }),
    );
  }

  /** Writes where something is new. @param now milliseconds since the epoch */
  async note(answers: ReadonlyMap<Scope, boolean>, now: number): Promise<void> {
    const known = this.read();
    const news = [...answers].filter(([scope, allowed]) => known[scope]?.allowed !== allowed);
    if (news.length === 0) return;
    const at = new Date(now).toISOString();
    for (const [scope, allowed] of news) known[scope] = { allowed, at };
    await keepState(this.#path, JSON.stringify(known));
  }

  /** The profile has another key. What cannot be forgotten is put right by what that key is answered. */
  async forget(): Promise<void> {
    await rm(this.#path, { force: true }).catch(() => {});
  }
}
