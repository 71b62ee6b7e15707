import type { UploadMetadata } from '../../../contract/tus.ts';
import { isIdentifier } from '../../api/resource.ts';
import type { Prefix } from '../sources/checksum.ts';
import type { FileIdentity } from '../sources/source.ts';

/** Fields that an entry has in every state. */
type EntryBase = {
  version: 2;
  id: string;
  /** Path as entered by the user, or the name shown instead, such as `stdin`. */
  path: string;
  /** Real path that the bytes are read from. */
  realPath: string;
  /** Stable identity of a source without a stable path. For stdin, it is the checksum and size. */
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
  /** Upper bound for the bytes sent, recorded some chunks ahead. Includes the last chunk only once it has started. */
  sentTo: number;
  /** Digest of the bytes before the latest acknowledged offset for which it was computed. */
  prefix?: Prefix;
  /** True if the service did not know the session on first use. */
  isRefused?: boolean;
};

/**
 * Entry of an upload whose bytes are all acknowledged. It is written only if the checksum differs, if tags have not
 * been set yet, or by a queue worker, whose receipt is saved later.
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

/** A stored entry that cannot be parsed, with the fields that could still be extracted. */
export type CorruptEntry = {
  id: string;
  path: string;
  isSpool?: boolean;
  reason: string;
  assetUid?: string | undefined;
  begunAt?: string | undefined;
};

export const isCorrupt = (entry: UploadEntry | CorruptEntry): entry is CorruptEntry => 'reason' in entry;

export function acknowledged(entry: UploadEntry): number {
  if (entry.state === 'open') return entry.offset;
  return entry.state === 'whole' ? entry.file.sizeBytes : 0;
}

/** Returns the uid of the asset that an upload has created; undefined if there is none, or a damaged entry lacks it. */
export function assetOf(entry: UploadEntry | CorruptEntry): string | undefined {
  if (isCorrupt(entry)) return entry.assetUid;
  return 'session' in entry ? entry.session.assetUid : undefined;
}

const isText = (value: unknown) => typeof value === 'string';
const isCount = (value: unknown) => Number.isSafeInteger(value) && (value as number) >= 0;

type Fields = { [field: string]: unknown };
const areTexts = (fields: Fields | undefined, names: readonly string[]) =>
  names.every((name) => isText(fields?.[name]));

/** Returns true if parsed JSON is a valid entry with every field that its state requires. */
export function isEntry(value: unknown): value is UploadEntry {
  if (typeof value !== 'object' || value === null) return false;
  const entry = value as Fields;
  const { file, metadata, session, prefix } = entry as { [field: string]: Fields | undefined };
  const isCommon =
    entry.version === 2 &&
    areTexts(entry, ['id', 'path', 'realPath', 'baseUrl', 'profile']) &&
    !Number.isNaN(Date.parse(String(entry.begunAt))) &&
    areTexts({ dev: '', ino: '', ctimeNs: '', validator: '', ...file }, [
      'mtimeNs',
      'dev',
      'ino',
      'ctimeNs',
      'validator',
    ]) &&
    isCount(file?.sizeBytes) &&
    areTexts(metadata, ['filename', 'workspace_uid']);
  if (!isCommon || entry.state === 'planned' || entry.state === 'intended') return isCommon;
  const isSession =
    areTexts(session, ['uid', 'url', 'assetUid', 'expiresAt']) &&
    isIdentifier(session?.assetUid) &&
    /^https?:/.test(String(session?.url)) &&
    URL.canParse(String(session?.url));
  if (!isSession || entry.state === 'whole') return isSession && isText(entry.blake3);
  const isPrefix = prefix === undefined || (isCount(prefix?.offset) && isText(prefix?.blake3));
  return entry.state === 'open' && isCount(entry.offset) && isCount(entry.sentTo) && isPrefix;
}

/**
 * Parses a stored entry. If it is invalid, extracts the path, asset uid and start time if possible.
 *
 * @param id id that the entry is stored under; undefined if it is unknown
 */
export function parseEntry(text: string, id: string | undefined): UploadEntry | CorruptEntry {
  let reason = 'this version does not recognize its format';
  try {
    const entry: unknown = JSON.parse(text);
    if (isEntry(entry) && (id === undefined || entry.id === id)) return entry;
  } catch (error) {
    reason = (error as Error).message;
  }
  const extractField = (field: string) => new RegExp(`"${field}":\\s*"([^"]+)"`).exec(text)?.[1];
  const assetUid = extractField('assetUid');
  return {
    id: id ?? '',
    path: extractField('path') ?? id ?? '',
    reason,
    begunAt: extractField('begunAt'),
    assetUid: isIdentifier(assetUid) ? assetUid : undefined,
  };
}
