import { bytes, printable, when } from '../../terminal/printable.ts';
import type { Column } from '../../terminal/result.ts';
import { type CorruptEntry, isCorrupt, type JournalEntry } from '../../upload/journal.ts';

/** An upload begun on this machine, as `uploads ls` prints it: no key, no digest of one. */
export type PendingUpload = {
  id: string;
  path: string;
  asset_uid: string | null;
  session_uid: string | null;
  size_bytes: number | null;
  offset_bytes: number | null;
  base_url: string | null;
  profile: string | null;
  expires_at: string | null;
  state: 'resumable' | 'expired' | 'uploaded' | 'creation unknown' | 'unreadable';
};

export function pendingUpload(entry: JournalEntry | CorruptEntry, now: number): PendingUpload {
  if (isCorrupt(entry))
    return {
      id: entry.id,
      path: entry.path,
      asset_uid: null,
      session_uid: null,
      size_bytes: null,
      offset_bytes: null,
      base_url: null,
      profile: null,
      expires_at: null,
      state: 'unreadable',
    };
  return {
    id: entry.id,
    path: entry.path,
    asset_uid: entry.session?.assetUid ?? null,
    session_uid: entry.session?.uid ?? null,
    size_bytes: entry.file.sizeBytes,
    offset_bytes: entry.offset,
    base_url: entry.baseUrl,
    profile: entry.profile,
    expires_at: entry.session?.expiresAt ?? null,
    state: stateOf(entry, now),
  };
}

function stateOf({ session, offset, file }: JournalEntry, now: number): PendingUpload['state'] {
  if (!session) return 'creation unknown';
  if (offset === file.sizeBytes) return 'uploaded';
  return Date.parse(session.expiresAt) <= now ? 'expired' : 'resumable';
}

export const pendingColumns: Column<PendingUpload>[] = [
  { header: 'ID', value: ({ id }) => id, whole: true },
  { header: 'PATH', value: ({ path }) => printable(path) },
  {
    header: 'DONE',
    value: ({ size_bytes, offset_bytes }, { isTerminal }) => {
      if (size_bytes === null || offset_bytes === null) return '';
      return isTerminal
        ? `${bytes(offset_bytes)} of ${bytes(size_bytes)}`
        : `${offset_bytes}/${size_bytes}`;
    },
  },
  { header: 'STATE', value: ({ state }) => state, whole: true },
  {
    header: 'EXPIRES',
    value: ({ expires_at }, { isTerminal, now }) =>
      expires_at ? (isTerminal ? when(expires_at, now) : printable(expires_at)) : '',
  },
];
