import { CodedError, usageError } from '../../client/errors.ts';
import { Spool } from '../../client/upload/sources/spool.ts';
import { acknowledged, assetOf, type UploadEntry } from '../../client/upload/store/upload-entry.ts';
import type { SendProgress } from '../../client/upload/store/upload-store.ts';
import { isSameUid } from '../../contract/uid.ts';
import { formatBytes } from '../../shared/figures.ts';
import { escapeControls, relativeTime } from '../../shared/sanitize.ts';
import type { Account } from '../account/account.ts';
import type { Context } from '../context.ts';
import type { Column } from '../output/result.ts';
import { choose } from '../terminal/prompt.ts';

export type PendingUpload = {
  id: string;
  path: string;
  asset_uid: string | null;
  session_uid: string | null;
  size_bytes: number | null;
  /** Bytes that the service has acknowledged. */
  offset_bytes: number | null;
  /** Bytes that were sent, as far as it is known; the service might not have received all of them. */
  bytes_sent: number | null;
  /** Id of the process that is uploading the file; null if none is. */
  pid: number | null;
  base_url: string | null;
  profile: string | null;
  started_at: string | null;
  expires_at: string | null;
  state: 'uploading' | 'planned' | 'unconfirmed' | 'resumable' | 'expired' | 'uploaded';
};

/** Copy of stdin whose upload was not recorded, because the process was killed right after it had read stdin. */
export type SpooledInput = { state: 'spooled'; id: string; path: string };

export type Unfinished = UploadEntry | SpooledInput;

export function toPendingUpload(
  upload: Unfinished,
  now: number,
  { sentBytes, pid }: SendProgress = { sentBytes: 0, pid: null },
): PendingUpload {
  const entry = upload.state === 'spooled' ? undefined : upload;
  const session = entry && 'session' in entry ? entry.session : undefined;
  return {
    id: upload.id,
    // Absolute, because the working directory can differ later. Stdin has no real path.
    path: entry && entry.identity === undefined ? entry.realPath : upload.path,
    asset_uid: (entry && assetOf(entry)) ?? null,
    session_uid: session?.uid ?? null,
    size_bytes: entry?.file.sizeBytes ?? null,
    offset_bytes: entry ? acknowledged(entry) : null,
    bytes_sent: entry ? Math.max(sentBytes, acknowledged(entry)) : null,
    pid,
    base_url: entry?.baseUrl ?? null,
    profile: entry?.profile ?? null,
    started_at: entry?.begunAt ?? null,
    expires_at: session?.expiresAt ?? null,
    state: pid === null ? stateOf(upload, now) : 'uploading',
  };
}

const stateNames = {
  spooled: 'planned',
  planned: 'planned',
  intended: 'unconfirmed',
  whole: 'uploaded',
} as const;

function stateOf(upload: Unfinished, now: number): PendingUpload['state'] {
  if (upload.state !== 'open') return stateNames[upload.state];
  return Date.parse(upload.session.expiresAt) <= now ? 'expired' : 'resumable';
}

/** Minimum age of a spool file (copy of stdin). The entry of a newer file might follow. */
const minSpoolAgeMs = 60_000;

/** Returns this machine's unfinished uploads, and the spool files (copies of stdin) without an entry. */
export async function listPendingUploads(context: Context): Promise<Unfinished[]> {
  const entries = (await (await context.state.uploadsIfAny())?.list()) ?? [];
  const spooled = await new Spool(context.stateDir).list();
  const orphans = spooled
    .filter(({ name }) => !entries.some(({ id }) => id === name))
    .filter(({ since }) => context.clock.now() - since > minSpoolAgeMs)
    .map(({ name, path }) => ({ state: 'spooled' as const, id: name, path }));
  return [...entries, ...orphans];
}

/** Sorts uploads by start time, the newest last. */
export const sortByStart = (uploads: readonly Unfinished[]) =>
  [...uploads].sort((a, b) => startOf(a).localeCompare(startOf(b)));

