import { exitCodes } from '../../error-table.ts';
import { asMediactlError } from '../../errors.ts';
import { isNewAssetSafe, scanForOrphans } from '../session/find-orphans.ts';
import type { UnconfirmedCreation, UploadDeps } from '../session/upload-job.ts';
import type { UploadCandidate } from '../sources/upload-candidate.ts';

/** Maximum rounds of lookups and retries for unconfirmed creations per run. After that, their files fail. */
const maxLookupRounds = 2;

type DeferredFile = { file: UploadCandidate; begunAt: string | undefined };

/** Stops the upload of a file whose unconfirmed creation is looked up at the end of the run. */
class DeferredLookup extends Error {
  readonly creation: UnconfirmedCreation;

  constructor(creation: UnconfirmedCreation) {
    super('to be looked up');
    this.creation = creation;
  }
}

/**
 * Handles the unconfirmed creations of a batch. They are collected and looked up together at the end, when no
 * creation is in flight. If all assets found are empty, new ones are created without asking, since nothing is lost.
 * The empty assets are recorded as orphans for `uploads gc`.
 */
export class UnconfirmedCreations {
  readonly #deps: Pick<UploadDeps, 'api' | 'store' | 'receipts' | 'confirmNewAsset'>;
  #deferred: DeferredFile[] = [];
  #findOrphans: UploadDeps['findOrphans'];
  #rounds = 0;

  constructor(deps: Pick<UploadDeps, 'api' | 'store' | 'receipts' | 'confirmNewAsset'>) {
    this.#deps = deps;
  }

  get tools(): Required<Pick<UploadDeps, 'findOrphans' | 'confirmNewAsset'>> {
    return {
      findOrphans: async (creation) => {
        if (!this.#findOrphans) throw new DeferredLookup(creation);
        return this.#findOrphans(creation);
      },
      confirmNewAsset: async (refusal, assetUids) => {
        if (!isNewAssetSafe(refusal)) await this.#deps.confirmNewAsset(refusal, assetUids);
      },
    };
  }

  get hasDeferred(): boolean {
    return this.#deferred.length > 0;
  }

  takeDeferred(): DeferredFile[] {
    return this.#deferred.splice(0);
  }

  /** Defers a file whose creation is unconfirmed, if another retry is allowed. @returns false for any other error */
  async defer(file: UploadCandidate, id: string | undefined, thrown: unknown): Promise<boolean> {
    const creation = thrown instanceof DeferredLookup ? thrown.creation : await this.#creationToRetry(id, thrown);
    if (creation) this.#deferred.push({ file, begunAt: creation.begunAt });
    return creation !== undefined;
  }

  async #creationToRetry(id: string | undefined, thrown: unknown) {
    const isUnreachable = asMediactlError(thrown).exitCode === exitCodes.unreachable;
    if (!isUnreachable || this.#rounds >= maxLookupRounds || id === undefined) return undefined;
    const entry = await this.#deps.store.read(id);
    return entry && 'state' in entry && entry.state === 'intended' ? entry : undefined;
  }

  /** Looks up the creations of all these files in one scan. Their next attempt uses its result. */
  async lookUp(files: readonly DeferredFile[]): Promise<void> {
    this.#rounds++;
    const api = this.#deps.api.withObserver({ lane: 'bulk' });
    this.#findOrphans = await scanForOrphans({ ...this.#deps, api }, files);
  }
}
