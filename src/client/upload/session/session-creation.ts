import { sessionLifetimeMs } from '../../../contract/tus.ts';
import type { Api } from '../../api/api.ts';
import type { CreatedSession } from '../../api/upload-sessions.ts';
import { MediactlError } from '../../errors.ts';
import { wasNotSent } from '../../http/network-error.ts';
import type { IntendedEntry, OpenEntry } from '../store/journal-entry.ts';
import { sendAheadLimit } from './send-file.ts';
import type { UploadRun } from './upload-run.ts';

const maxTries = 10;

/**
 * Creates an upload session. The intent is written to the journal first, for crash recovery.
 *
 * @param previousEntry expired session to replace; kept in the journal if creation fails
 */
export async function createUpload(run: UploadRun, previousEntry?: OpenEntry): Promise<OpenEntry> {
  const { api, signal } = run.tools;
  const intended: IntendedEntry = { ...run.planned(), state: 'intended' };
  await run.journal.write(intended);
  signal?.throwIfAborted();
  try {
    const created = await createSession(run);
    const entry: OpenEntry = {
      ...intended,
      state: 'open',
      session: {
        uid: created.uid,
        url: created.sessionUrl,
        assetUid: created.assetUid,
        expiresAt: created.expiresAt ?? defaultExpiry(api),
      },
      offset: 0,
      sentTo: sendAheadLimit(0, run),
    };
    run.sessionsCreated++;
    run.resumedFrom = null;
    await run.journal.write(entry);
    run.emit({ event: 'created', asset_uid: created.assetUid, session_uid: created.uid });
    return entry;
  } catch (error) {
    if (hasCreatedNothing(error)) await restorePrevious(run, previousEntry);
    throw error;
  }
}

/** Restores the earlier journal entry, if it names an asset or the only copy of stdin; else removes the entry. */
async function restorePrevious(
  run: UploadRun,
  previousEntry: OpenEntry | undefined,
): Promise<void> {
  if (previousEntry) await run.journal.write(previousEntry);
  else if (run.job.identity !== undefined) await run.journal.write(run.planned());
  else await run.journal.forget();
}

/** Returns the default expiry, for a service that names none: "sessions expire after 24 hours" (§2). */
const defaultExpiry = ({ transport }: Api) =>
  new Date(transport.clock.now() + sessionLifetimeMs).toISOString();

/**
 * Sends the creation. Retries with backoff only after the service's own 503, which proves that nothing was
 * made. After any other failure an asset may exist, so the next run looks for it first.
 */
async function createSession({ tools, source, metadata }: UploadRun): Promise<CreatedSession> {
  const { api, signal } = tools;
  for (let tries = 1; ; tries++) {
    try {
      return await api.uploadSessions.create(source.sizeBytes, metadata, signal);
    } catch (error) {
      if (!isStorageUnavailable(error) || tries >= maxTries) throw error;
      await api.transport.waitBeforeRetry(tries - 1, error, signal);
    }
  }
}

/**
 * Returns true for the service's own 503, not a gateway's: "503 storage not configured or temporarily
 * unavailable, text/plain" (§4).
 */
const isStorageUnavailable = (error: unknown): error is MediactlError =>
  error instanceof MediactlError &&
  error.explanation.status === 503 &&
  error.explanation.isPlainText === true;

/** Statuses of a service or gateway that rejected the request without acting on it. */
const rejectionStatuses = new Set([
  ...[400, 401, 402, 403, 404, 405, 407, 410, 411, 412, 413, 414, 415, 417, 421, 422, 426, 429],
  ...[431, 451, 501, 505, 507, 511],
]);

/** Returns true if a failed creation certainly made no asset, so that its intent may be dropped. */
function hasCreatedNothing(error: unknown): boolean {
  if (!(error instanceof MediactlError)) return false;
  const { status } = error.explanation;
  return (
    wasNotSent(error) ||
    isStorageUnavailable(error) ||
    (status !== undefined && rejectionStatuses.has(status))
  );
}
