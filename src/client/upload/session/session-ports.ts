import type { Api } from '../../api/api.ts';
import type { CodedError } from '../../errors.ts';
import type { Decision } from '../decide/decision.ts';
import type { Subject } from '../decide/matcher.ts';
import type { UploadSource } from '../sources/source.ts';
import type { Spool } from '../sources/spool.ts';
import type { Receipts } from '../store/receipts.ts';
import type { UploadStore } from '../store/upload-store.ts';
import type { OnUploadEvent } from './events.ts';
import type { FirstCreation } from './first-creation.ts';
import type { Throttle } from './throttle.ts';

/** Dependencies for uploading one file, in a run and in a worker. */
export type SessionPorts = {
  api: Api;
  store: UploadStore;
  /** Receipts of earlier uploads; undefined for a queue worker, whose uploads are recorded in the queue. */
  receipts?: Receipts | undefined;
  /** Limits the bytes of several runs together; by default, a run has a limit of its own, as its settings say. */
  throttle?: Throttle | undefined;
  /** Name of the profile, recorded for the user. */
  profile: string;
  signal: AbortSignal;
  onEvent: OnUploadEvent;
  /** Opens a source for reading. @throws CodedError if nothing at that path can be uploaded */
  openSource(path: string, realPath?: string): Promise<UploadSource>;
  /** Opens stdin or another stream, and the folder in which it is spooled. Absent if no stream is uploaded. */
  stdin?: { open(): AsyncIterable<Buffer | string>; spool: Spool } | undefined;
  /** Asks the user to confirm a possible duplicate. @throws CodedError `declined`; `refusal` without a terminal */
  confirmNewAsset(refusal: CodedError, assetUids: readonly string[]): Promise<void>;
};

/** The ports of one file's upload, with what its run or its worker has for it. */
export type FilePorts = SessionPorts & {
  /** Decides what to do with the opened file, which is locked. @param api client that counts its requests */
  decide(subject: Subject, api: Api): Promise<Decision>;
  /** Shared by all uploads of a run. */
  firstCreation: FirstCreation;
  /** Records incomplete assets for `uploads cleanup`; undefined if they cannot be recorded. */
  orphans: { saveOrphan: Receipts['saveOrphan'] } | undefined;
};
