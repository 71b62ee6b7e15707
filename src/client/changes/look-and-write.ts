import { normalizeUid } from '../../contract/uid.ts';
import type { Api } from '../api/api.ts';
import { LastLook, OutdatedLook } from '../http/last-look.ts';
import type { Library, TurnRequest } from '../library/library.ts';

/** Number of locks that the edits of all assets share, so that there is no file for each asset. */
const stripeCount = 32;

/** Number of looks after which a write is sent though it has waited, so that a limit of one request ends no loop. */
const maxLooks = 20;

/** Returns the lock for edits of an asset or folder. */
export const editLock = (uid: string): TurnRequest => {
  let hash = 0;
  for (const character of normalizeUid(uid)) hash = (hash * 31 + character.charCodeAt(0)) % 0x7fffffff;
  return { name: `edits/${hash % stripeCount}`, subject: normalizeUid(uid), waitMs: 10_000, isRequired: false };
};

/** The lock for new folders, since the service allows duplicate names. */
export const creationLock: TurnRequest = { name: 'folders', waitMs: 60_000, isRequired: true };

/**
 * Runs `work`, which reads what its write depends on, and then writes, with nothing in between: no wait, and no other
 * `work` of this machine with the same lock. If the write has to wait, for the rate limit for example, it is not sent. The
 * lock is released during the wait, and `work` runs again.
 *
 * @param work sends its requests with the given API; `mustLook` is true if what was read earlier may be outdated
 * @throws CodedError `locked` (exit 6) if another process holds the lock
 */
export async function lookAndWrite<T>(
  library: Library,
  lock: TurnRequest,
  work: (api: Api, mustLook: boolean) => Promise<T>,
): Promise<T> {
  const refused = new Set<string>();
  for (let looks = 1; ; looks++) {
    const turn = await library.takeTurn(lock);
    const look = new LastLook(turn.release, refused);
    try {
      const api = library.api.withObserver({ look: looks < maxLooks ? look : undefined });
      return await work(api, looks > 1 || turn.hasWaited);
    } catch (thrown) {
      if (!(thrown instanceof OutdatedLook)) throw thrown;
    } finally {
      turn.release();
    }
  }
}
