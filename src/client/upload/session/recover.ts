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
 * The service does not know a session any more, or never did. Its asset tells whether that was the
 * end of a whole upload, or whether to begin a new one; a clock tells nothing.
 *
 * @throws MediactlError `session_refused`, `session_expired`, `session_unknown` (3), each naming the asset
 */
export async function recoverFromGoneSession(
  run: UploadRun,
  entry: Open,
  { underlying, wasThere, isAllSent }: SessionGone,
): Promise<Open | Whole> {
  const { confirmNewAsset } = run.tools;
  // Of this run's own making, and not known the first time that it was used.
  const isRefused = run.sessionsCreated > 0 && !wasThere;
  // A session that the service never knew, in an earlier run either, took nothing.
  const mayBeWhole = isAllSent && (wasThere || !entry.isRefused);
  const held = isRefused && !mayBeWhole ? 'unfinished' : await assetState(run, entry, mayBeWhole);
  if (held === 'whole') return wholeWithoutSession(run, entry);
  if (isRefused && held !== 'unknown') {
    await run.page.write({ ...entry, isRefused: true });
    throw refusedSession(entry, underlying);
  }
  // One new session in place of one that is gone; a second one would be a service that forgets all.
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

/** Nobody names a checksum any more: the file is hashed for whoever compares. */
async function wholeWithoutSession(run: UploadRun, entry: Open): Promise<Whole> {
  const doubt = doubtOf(run, entry, run.source.sizeBytes);
  const digest = new PrefixDigest(run.source, await openChecksum(), entry.prefix);
  await digest.catchUp(run.source.sizeBytes);
  await digest.assertUnchanged();
  return wholeEntry(run, entry, digest.current().blake3, { verified: null }, doubt);
}
