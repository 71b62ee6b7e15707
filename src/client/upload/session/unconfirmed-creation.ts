import type { UploadMetadata } from '../../../contract/tus.ts';
import type { Asset } from '../../../contract/types.ts';

/** Creation request without a response. The service might have made an asset, whose uid is then unknown. */
export type UnconfirmedCreation = {
  metadata: UploadMetadata;
  sizeBytes: number;
  /** Time before which the request was certainly not sent, in ISO 8601; undefined if unknown. */
  begunAt?: string | undefined;
  /** Uid of the created asset, if a damaged journal entry still shows it. */
  assetUid?: string | undefined;
};

/** Assets that an unconfirmed creation might have made. `isComplete` is false if not all new assets were scanned. */
export type OrphanCandidates = { assets: Asset[]; isComplete: boolean };

/** Signals that an unconfirmed creation will be looked up later, in a batch with other creations. */
export class DeferredLookup extends Error {
  readonly creation: UnconfirmedCreation;

  constructor(creation: UnconfirmedCreation) {
    super('to be looked up');
    this.creation = creation;
  }
}
