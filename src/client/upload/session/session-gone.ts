import { classifyStatus, isAwaitingUpload } from '../../../contract/assumptions.ts';
import { asNumber } from '../../../contract/json-values.ts';
import type { Asset } from '../../../contract/types.ts';
import { waitForAssets } from '../../api/wait-for-assets.ts';
import { MediactlError } from '../../errors.ts';
import { isGone } from '../../http/error-response.ts';
import { digestOf } from '../sources/checksum.ts';
import type { CompleteEntry, OpenEntry } from '../store/upload-entry.ts';
import { completeEntry, findSuspectedChange } from './send-file.ts';
import { createUpload } from './session-creation.ts';
import type { SessionGoneError } from './transfer.ts';
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
  // The session was created by this run, and the service did not know it on first use.
  const isRefused = run.sessionsCreated > 0 && !hasResponded;
  // A session that the service has never known, not even in an earlier run, has received no bytes.
  const mayBeComplete = isAllSent && (hasResponded || !entry.isRefused);
  const content = isRefused && !mayBeComplete ? 'unfinished' : await checkCompleteness(run, entry, mayBeComplete);
  if (content === 'complete') return completeWithoutSession(run, entry);
  if (isRefused && content !== 'unknown') {
    await run.store.write({ ...entry, isRefused: true });
    throw sessionGone(entry, 'session_refused', underlying);
  }
  // Replace a lost session only once per run, or a service that loses every session would get endless assets.
  if (run.sessionsCreated > 1) throw sessionGone(entry, 'session_refused', underlying);
  if (run.options.onExpired === 'fail') throw sessionGone(entry, 'session_expired', underlying);
  const { assetUid } = entry.session;
  const doubt = content === 'unknown' ? 'session_unknown' : entry.isRefused ? 'session_refused' : undefined;
  if (doubt) await run.deps.confirmNewAsset(sessionGone(entry, doubt, underlying), [assetUid]);
  if (content !== 'gone') await run.recordOrphan(assetUid);
  run.notice(
    content === 'gone'
      ? `the upload session and its asset ${assetUid} no longer exist; starting over`
      : `the upload session no longer exists; starting over (asset ${assetUid} stays incomplete)`,
  );
  return createUpload(run, entry);
}

/** Completes an upload whose session is gone. Hashes the file, because the receipt needs its digest. */
async function completeWithoutSession(run: UploadRun, entry: OpenEntry): Promise<CompleteEntry> {
  const suspectedChange = findSuspectedChange(run, entry, run.source.sizeBytes);
  const blake3 = await digestOf(run.source, entry.prefix);
  return completeEntry(run, entry, { blake3, verdict: { verified: null }, lastChunkStart: 0, suspectedChange });
}

/** @param isAllSent false if this machine has not sent all bytes, so that only another run can have completed the asset */
async function checkCompleteness(
  run: UploadRun,
  { session, offset, file }: OpenEntry,
  isAllSent: boolean,
): Promise<'complete' | 'unfinished' | 'gone' | 'unknown'> {
  const { assets, transport } = run.deps.api;
  const { assetUid } = session;
  let asset: Asset;
  try {
    asset = await assets.get(assetUid);
  } catch (error) {
    if (isGone(error)) return 'gone';
    // 403: the API key can write but not read, so the asset's state is unknown.
    if (!(error instanceof MediactlError) || error.explanation.status !== 403) throw error;
    return isAllSent ? 'unknown' : 'unfinished';
  }
  const { status, size } = asset;
  // The state folder might be an old copy, and a later run has sent the rest.
  const isFinishedElsewhere = classifyStatus(status) === 'ready' && asNumber(size) === file.sizeBytes;
  if (!isAllSent) return isFinishedElsewhere ? 'unknown' : 'unfinished';
  if (isAwaitingUpload(status)) return 'unfinished';
  if (offset === file.sizeBytes || classifyStatus(status) === 'ready') return 'complete';
  // Some services report `queued` before the first byte arrives, so only a ready asset counts as complete.
  run.notice(`the upload session no longer exists; waiting until asset ${assetUid} is ready`);
  const options = { clock: transport.clock, timeoutMs: 120_000, signal: run.deps.signal };
  const settled = await waitForAssets(assets, [assetUid], options);
  return settled.get(assetUid) instanceof MediactlError ? 'unknown' : 'complete';
}

const explanations = {
  session_expired: {
    reason: 'upload sessions expire after 24 hours; the asset stays incomplete',
    hint: 'run the same command without --on-expired fail to start over',
  },
  /** The service forgot the session right after its creation. Retries would pile up assets. */
  session_refused: {
    reason: 'the service created it but did not recognize it on first use',
    hint: 'check the base URL and any proxy; --yes creates a new asset and keeps that one',
  },
  session_unknown: {
    reason: 'the last response was lost, and the asset does not show whether it has the whole file',
    hint: 'mediactl get ID, to check it; --yes starts over and keeps that asset',
  },
};

function sessionGone({ session }: OpenEntry, code: keyof typeof explanations, underlying: unknown): MediactlError {
  const { reason, hint } = explanations[code];
  return new MediactlError(`the upload session of asset ${session.assetUid} no longer exists`, {
    code,
    reason,
    underlying,
    hint: hint.replace('ID', session.assetUid),
    details: { asset_uid: session.assetUid },
  });
}
