import type { Api } from '../../api/api.ts';
import type { CodedError } from '../../errors.ts';
import type { Decision } from '../decide/decision.ts';
import type { DecidePolicy, Subject } from '../decide/matcher.ts';
import type { UploadSource } from '../sources/source.ts';
import type { Spool } from '../sources/spool.ts';
import type { Receipts } from '../store/receipts.ts';
import type { ListableUploadStore, UploadStore } from '../store/upload-store.ts';
import type { OnUploadEvent } from './events.ts';
import type { FirstCreation } from './first-creation.ts';
import type { Throttle } from './throttle.ts';

export type SessionSettings = Pick<DecidePolicy, 'replacesChanged'> & {
  chunkBytes: number;
  idleTimeoutMs: number;
  requireChecksum: boolean;
};

export type UploadSettings = SessionSettings & DecidePolicy;

export type UploadDeps = {
  api: Api;
  store: UploadStore;
  /** Receipts of earlier uploads; undefined for a queue worker, whose uploads are recorded in the queue. */
  receipts?: Receipts | undefined;
  /** Decides what to do with the opened file, which is locked. @param api client that counts its requests */
  decide(subject: Subject, api: Api): Promise<Decision>;
  throttle?: Throttle | undefined;
  /** Name of the profile, recorded for the user. */
  profile: string;
  signal?: AbortSignal | undefined;
  onEvent: OnUploadEvent;
  /** Opens a source for reading. @throws CodedError if nothing at that path can be uploaded */
  openSource(path: string, realPath?: string): Promise<UploadSource>;
  /** Asks the user to confirm a possible duplicate. @throws CodedError `declined`; `refusal` without a terminal */
  confirmNewAsset(refusal: CodedError, assetUids: readonly string[]): Promise<void>;
  /** Shared by all uploads of a run. */
  firstCreation: FirstCreation;
  /** Records incomplete assets for `uploads cleanup`; undefined if they cannot be recorded. */
  orphans: Pick<Receipts, 'saveOrphan'> | undefined;
};

export type RunDeps = Omit<UploadDeps, 'orphans' | 'decide' | 'firstCreation'> & {
  store: ListableUploadStore;
  /** Highest receipt id that counts for dedupe by content, so that receipts of this run are excluded. */
  mark: number;
  /** Opens stdin or another stream, and the folder in which it is spooled. Absent if no stream is uploaded. */
  stdin?: { open(): AsyncIterable<Buffer | string>; spool: Spool } | undefined;
  /** Called with the uid of each asset whose upload is complete. */
  onUploaded?(assetUid: string): Promise<void>;
};
