import { basename } from 'node:path';
import type { UploadMetadata } from '../../../contract/tus.ts';
import type { Api } from '../../api/api.ts';
import type { MediactlError } from '../../errors.ts';
import type { Source } from '../sources/source.ts';
import type { UploadJournal } from '../store/journal.ts';
import type { Open, Planned } from '../store/journal-entry.ts';
import type { AssetState, Receipts } from '../store/receipts.ts';
import type { OnUploadEvent } from './events.ts';
import type { FoundAssets, LostCreation } from './lost.ts';
import type { Throttle } from './throttle.ts';

export type UploadJob = {
  /** `-` is stdin, whose name is the asset's or `stdin`. */
  path: string;
  /** The name that the journal knows it by; else one is made of service, file and metadata. */
  id?: string | undefined;
  /** What to call it in events and errors, where the path says nothing to people (stdin). */
  label?: string | undefined;
  /** What makes it the same file another day, where that is not its path (stdin): its content. */
  identity?: string | undefined;
  workspace: string;
  folder?: string | undefined;
  /** The asset's name; the service takes the file's name otherwise. */
  name?: string | undefined;
  /** The file's name as the service sees it, where it is not that of the path (stdin). */
  filename?: string | undefined;
  description?: string | undefined;
  /** Media type. */
  contentType?: string | undefined;
  /** Its real path, or what stands in its place, where somebody has looked. */
  knownAs?: string | undefined;
  /** It can be read once: nothing of it is compared before it is sent. */
  isOnce?: boolean | undefined;
  /** Slugs; set once the file is whole. */
  tags?: readonly string[] | undefined;
};

/** What a file is called in events: a spool's own path says nothing to people. */
export const labelOf = ({ path, label }: UploadJob) => label ?? (path === '-' ? 'stdin' : path);

export type UploadOptions = {
  chunkBytes: number;
  idleTimeoutMs: number;
  /** Whatever was sent before: an earlier attempt is forgotten, and a new asset made. */
  again: boolean;
  /** What becomes of a file whose content was sent before, under another name. */
  same: 'skip' | 'upload';
  onExpired: 'restart' | 'fail';
  requireChecksum: boolean;
};

export type UploadTools = {
  api: Api;
  journal: UploadJournal;
  /** What was sent before; undefined where that cannot be kept. */
  receipts?: ReceiptBook | undefined;
  /** The receipts that count as earlier ones of other content: up to this mark. */
  before: number;
  /** Paces what all files send together. */
  throttle?: Throttle | undefined;
  /** The profile's name, to tell people whose upload it is. */
  profile: string;
  signal?: AbortSignal | undefined;
  onEvent: OnUploadEvent;
  /** @throws MediactlError where there is nothing at that path that can be uploaded */
  openSource(path: string, knownAs?: string): Promise<Source>;
  /**
   * Asks whether a new asset may be made beside those that there may be; throws where the answer is no
   * or nobody can be asked.
   */
  confirmNewAsset(refusal: MediactlError, assetUids: readonly string[]): Promise<void>;
  /**
   * What creations may have made whose answers were lost.
   *
   * @throws Deferred where that is looked up later, for many at once
   */
  findLost(lost: LostCreation): Promise<FoundAssets>;
  /** Finds the upload that this one continues from another path; absent where files do not move. */
  findResumable?(file: Planned, source: Source, notice: Notice): Promise<Open | undefined>;
};

type Notice = (message: string) => void;

/** What the uploader needs of the receipts of this machine. */
type ReceiptBook = Pick<
  Receipts,
  | 'find'
  | 'hasSize'
  | 'hasAsset'
  | 'sameContent'
  | 'keep'
  | 'touched'
  | 'settled'
  | 'keepOrphan'
  | 'forgetAsset'
>;

/** Sent by this run; or there before it, by its path or by its content. */
export type How = 'uploaded' | 'there' | 'same';

/** An upload that is whole on the service. */
export type Uploaded = {
  how: How;
  /** What became of the asset, as far as this machine has looked. */
  state: AssetState;
  assetUid: string;
  sessionUid: string;
  name: string;
  sizeBytes: number;
  bytesSent: number;
  /** Offset from which this run went on; null where it began the session. */
  resumedFrom: number | null;
  blake3: string;
  /** Null: the service named no checksum to compare with. */
  verified: boolean | null;
};

/** "required keys filename and workspace_uid; optional keys …" (§4). */
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