const startOf = (upload: Unfinished) => (upload.state === 'spooled' ? '' : upload.begunAt);

/** Formats an upload's progress in bytes, with units on a terminal and as `sent/total` otherwise. */
export function formatProgress(
  size: number | null,
  sent: number | null,
  { isTerminal }: { isTerminal: boolean },
): string {
  if (size === null || sent === null) return '';
  return isTerminal ? `${formatBytes(sent)} of ${formatBytes(size)}` : `${sent}/${size}`;
}

export const pendingColumns: Column<PendingUpload>[] = [
  { field: 'id', noTruncate: true },
  { field: 'path', isFirst: true },
  { field: 'bytes_sent', value: ({ size_bytes, bytes_sent }, shown) => formatProgress(size_bytes, bytes_sent, shown) },
  { field: 'state', value: ({ state, pid }) => (pid === null ? state : `${state} (pid ${pid})`), noTruncate: true },
  { field: 'expires_at', dropPriority: 1 },
  { field: 'profile', dropPriority: 2 },
];

/**
 * @param id id of the upload, its session or its asset, or at least 6 characters of one
 * @throws CodedError `usage` (exit 2) if ambiguous, `not_found` (exit 3) if there is none
 */
export async function findUpload(context: Context, id: string): Promise<Unfinished> {
  const all = await listPendingUploads(context);
  const names = (entry: Unfinished) =>
    'session' in entry ? [entry.id, entry.session.uid, entry.session.assetUid] : [entry.id];
  const exact = all.find((entry) => names(entry).some((name) => isSameUid(name, id)));
  if (exact) return exact;
  const prefix = id.toLowerCase();
  const hasPrefix = (name: string) => name.toLowerCase().startsWith(prefix);
  const found = id.length < 6 ? [] : all.filter((entry) => names(entry).some(hasPrefix));
  const [only, ...others] = found;
  if (others.length > 0)
    throw usageError(`${found.length} uploads start with ${id}`, 'type more of the id').with({
      lines: found.map((entry) => entry.id),
    });
  if (only) return only;
  throw new CodedError(`upload ${id} does not exist on this machine`, {
    code: 'not_found',
    hint: 'mediactl uploads ls',
  });
}

/** Answer to "Which upload?" that stands for all of them. No id is this word. */
export const allUploads = 'all';

/** Returns true for an upload of an account. Its profile counts, as the key might have been rotated. */
export const isOf = ({ baseUrl, profile }: Account, upload: Unfinished): upload is UploadEntry =>
  upload.state !== 'spooled' && upload.baseUrl === baseUrl.origin && upload.profile === profile;

/**
 * Returns an upload id, which the user chooses if none is given.
 *
 * @param mayBeAll true to offer the uploads of this account only, and first all of them, if they are several
 * @throws CodedError `usage` (exit 2) if no id is given, and there is no terminal or no upload to choose from
 */
export async function chooseUploadId(
  context: Context,
  id: string | undefined,
  hint: string,
  { mayBeAll = false } = {},
): Promise<string> {
  if (id !== undefined) return id;
  const all = context.terminal.isInteractive ? sortByStart(await listPendingUploads(context)) : [];
  const account = mayBeAll && all.length > 0 ? await context.account() : undefined;
  const entries = account ? all.filter((entry) => isOf(account, entry)) : all;
  if (entries.length === 0) throw usageError('no upload given', hint);
  const now = context.clock.now();
  const ids = entries.map((entry) => entry.id);
  const rows = entries.map((entry) => {
    const { path, state, started_at } = toPendingUpload(entry, now);
    return [escapeControls(path), state, relativeTime(started_at, now), entry.id];
  });
  if (mayBeAll && entries.length > 1) {
    ids.unshift(allUploads);
    rows.unshift([`all ${entries.length}`, '', '', '']);
  }
  return choose(context.terminal, 'Which upload?', ids, rows);
}
