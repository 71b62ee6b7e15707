import { openChecksum } from '../sources/checksum.ts';
import { PrefixDigest } from '../sources/prefix-digest.ts';
import type { CompleteEntry, OpenEntry } from '../store/journal-entry.ts';
import { completeEntry, findSuspectedChange } from './send-file.ts';
import { createUpload } from './session-creation.ts';
import {
  checkCompleteness,
  type SessionGoneError,
  sessionExpired,
  sessionRefused,
  sessionUnknown,
} from './session-gone.ts';
import type { UploadRun } from './upload-run.ts';

/**
 * Recovers from a session that the service no longer knows, or never knew. If its asset holds the complete file,
 * completes the upload; otherwise creates a new session. Ignores the expiry time because clocks might be wrong.
 *
 * @throws MediactlError `session_refused`, `session_expired` or `session_unknown` (exit 3); each names the asset
 */
export async function recoverFromGoneSession(
  run: UploadRun,
  entry: OpenEntry,
  { underlying, hasResponded, isAllSent }: SessionGoneError,
): Promise<OpenEntry | CompleteEntry> {
  const { confirmNewAsset } = run.deps;
  // The session was created by this run, and the service did not know it on first use.
  const isRefused = run.sessionsCreated > 0 && !hasResponded;
  // A session that the service has never known, not even in an earlier run, has received no bytes.
  const mayBeComplete = isAllSent && (hasResponded || !entry.isRefused);
  const assetContent = isRefused && !mayBeComplete ? 'unfinished' : await checkCompleteness(run, entry, mayBeComplete);
  if (assetContent === 'complete') return completeWithoutSession(run, entry);
  if (isRefused && assetContent !== 'unknown') {
    await run.journal.write({ ...entry, isRefused: true });
    throw sessionRefused(entry, underlying);
  }
  // Replace a lost session only once per run, or a service that loses every session would get endless assets.
  if (run.sessionsCreated > 1) throw sessionRefused(entry, underlying);
  if (run.options.onExpired === 'fail') throw sessionExpired(entry, underlying);
  const { assetUid } = entry.session;
  if (assetContent === 'unknown') await confirmNewAsset(sessionUnknown(entry, underlying), [assetUid]);
  else if (entry.isRefused) await confirmNewAsset(sessionRefused(entry, underlying), [assetUid]);
  if (assetContent !== 'gone') await run.recordOrphan(assetUid);
  run.notice(
    assetContent === 'gone'
      ? `the upload session and its asset ${assetUid} are gone; starting again`
      : `the upload session is gone; starting again. Asset ${assetUid} stays unfinished`,
  );
  return createUpload(run, entry);
}

/** Completes an upload whose session is gone. Hashes the file, because the receipt needs its digest. */
async function completeWithoutSession(run: UploadRun, entry: OpenEntry): Promise<CompleteEntry> {
  const suspectedChange = findSuspectedChange(run, entry, run.source.sizeBytes);
  const digest = new PrefixDigest(run.source, await openChecksum(), entry.prefix);
  await digest.catchUp(run.source.sizeBytes);
  await digest.assertUnchanged();
  return completeEntry(run, entry, digest.current().blake3, { verified: null }, suspectedChange);
}
