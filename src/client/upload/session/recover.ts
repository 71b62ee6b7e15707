import { openChecksum } from '../sources/checksum.ts';
import { PrefixDigest } from '../sources/prefix-digest.ts';
import type { Open, Whole } from '../store/journal-entry.ts';
import { createUpload } from './creation.ts';
import { doubtOf, wholeEntry } from './send-file.ts';
import {
  assetState,
  expired,
  maybeWhole,
  refusedSession,
  type SessionGone,
} from './session-gone.ts';
import type { UploadRun } from './upload-run.ts';

/**
 * Recovers from a session that the service no longer knows, or never knew. The state of its asset decides
 * between a complete upload and a new session. The expiry time is not used: clocks may be wrong.
 *
 * @throws MediactlError `session_refused`, `session_expired`, `session_unknown` (3), each naming the asset
 */
export async function recoverFromGoneSession(
  run: UploadRun,
  entry: Open,
  { underlying, wasThere, isAllSent }: SessionGone,
): Promise<Open | Whole> {
  const { confirmNewAsset } = run.tools;
  // Created by this run and unknown to the service on first use.
  const isRefused = run.sessionsCreated > 0 && !wasThere;
  // A session that the service has never known, in an earlier run either, received no bytes.
  const mayBeWhole = isAllSent && (wasThere || !entry.isRefused);
  const held = isRefused && !mayBeWhole ? 'unfinished' : await assetState(run, entry, mayBeWhole);
  if (held === 'whole') return wholeWithoutSession(run, entry);
  if (isRefused && held !== 'unknown') {
    await run.page.write({ ...entry, isRefused: true });
    throw refusedSession(entry, underlying);
  }
  // Replace a lost session only once a run: a service that loses every session would get endless assets.
  if (run.sessionsCreated > 1) throw refusedSession(entry, underlying);
  if (run.options.onExpired === 'fail') throw expired(entry, underlying);
  const { assetUid } = entry.session;
  if (held === 'unknown') await confirmNewAsset(maybeWhole(entry, underlying), [assetUid]);
  else if (entry.isRefused) await confirmNewAsset(refusedSession(entry, underlying), [assetUid]);
  if (held !== 'gone') await run.leaveBehind(assetUid);
  run.notice(
    held === 'gone'
      ? `the upload session and its asset ${assetUid} are gone; starting again`
      : `the upload session is gone; starting again. Asset ${assetUid} stays unfinished`,
  );
  return createUpload(run, entry);
}

/** Completes an upload whose session is gone and thus reports no checksum: hashes the file for the receipt. */
async function wholeWithoutSession(run: UploadRun, entry: Open): Promise<Whole> {
  const doubt = doubtOf(run, entry, run.source.sizeBytes);
  const digest = new PrefixDigest(run.source, await openChecksum(), entry.prefix);
  await digest.catchUp(run.source.sizeBytes);
  await digest.assertUnchanged();
  return wholeEntry(run, entry, digest.current().blake3, { verified: null }, doubt);
}
