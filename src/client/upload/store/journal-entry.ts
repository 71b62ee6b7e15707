import { createHash } from 'node:crypto';
import type { UploadMetadata } from '../../../contract/tus.ts';
import { isIdentifier } from '../../http/identifier.ts';
import type { Prefix } from '../sources/prefix-digest.ts';
import type { FileIdentity } from '../sources/source.ts';

/** What is known of an upload in each of its states. */
type Common = {
  version: 2;
  id: string;
  /** As it was typed, or as people know it: `stdin`. */
  path: string;
  /** Where its bytes are. */
  realPath: string;
  /** What makes it the same file another day, where that is not its path (stdin). */
  identity?: string;
  file: FileIdentity;
  /** Origin of the service. */
  baseUrl: string;
  /** The profile that it was begun with, to tell it to people. */
  profile: string;
  metadata: UploadMetadata;
  /** ISO 8601: no creation was sent before. */
  begunAt: string;
};

/** Nothing was asked of the service yet, or it said that it made nothing. */
export type Planned = Common & { state: 'planned' };

/** The creation is about to be sent, or was sent and its answer is not known. */
export type Intended = Common & { state: 'intended' };

type WithSession = Common & {
  session: { uid: string; url: string; assetUid: string; expiresAt: string };
};

/** The session takes bytes. */
export type Open = WithSession & {
  state: 'open';
  /** Acknowledged by the service. */
  offset: number;
  /** No byte from here on was ever sent. Some chunks ahead, but past the last one only once that is begun. */
  sentTo: number;
  /** The newest acknowledged offset whose digest is known. */
  prefix?: Prefix;
  /** The service did not know the session the first time that it was used. */
  isRefused?: boolean;
};

/**
 * Every byte is acknowledged. A page says so where something keeps the upload from its receipt: the
 * checksum differs, or the receipt cannot be written.
 */
export type Whole = WithSession & {
  state: 'whole';
  /** Of the file, in hex. */
  blake3: string;
  /** What the service's checksum said; null where there was none to compare with. */
  verified: boolean | null;
  /** `X-Checksum-Blake3` as it came, where it differs. */
  serviceBlake3?: string;
};

/** One upload that this machine has begun and not seen through. */
export type JournalEntry = Planned | Intended | Open | Whole;

/** A page that cannot be read, and what its text still tells. */
export type CorruptEntry = {
  id: string;
  /** Of the page itself, or of what came on stdin where there is no page. */
  path: string;
  isSpool?: boolean;
  reason: string;
  /** The asset that it was about, if that can be made out. */
  assetUid?: string | undefined;
  /** As in an entry, if that can be made out. */
  begunAt?: string | undefined;
};

export const isCorrupt = (entry: JournalEntry | CorruptEntry): entry is CorruptEntry =>
  'reason' in entry;

/**
 * What makes two uploads the same: the service, what is uploaded, and as what. Not the key, which may
 * be rotated while the organisation stays.
 */
export type UploadKey = {
  baseUrl: string;
  /** The real path; of what has none that lasts (stdin), its content. */
  source: string;
  metadata: UploadMetadata;
};

/** A short, stable name for an upload: the same command finds its own entry again. */
export const uploadId = ({ baseUrl, source, metadata }: UploadKey) =>
  createHash('sha256')
    .update(JSON.stringify([baseUrl, source, Object.entries(metadata).sort()]))
    .digest('hex')
    .slice(0, 16);

/** Bytes that the service has acknowledged. */
export function acknowledged(entry: JournalEntry): number {
  if (entry.state === 'open') return entry.offset;
  return entry.state === 'whole' ? entry.file.sizeBytes : 0;
}

export const assetOf = (entry: JournalEntry): string | undefined =>
  'session' in entry ? entry.session.assetUid : undefined;

const isText = (value: unknown) => typeof value === 'string';
const isCount = (value: unknown) => Number.isSafeInteger(value) && (value as number) >= 0;

/** Whether a parsed page is an entry, with every field that its state has. */
export function isEntry(value: unknown): value is JournalEntry {
  if (typeof value !== 'object' || value === null) return false;
  const entry = value as { [field: string]: unknown };
  const { file, metadata, session } = entry as { [field: string]: { [field: string]: unknown } };
  const isCommon =
    entry.version === 2 &&
    ['id', 'path', 'realPath', 'baseUrl', 'profile'].every((field) => isText(entry[field])) &&
    !Number.isNaN(Date.parse(String(entry.begunAt))) &&
    isText(file?.mtimeNs) &&
    ['dev', 'ino', 'ctimeNs', 'validator'].every((field) => isText(file?.[field] ?? '')) &&
    isCount(file?.sizeBytes) &&
    isText(metadata?.filename) &&
    isText(metadata?.workspace_uid);
  if (!isCommon) return false;
  if (entry.state === 'planned' || entry.state === 'intended') return true;
  const isSession =
    ['uid', 'url', 'assetUid', 'expiresAt'].every((field) => isText(session?.[field])) &&
    isIdentifier(session?.assetUid) &&
    /^https?:/.test(String(session?.url)) &&
    URL.canParse(String(session?.url));
  if (!isSession) return false;
  if (entry.state === 'open')
    return isCount(entry.offset) && isCount(entry.sentTo) && isPrefix(entry.prefix);
  return entry.state === 'whole' && isText(entry.blake3);
}

const isPrefix = (value: unknown) => {
  const prefix = value as Partial<Prefix> | null | undefined;
  return prefix === undefined || (isCount(prefix?.offset) && isText(prefix?.blake3));
};
