import { asObject } from '../../../contract/json-values.ts';
import { exitCodes, type MediactlError } from '../../errors.ts';
import type { UploadTools } from '../session/job.ts';
import { Deferred, type FoundAssets, type LostCreation } from '../session/lost.ts';
import { findLost } from '../session/lost-creation.ts';
import type { Wanted } from '../sources/wanted.ts';

/** Maximum lookups and retries of unconfirmed creations per run; after that their files fail. */
const mostRounds = 3;

type LostTools = Pick<UploadTools, 'api' | 'journal' | 'receipts' | 'findLost' | 'confirmNewAsset'>;

/**
 * Handles the unconfirmed creations of a run. A single file is looked up at once and the user asked to confirm
 * a new asset. In a batch they are collected and looked up together at the end, without asking: the assets
 * found are empty, so a new one loses nothing, and they are recorded as orphans for `uploads gc`.
 */
export class LostCreations {
  readonly #tools: Pick<LostTools, 'api' | 'journal' | 'receipts' | 'confirmNewAsset'>;
  readonly #found = new Map<string, FoundAssets>();
  readonly #waiting: { file: Wanted; lost?: LostCreation }[] = [];
  #rounds = 0;
  areMany = false;

  constructor(tools: Pick<LostTools, 'api' | 'journal' | 'receipts' | 'confirmNewAsset'>) {
    this.#tools = tools;
  }

  /** The dependencies to inject into each upload. */
  get tools(): Pick<LostTools, 'findLost' | 'confirmNewAsset'> {
    return {
      findLost: (lost) => this.#find(lost),
      confirmNewAsset: async (refusal, assetUids) => {
        if (!this.areMany || !allowsNewAsset(refusal))
          await this.#tools.confirmNewAsset(refusal, assetUids);
      },
    };
  }

  get waiting(): readonly { file: Wanted }[] {
    return this.#waiting;
  }

  /** Collects the file if its lookup was deferred. @returns false for any other error */
  takes(thrown: unknown, file: Wanted): boolean {
    if (!(thrown instanceof Deferred)) return false;
    this.#waiting.push({ file, lost: thrown.lost });
    return true;
  }

  /** Returns true if an error may come from an unconfirmed creation and another retry is allowed. */
  isLost({ exitCode }: MediactlError): boolean {
    return exitCode === exitCodes.unreachable && this.#rounds < mostRounds;
  }

  keep(file: Wanted): void {
    this.#waiting.push({ file });
  }

  /** Looks up all collected creations in one batch. @returns the files to upload */
  async lookUp(): Promise<Wanted[]> {
    this.#rounds++;
    const waiting = this.#waiting.splice(0);
    const losts = waiting.flatMap(({ lost }) => lost ?? []);
    if (losts.length > 0) {
      const found = await this.#lookedUp(losts);
      for (const [lost, assets] of found) this.#found.set(nameOf(lost), assets);
    }
    return waiting.map(({ file }) => file);
  }

  async #find(lost: LostCreation): Promise<FoundAssets> {
    const found = this.#found.get(nameOf(lost));
    this.#found.delete(nameOf(lost));
    if (found) return found;
    if (this.areMany) throw new Deferred(lost);
    return (await this.#lookedUp([lost])).get(lost) as FoundAssets;
  }

  #lookedUp(losts: readonly LostCreation[]) {
    const { api, journal, receipts } = this.#tools;
    const patient = this.areMany ? api.withObserver({ lane: 'bulk' }) : api;
    return findLost(patient, journal, (uid) => receipts?.hasAsset(uid) ?? false, losts);
  }
}

/** Returns true if the search was complete and found only empty assets, so that a new asset is safe. */
export function allowsNewAsset({ explanation: { code, details } }: MediactlError): boolean {
  const { is_all: isAll, may_be_whole: mayBeWhole } = asObject(details);
  return code === 'creation_unknown' && isAll === true && mayBeWhole === false;
}

/** Returns a key that identifies a creation within a run. */
const nameOf = ({ metadata, begunAt }: LostCreation) => JSON.stringify([metadata, begunAt]);
