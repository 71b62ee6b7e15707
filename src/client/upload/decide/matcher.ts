import type { UploadMetadata } from '../../../contract/tus.ts';
import type { AssetRecord } from '../../../contract/types.ts';
import type { Api } from '../../api/api.ts';
import type { Library } from '../../library/library.ts';
import type { FileIdentity } from '../sources/file-identity.ts';
import type { UploadSource } from '../sources/source.ts';
import type { FolderResolver, ReceiptKey, UploadFile } from '../sources/upload-file.ts';
import type { Receipts } from '../store/receipts.ts';
import type { ListableUploadStore } from '../store/upload-store.ts';
import type { DecideNotice, Decision, LocalRecord, SendDecision } from './decision.ts';
import type { UploadSettings } from './upload-settings.ts';

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
  read<T>(work: (source: UploadSource) => Promise<T>): Promise<T>;
};

/** Compares files with the assets that their folder has. */
type FolderComparisonOptions = {
  library: Pick<Library, 'folders'>;
  /** Assets of each folder, by its uid (empty for the top level), if they were just read; else they are listed. */
  listed?: ReadonlyMap<string, readonly AssetRecord[]> | undefined;
};

/** Dependencies for deciding about files. */
export type DecidePorts = {
  api: Api;
  workspace: string;
  folders: FolderResolver;
  /** Receipts of this machine; undefined if there are none. */
  receipts: Receipts | undefined;
  /** Highest receipt id that counts for dedupe by content, so that receipts of the run itself are excluded. Default: all. */
  mark?: number | undefined;
  /** Unfinished uploads; undefined if none count. */
  store?: ListableUploadStore | undefined;
  comparison: FolderComparisonOptions;
  /** Directory that the folder mirrors; undefined if there is none. */
  mirror?: string | undefined;
  /** Opens a source for reading. @throws CodedError if nothing at that path can be uploaded */
  openSource(path: string, realPath?: string): Promise<UploadSource>;
  signal: AbortSignal;
  onDecideNotice?: ((notice: DecideNotice) => void) | undefined;
};

/** The ports of matchers, with what the decider has for them. */
export type MatcherDeps = DecidePorts & {
  policy: UploadSettings;
  mark: number;
  /** Uids of assets whose files were found under another name. */
  renamed: Set<string>;
  /**
   * Returns the unfinished uploads at the start of the run, listed once: their ids, and keys that are equal for those that may
   * be of the same moved file, else empty.
   */
  listUnfinished(): Promise<ReadonlyMap<string, string>>;
  notify(notice: DecideNotice): void;
  /** Collects a change of this machine's records that no single decision has. */
  note(record: LocalRecord): void;
};

/**
 * Decides one file; undefined leaves it as it is. `before` is what the matchers before it have left: the file is sent,
 * unless a later one decides otherwise.
 */
export type FileMatcher = (subject: Subject, before: SendDecision, deps: MatcherDeps) => Promise<Decision | undefined>;
