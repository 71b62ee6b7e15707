import { retryUntil } from '../../../contract/retry.ts';
import { sessionLifetimeMs } from '../../../contract/tus.ts';
import type { CreatedSession } from '../../api/upload-sessions.ts';
import { MediactlError } from '../../errors.ts';
import { wasNotSent } from '../../http/network-error.ts';
import type { IntendedEntry, OpenEntry } from '../store/upload-entry.ts';
import { sendAheadLimit } from './send-file.ts';
import type { UploadRun } from './upload-run.ts';

const maxTries = 10;

/** @param previousEntry entry of the expired session to replace; kept if the service has created nothing */
export async function createUpload(run: UploadRun, previousEntry?: OpenEntry): Promise<OpenEntry> {
  const { api, signal } = run.deps;
  const intended: IntendedEntry = { ...run.planned(), state: 'intended' };
  await run.store.write(intended); // for crash recovery
  signal?.throwIfAborted();
  try {
    const created = await createSession(run);
    const { uid, sessionUrl: url, assetUid } = created;
    // "sessions expire after 24 hours" (§2), if the service sends no time
    const expiresAt = created.expiresAt ?? new Date(api.transport.clock.now() + sessionLifetimeMs).toISOString();
    const session = { uid, url, assetUid, expiresAt };
    const entry: OpenEntry = { ...intended, state: 'open', session, offset: 0, sentTo: sendAheadLimit(0, run) };
    run.sessionsCreated++;
    run.resumedFrom = null;
    await run.store.write(entry);
    run.emit({ event: 'created', asset_uid: assetUid, session_uid: uid });
    return entry;
  } catch (error) {
    if (!hasCreatedNothing(error)) throw error;
    if (previousEntry) await run.store.write(previousEntry);
    else if (run.job.identity !== undefined)
      await run.store.write(run.planned()); // names the only copy of stdin
    else await run.store.remove(run.id);
    throw error;
  }
}

/**
 * Sends the creation request. Retries with backoff only after the service's own 503, which proves that nothing was
 * created. After any other failure an asset might exist, so the next run looks for one first.
 */
function createSession({ deps, source, metadata }: UploadRun): Promise<CreatedSession> {
  const { api, signal } = deps;
  return retryUntil(signal, () => api.uploadSessions.create(source.sizeBytes, metadata, signal), {
    clock: api.transport.clock,
    delayAfter: async (error, attempt) => {
      if (!isStorageUnavailable(error) || attempt + 1 >= maxTries) return undefined;
      return api.transport.waitBeforeRetry(attempt, error, signal).then(() => 0);
    },
  });
}

/** Matches "503 storage not configured or temporarily unavailable, text/plain" (§4), which no gateway sends. */
const isStorageUnavailable = (error: unknown): error is MediactlError =>
  error instanceof MediactlError && error.explanation.status === 503 && error.explanation.isPlainText === true;

/** Status codes with which a service or gateway rejects a request without acting on it. */
const rejectionStatuses = new Set([
  ...[400, 401, 402, 403, 404, 405, 407, 410, 411, 412, 413, 414, 415, 417, 421, 422, 426, 429],
  ...[431, 451, 501, 505, 507, 511],
]);

/** Returns true if a failed creation certainly made no asset, so that its intent can be removed. */
function hasCreatedNothing(error: unknown): boolean {
  if (!(error instanceof MediactlError)) return false;
  const { status } = error.explanation;
  return wasNotSent(error) || isStorageUnavailable(error) || (status !== undefined && rejectionStatuses.has(status));
}
