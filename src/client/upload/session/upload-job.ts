import { basename } from 'node:path';
import type { UploadMetadata } from '../../../contract/tus.ts';
import type { SuccessOutcome, UploadOutcome } from '../../../contract/upload-outcomes.ts';
import type { Api } from '../../api/api.ts';
import type { CodedError, Remedy } from '../../errors.ts';
import type { UploadSource } from '../sources/source.ts';
import type { Spool } from '../sources/spool.ts';
import type { FileNames, UserMetadata } from '../sources/upload-candidate.ts';
import type { Receipt, Receipts } from '../store/receipts.ts';
import type { OpenEntry, PlannedEntry } from '../store/upload-entry.ts';
import type { ListableUploadStore, UploadStore } from '../store/upload-store.ts';
import type { OnUploadEvent } from './events.ts';
import type { Throttle } from './throttle.ts';

export type UploadJob = FileNames &
  Pick<UserMetadata, 'name' | 'description' | 'contentType' | 'tags'> & {
    /** Id of the upload; by default derived from service, file and metadata. */
    id?: string | undefined;
    /** Identity of a source without a lasting path, i.e. the checksum and size of stdin. */
    identity?: string | undefined;
    workspace: string;
    folder?: string | undefined;
  };

/** Returns the name of a file for events. The path of a spool file means nothing to the user. */
export const labelOf = ({ path, label }: UploadJob) => label ?? (path === '-' ? 'stdin' : path);

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
  openSource(path: string, sourceId?: string): Promise<UploadSource>;
  /** Asks the user to confirm a possible duplicate. @throws CodedError `declined`; `refusal` without a terminal */
  confirmNewAsset(refusal: CodedError, assetUids: readonly string[]): Promise<void>;
  /** Records incomplete assets for `uploads cleanup`; undefined if they cannot be recorded. */
  orphans: Pick<Receipts, 'saveOrphan'> | undefined;
  /** Finds the unfinished upload of a file that was moved since; absent if moved files are not looked for. */
  findResumable?(file: PlannedEntry, source: UploadSource, notice: NoticeCallback): Promise<OpenEntry | undefined>;
};

type NoticeCallback = (message: string, remedy?: Remedy) => void;

/** A file that is complete on the service. */
export type Uploaded = Pick<
  Receipt,
  'state' | 'assetUid' | 'sessionUid' | 'name' | 'sizeBytes' | 'blake3' | 'verified'
> & {
  how: SuccessOutcome;
  /** Uid of the folder that a duplicate is in; empty for the top level. */
  folder?: string;
  bytesSent: number;
  /** Offset from which this run resumed; null if it created the session. */
  resumedFrom: number | null;
};

/** Returns the upload metadata: "required keys filename and workspace_uid; optional keys …" (§4). */
export function metadataOf(job: UploadJob): UploadMetadata {
  return {
    filename: job.filename ?? basename(job.path),
    workspace_uid: job.workspace,
    ...(job.name !== undefined && { asset_name: job.name }),
    ...(job.description !== undefined && { description: job.description }),
    ...(job.folder !== undefined && { parent_folder_uid: job.folder }),
    ...(job.contentType !== undefined && { content_type: job.contentType }),
  };
}

export type RunDeps = Omit<UploadDeps, 'orphans'> & {
  store: ListableUploadStore;
  /** Opens stdin, the source of the path `-`, and the folder in which it is spooled. Absent if `-` is not uploaded. */
  stdin?: { open(): AsyncIterable<Buffer | string>; spool: Spool } | undefined;
  /** Called with the uid of each asset whose upload is complete. */
  onUploaded?(assetUid: string): Promise<void>;
};

export type FileOutcome = {
  job: UploadJob;
  /** Id of the upload; absent if it was not started. */
  id?: string;
  /** Path from which the bytes are read; for stdin, the path of the spool file. */
  path: string;
  uploaded?: Uploaded;
  /** Uid of the asset that this run created or resumed, also if the upload failed. */
  assetUid?: string | undefined;
  /** True if this run skips the file because another process is uploading it. */
  isBusy?: boolean;
  queueId?: string;
  requests: number;
  /** Bytes that this process has sent of the file, also if it was not completed. */
  bytesSent?: number;
  durationMs: number;
  /** Processing status of the asset, if the run waited for it. */
  status?: string | undefined;
  error?: CodedError;
};

/** Creates the outcome of a file, to be completed later unless `result` has everything. */
export const createOutcome = (path: string, workspace: string, result: Partial<FileOutcome> = {}): FileOutcome => ({
  job: { path, workspace },
  path,
  requests: 0,
  durationMs: 0,
  ...result,
});

/** Returns the outcome's name. A complete upload counts as uploaded even if a later step failed. */
export function outcomeOf({ uploaded, isBusy, queueId, error }: FileOutcome): UploadOutcome {
  if (isBusy) return 'busy';
  if (queueId !== undefined && !uploaded && !error) return 'queued';
  return uploaded?.how ?? (error && isInterruption(error) ? 'interrupted' : 'failed');
}

/** Returns true if the error means that a signal or `--stop-at` stopped the run. */
export const isInterruption = ({ explanation: { code } }: CodedError) => isInterruptionCode(code);

export const isInterruptionCode = (code: string) => ['stopped_at_limit', 'interrupted', 'terminated'].includes(code);
