import { asObject } from '../../../contract/json-values.ts';
import { exitCodes } from '../../error-table.ts';
import type { MediactlError } from '../../errors.ts';
import { findOrphans } from '../session/find-orphans.ts';
import { DeferredLookup, type OrphanCandidates, type UnconfirmedCreation } from '../session/unconfirmed-creation.ts';
import type { UploadDeps } from '../session/upload-job.ts';
import type { UploadCandidate } from '../sources/upload-candidate.ts';

/** Maximum rounds of lookups and retries for unconfirmed creations per run. After that, their files fail. */
const maxLookupRounds = 3;

type UnconfirmedCreationDeps = Pick<UploadDeps, 'api' | 'journal' | 'receipts' | 'findOrphans' | 'confirmNewAsset'>;

/**
 * Handles the unconfirmed creations of a run. For a single file, the creation is looked up at once and the user is
 * asked to confirm a new asset. In a batch, the creations are collected and looked up together at the end. If all
 * assets found are empty, new ones are created without asking, since nothing is lost. The empty assets are recorded
 * as orphans for `uploads gc`.
 */
export class UnconfirmedCreations {
  readonly #deps: Pick<UnconfirmedCreationDeps, 'api' | 'journal' | 'receipts' | 'confirmNewAsset'>;
  readonly #found = new Map<string, OrphanCandidates>();
  readonly #deferred: { file: UploadCandidate; lost?: UnconfirmedCreation }[] = [];
  #rounds = 0;
  isBatch = false;

  constructor(deps: Pick<UnconfirmedCreationDeps, 'api' | 'journal' | 'receipts' | 'confirmNewAsset'>) {
    this.#deps = deps;
  }

  /** The dependencies to inject into each upload. */
  get tools(): Pick<UnconfirmedCreationDeps, 'findOrphans' | 'confirmNewAsset'> {
    return {
      findOrphans: (lost) => this.#find(lost),
      confirmNewAsset: async (refusal, assetUids) => {
        if (!this.isBatch || !isNewAssetSafe(refusal)) await this.#deps.confirmNewAsset(refusal, assetUids);
      },
    };
  }

  get deferred(): readonly { file: UploadCandidate }[] {
    return this.#deferred;
  }

  /** Collects the file for a later lookup if its lookup was deferred. @returns false for any other error */
  deferIfUnconfirmed(thrown: unknown, file: UploadCandidate): boolean {
    if (!(thrown instanceof DeferredLookup)) return false;
    this.#deferred.push({ file, lost: thrown.creation });
    return true;
  }

  /** Returns true if an error might come from an unconfirmed creation and another retry is allowed. */
  canRetry({ exitCode }: MediactlError): boolean {
    return exitCode === exitCodes.unreachable && this.#rounds < maxLookupRounds;
  }

  retryLater(file: UploadCandidate): void {
    this.#deferred.push({ file });
  }

  /** Looks up all collected creations in one batch. @returns the files to retry */
  async lookUp(): Promise<UploadCandidate[]> {
    this.#rounds++;
    const waiting = this.#deferred.splice(0);
    const creations = waiting.flatMap(({ lost }) => lost ?? []);
    if (creations.length > 0) {
      const found = await this.#lookUp(creations);
      for (const [lost, assets] of found) this.#found.set(creationKeyOf(lost), assets);
    }
    return waiting.map(({ file }) => file);
  }

  async #find(creation: UnconfirmedCreation): Promise<OrphanCandidates> {
    const found = this.#found.get(creationKeyOf(creation));
    this.#found.delete(creationKeyOf(creation));
    if (found) return found;
    if (this.isBatch) throw new DeferredLookup(creation);
    return (await this.#lookUp([creation])).get(creation) as OrphanCandidates;
  }

  #lookUp(creations: readonly UnconfirmedCreation[]) {
    const { api, journal, receipts } = this.#deps;
    const bulkApi = this.isBatch ? api.withObserver({ lane: 'bulk' }) : api;
    return findOrphans(bulkApi, journal, (uid) => receipts?.hasAsset(uid) ?? false, creations);
  }
}

/** Returns true if the search was complete and found only empty assets, so that creating a new asset is safe. */
export function isNewAssetSafe({ explanation: { code, details } }: MediactlError): boolean {
  const { is_all: isAll, may_be_whole: mayBeWhole } = asObject(details);
  return code === 'creation_unknown' && isAll === true && mayBeWhole === false;
}

/** Returns a key that identifies a creation within a run. */
const creationKeyOf = ({ metadata, begunAt }: UnconfirmedCreation) => JSON.stringify([metadata, begunAt]);
