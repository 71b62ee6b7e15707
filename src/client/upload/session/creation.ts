import { sessionLifetimeMs } from '../../../contract/tus.ts';
import type { Api } from '../../api/api.ts';
import type { CreatedSession } from '../../api/upload-sessions.ts';
import { MediactlError } from '../../errors.ts';
import { neverLeft } from '../../http/network-error.ts';
import type { Intended, Open } from '../store/journal-entry.ts';
import { sentAhead } from './send-file.ts';
import type { UploadRun } from './upload-run.ts';

const maxTries = 10;

/**
 * A new session, with its intent journaled before.
 *
 * @param earlier the session in whose place it comes, if any: where nothing is made, that stays known
 */
export async function createUpload(run: UploadRun, earlier?: Open): Promise<Open> {
  const { api, signal } = run.tools;
  const intended: Intended = { ...run.planned(), state: 'intended' };
  await run.page.write(intended);
  signal?.throwIfAborted();
  try {
    const created = await createSession(run);
    const entry: Open = {
      ...intended,
      state: 'open',
      session: {
        uid: created.uid,
        url: created.sessionUrl,
        assetUid: created.assetUid,
        expiresAt: created.expiresAt ?? dayFromNow(api),
      },
      offset: 0,
      sentTo: sentAhead(0, run),
    };
    run.sessionsCreated++;
    run.resumedFrom = null;
    await run.page.write(entry);
    run.say({ event: 'created', asset_uid: created.assetUid, session_uid: created.uid });
    return entry;
  } catch (error) {
    if (madeNothing(error)) await forgetIntent(run, earlier);
    throw error;
  }
}

/** What there was before is there again: an asset that is known, or the only copy of stdin. */
async function forgetIntent(run: UploadRun, earlier: Open | undefined): Promise<void> {
  if (earlier) await run.page.write(earlier);
  else if (run.job.identity !== undefined) await run.page.write(run.planned());
  else await run.page.forget();
}

/** "sessions expire after 24 hours" (§2), for a service that does not say when. */
const dayFromNow = ({ transport }: Api) =>
  new Date(transport.clock.now() + sessionLifetimeMs).toISOString();

/**
 * Creates the session. Repeated only after the service's own 503, which says that nothing was made;
 * every other lost answer is left to the next run, which looks first.
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

/** "503 storage not configured or temporarily unavailable, text/plain" (§4): a gateway's is none. */
const isStorageUnavailable = (error: unknown): error is MediactlError =>
  error instanceof MediactlError &&
  error.explanation.status === 503 &&
  error.explanation.isPlainText === true;

/** Statuses by which a service, or a gateway before it, refuses a request before it acts on it. */
const refusals = new Set([
  ...[400, 401, 402, 403, 404, 405, 407, 410, 411, 412, 413, 414, 415, 417, 421, 422, 426, 429],
  ...[431, 451, 501, 505, 507, 511],
]);

/** Whether a failed creation surely made nothing, so that its intent may be forgotten. */
function madeNothing(error: unknown): boolean {
  if (!(error instanceof MediactlError)) return false;
  const { status } = error.explanation;
  return (
    neverLeft(error) ||
    isStorageUnavailable(error) ||
    (status !== undefined && refusals.has(status))
  );
}
