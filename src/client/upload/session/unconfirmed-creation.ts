import type { UploadMetadata } from '../../../contract/tus.ts';
import type { Asset } from '../../../contract/types.ts';

/** A creation request that got no response: the service may have made an asset whose uid is unknown. */
export type UnconfirmedCreation = {
  metadata: UploadMetadata;
  sizeBytes: number;
  /** Time before which the request was not sent, in ISO 8601. */
  begunAt?: string | undefined;
  /** Uid of the created asset, if a damaged journal entry still shows it. */
  assetUid?: string | undefined;
};

/** Assets that an unconfirmed creation may have made. `isComplete` is false if there were too many to scan. */
export type OrphanCandidates = { assets: Asset[]; isComplete: boolean };

/** Signals that an unconfirmed creation will be looked up later, in one batch with others. */
export class DeferredLookup extends Error {
  readonly creation: UnconfirmedCreation;

  constructor(creation: UnconfirmedCreation) {
    super('to be looked up');
    this.creation = creation;
  }
}
