import type { UploadMetadata } from '../../../contract/tus.ts';
import type { Asset } from '../../../contract/types.ts';

/** What is known of a creation whose answer was lost. */
export type LostCreation = {
  metadata: UploadMetadata;
  sizeBytes: number;
  /** ISO 8601: not sent before. */
  begunAt?: string | undefined;
  /** What it made, where a damaged page still tells. */
  assetUid?: string | undefined;
};

/** Assets that a lost creation may have made. `isAll` is false where there were too many to look at. */
export type FoundAssets = { assets: Asset[]; isAll: boolean };

/** What a creation made is to be looked up later, together with others. */
export class Deferred extends Error {
  readonly lost: LostCreation;

  constructor(lost: LostCreation) {
    super('to be looked up');
    this.lost = lost;
  }
}
