import type { UploadMetadata } from '../../../contract/tus.ts';
import type { Api } from '../../api/api.ts';
import type { Library } from '../../library/library.ts';
import type { FileIdentity, UploadSource } from '../sources/source.ts';
import type { FolderResolver, ReceiptKey, UploadFile, UserMetadata } from '../sources/upload-file.ts';
import type { Receipts } from '../store/receipts.ts';
import type { ListableUploadStore, UploadStore } from '../store/upload-store.ts';
import type { DecideNotice, Decision, LocalRecord, SendDecision } from './decision.ts';

/**
 * What counts as uploaded already (`--existing`), besides the asset that this machine uploaded from the same path:
 *
 * - `content`: the same content in the folder
 * - `file`: nothing
 * - `name`: an asset of the folder with the file's name, even if its content differs
 * - `anywhere`: the same content in any folder
 * - `upload`: not even the file's own asset, so that each file is sent as a new asset
 */
type Existing = (typeof existingChoices)[number];

export const existingChoices = ['content', 'file', 'name', 'anywhere', 'upload'] as const;

/** What counts as uploaded already. */
export type DecidePolicy = {
  existing: Existing;
  /** True to hash each file that has a receipt, instead of comparing size and times. Default: false. */
  checksum?: boolean | undefined;
  /**
   * True to restart the upload of a file that has changed since its unfinished upload began, as a watch does, which
   * cannot ask. Default: that is an error.
   */
  replacesChanged?: boolean | undefined;
};

/** A file, as the matchers see it. What needs its bytes is read on demand. */
export type Subject = {
  readonly file: UploadFile;
  /** Id of its upload; undefined for a stream that is not read yet, and if its folder does not exist yet. */
  readonly id: string | undefined;
  /** Key of its receipt; undefined in the same cases. */
  readonly key: ReceiptKey | undefined;
  /** Undefined if the size is not known before the file is opened. */
  readonly identity: FileIdentity | undefined;
  /** Metadata that are sent with it; undefined if its folder does not exist yet. */
  readonly metadata: UploadMetadata | undefined;
  /** Returns the BLAKE3 of its content, which is read once. */
  digest(): Promise<string>;
  /** Calls `work` with the opened file. */
  read<T>(work: (source: UploadSource) => Promise<T>): Promise<T>;
};

/** Compares files with the assets that their folder has. */
export type FolderComparisonOptions = {
  library: Pick<Library, 'folders'>;
};

/** A directory that a folder mirrors. */
export type Mirror = { directory: string };

/** An unfinished upload of a run. @property key equal for uploads that may be of the same moved file, else empty */
export type KnownEntry = { id: string; key: string };

export type MatcherDeps = {
  api: Api;
  policy: DecidePolicy;
  workspace: string;
  /** Default metadata of every file. */
  about: Pick<UserMetadata, 'name' | 'description' | 'contentType'>;
  /** Receipts of this machine; undefined if there are none. */
  receipts?: Receipts | undefined;
  /** Highest receipt id that counts for dedupe by content, so that receipts of the run itself are excluded. */
  mark: number;
  /** Unfinished uploads; undefined if none count. */
  store?: UploadStore | ListableUploadStore | undefined;
  /** Returns the unfinished uploads at the start of the run by id, listed once. */
  listUnfinished(): Promise<ReadonlyMap<string, KnownEntry>>;
  folders: FolderResolver;
  comparison?: FolderComparisonOptions | undefined;
  mirror?: Mirror | undefined;
  /** Opens a source for reading. @throws CodedError if nothing at that path can be uploaded */
  openSource(path: string, realPath?: string): Promise<UploadSource>;
  signal?: AbortSignal | undefined;
  notify(notice: DecideNotice): void;
  /** Collects a change of this machine's records that no single decision has. */
  note(record: LocalRecord): void;
};

/**
 * Decides one file; undefined leaves it as it is. `before` is what the matchers before it have left: the file is sent,
 * unless a later one decides otherwise.
 */
export type FileMatcher = (subject: Subject, before: SendDecision, deps: MatcherDeps) => Promise<Decision | undefined>;
