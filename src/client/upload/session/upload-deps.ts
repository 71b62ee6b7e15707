import type { Api } from '../../api/api.ts';
import type { CodedError, Remedy } from '../../errors.ts';
import type { UploadSource } from '../sources/source.ts';
import type { Spool } from '../sources/spool.ts';
import type { Receipts } from '../store/receipts.ts';
import type { OpenEntry, PlannedEntry } from '../store/upload-entry.ts';
import type { ListableUploadStore, UploadStore } from '../store/upload-store.ts';
import type { OnUploadEvent } from './events.ts';
import type { Throttle } from './throttle.ts';

export type UploadSettings = {
  chunkBytes: number;
  idleTimeoutMs: number;
  /** True to ignore receipts and unfinished uploads and create a new asset (`--force`). */
  force: boolean;
  /** Dedupe of content uploaded from another path: within the same folder, in the whole library, or not at all. */
  duplicates: 'skip' | 'skip-anywhere' | 'upload';
  requireChecksum: boolean;
  /** True to hash each file that has a receipt, instead of comparing size and times. Default: false. */
  checksum?: boolean | undefined;
};

export type UploadDeps = {
  api: Api;
  store: UploadStore;
  /** Receipts of earlier uploads; undefined for a queue worker, whose uploads are recorded in the queue. */
  receipts?: Receipts | undefined;
  /** Highest receipt id that counts for dedupe by content, so that receipts of this run are excluded. */
  mark: number;
  throttle?: Throttle | undefined;
  /** Name of the profile, recorded for the user. */
  profile: string;
  signal?: AbortSignal | undefined;
  onEvent: OnUploadEvent;
  /** Opens a source for reading. @throws CodedError if nothing at that path can be uploaded */
  openSource(path: string, realPath?: string): Promise<UploadSource>;
  /** Asks the user to confirm a possible duplicate. @throws CodedError `declined`; `refusal` without a terminal */
  confirmNewAsset(refusal: CodedError, assetUids: readonly string[]): Promise<void>;
  /** Records incomplete assets for `uploads cleanup`; undefined if they cannot be recorded. */
  orphans: Pick<Receipts, 'saveOrphan'> | undefined;
  /** Finds the unfinished upload of a file that was moved since; absent if moved files are not looked for. */
  findResumable?(file: PlannedEntry, source: UploadSource, notice: NoticeCallback): Promise<OpenEntry | undefined>;
};

type NoticeCallback = (message: string, remedy?: Remedy) => void;

export type RunDeps = Omit<UploadDeps, 'orphans'> & {
  store: ListableUploadStore;
  /** Opens stdin or another stream, and the folder in which it is spooled. Absent if no stream is uploaded. */
  stdin?: { open(): AsyncIterable<Buffer | string>; spool: Spool } | undefined;
  /** Called with the uid of each asset whose upload is complete. */
  onUploaded?(assetUid: string): Promise<void>;
};
