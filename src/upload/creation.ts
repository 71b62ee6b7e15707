import type { Api } from '../api/api.ts';
import type { CreatedSession } from '../api/upload-sessions.ts';
import { exitCodes, MediactlError } from '../errors.ts';
import { statusMeans } from '../wire/assumptions.ts';
import type { Asset } from '../wire/types.ts';
import { isCorrupt, type Journal, type JournalEntry } from './journal.ts';

const maxTries = 10;
/** Clocks of this machine and the service may differ. */
const clockSkewMs = 5 * 60_000;

/**
 * Creates the session. Repeated only after a 503, which says that nothing was made; every other
 * lost answer is left to the next run, which looks first.
 */
export async function createSession(
  { transport, uploadSessions }: Api,
  { file, metadata }: JournalEntry,
  signal?: AbortSignal,
): Promise<CreatedSession> {
  for (let tries = 1; ; tries++) {
    try {
      return await uploadSessions.create(file.sizeBytes, metadata);
    } catch (error) {
      if (!(error instanceof MediactlError) || error.explanation.status !== 503) throw error;
      if (tries >= maxTries) throw error;
      await transport.waitBeforeRetry(tries - 1, error, signal);
    }
  }
}

/** Whether a failed creation surely made nothing, so that its intent may be forgotten. */
export function madeNothing(error: unknown): boolean {
  if (!(error instanceof MediactlError)) return false;
  const { status, code } = error.explanation;
  return (
    code === 'refused' ||
    code === 'tls' ||
    (status !== undefined && status >= 400 && status !== 500 && status !== 502 && status !== 504)
  );
}

/**
 * What a creation whose answer was lost may have left: assets of that name, made since, still
 * without their bytes, and not those of other uploads under way here. A search, not a guess; the
 * caller says what was found and asks.
 */
export async function findOrphans(
  { assets }: Api,
  journal: Journal,
  entry: JournalEntry,
): Promise<Asset[]> {
  const others = await journal.list();
  const known = new Set(others.map((other) => !isCorrupt(other) && other.session?.assetUid));
  const { filename, asset_name } = entry.metadata;
  const stem = filename.replace(/\.[^.]+$/, '');
  const names = asset_name === undefined ? [filename, stem] : [asset_name];
  const since = Date.parse(entry.intendedAt) - clockSkewMs;
  const found: Asset[] = [];
  for await (const page of assets.list({ search: asset_name ?? stem }, { limit: 200 }))
    found.push(
      ...page.filter(
        ({ uid, name, status, created_at }) =>
          names.includes(name ?? '') &&
          !known.has(uid) &&
          statusMeans(status) === 'in progress' &&
          (created_at === undefined || Date.parse(created_at) >= since),
      ),
    );
  return found;
}

/** Said when an earlier attempt may have made an asset and nobody can be asked. */
export const creationUnknown = (path: string, orphans: readonly Asset[], id: string) =>
  new MediactlError(`an earlier attempt to upload ${path} may already have made an asset`, {
    code: 'creation_unknown',
    exitCode: exitCodes.usage,
    reason: `the answer to its creation was lost; found since: ${orphans.map(({ uid }) => uid).join(', ')}`,
    hint: `--yes makes a new asset and leaves the one found; mediactl uploads forget ${id} does the same for good`,
    details: { asset_uids: orphans.map(({ uid }) => uid) },
  });
