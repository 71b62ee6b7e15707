import type { UploadMetadata } from '../../../contract/tus.ts';
import type { Prefix } from '../sources/checksum.ts';
import type { FileIdentity } from '../sources/file-identity.ts';

/** Fields that an entry has in every state. */
type EntryBase = {
  id: string;
  /** Path as entered by the user, or the name shown instead, such as `stdin`. */
  path: string;
  /** Real path that the bytes are read from. */
  realPath: string;
  /** Stable identity of a source without a stable path. For stdin, it is the checksum, size and name. */
  identity?: string;
  file: FileIdentity;
  baseUrl: string;
  /** Profile that started the upload, shown to the user. */
  profile: string;
  metadata: UploadMetadata;
  /** Start of the upload, in ISO 8601. No creation request was sent before it. */
  begunAt: string;
};

/** Entry of an upload before any creation request, or after one that certainly created nothing. */
export type PlannedEntry = EntryBase & { state: 'planned' };

/** Entry of an upload whose creation request is about to be sent, or has been sent without a response yet. */
export type IntendedEntry = EntryBase & { state: 'intended' };

type SessionEntry = EntryBase & { session: { uid: string; url: string; assetUid: string; expiresAt: string } };

/** Entry of an upload whose session accepts bytes. */
export type OpenEntry = SessionEntry & {
  state: 'open';
  offset: number;
  /** True if the last chunk might have been sent, so that the service might have every byte. */
  mayBeWhole: boolean;
  /** Digest of the bytes before the latest acknowledged offset for which it was computed. */
  prefix?: Prefix;
  /** True if the service did not know the session on first use. */
  isRefused?: boolean;
};

/**
 * Entry of an upload whose bytes are all acknowledged. It is written only if the checksum differs, if metadata have
 * not been set yet, or by a queue worker, whose receipt is saved later.
 */
export type CompleteEntry = SessionEntry & {
  state: 'whole';
  /** BLAKE3 of the file, in hex. */
  blake3: string;
  /** True if the checksums are equal; null if the service sent no checksum. */
  verified: boolean | null;
  /** `X-Checksum-Blake3` header as received, if it differs from `blake3`. */
  serviceBlake3?: string;
};

/** Stored state of an upload that has been started and not finished, with all that it takes to resume it. */
export type UploadEntry = PlannedEntry | IntendedEntry | OpenEntry | CompleteEntry;

export function acknowledged(entry: UploadEntry): number {
  if (entry.state === 'open') return entry.offset;
  return entry.state === 'whole' ? entry.file.sizeBytes : 0;
}

/** Returns the uid of the asset that an upload has created; undefined if there is none. */
export const assetOf = (entry: UploadEntry): string | undefined =>
  'session' in entry ? entry.session.assetUid : undefined;

/** An incomplete asset that an interrupted upload left on the service, or might have left there. */
export type Orphan = {
  /** Null if the response to its creation was lost. The asset, if there is one, is empty. */
  assetUid: string | null;
  workspace: string;
  name: string;
  path: string;
  sizeBytes: number | null;
  /** Time (ISO 8601) at which the orphan was recorded; for a lost creation, a time before the request was sent. */
  at: string;
  /** True if the asset was matched only by name and might belong to another upload. */
  isGuessed: boolean;
};

/** Returns what an upload may have left incomplete on the service, for `uploads cleanup`. */
export const orphanOf = (entry: UploadEntry): Orphan => ({
  assetUid: assetOf(entry) ?? null,
  workspace: entry.metadata.workspace_uid,
  name: entry.metadata.asset_name ?? entry.metadata.filename,
  path: entry.path,
  sizeBytes: entry.file.sizeBytes,
  at: entry.begunAt,
  isGuessed: false,
});
