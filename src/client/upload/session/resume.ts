import { isAwaitingUpload } from '../../../contract/assumptions.ts';
import { parseUploadOffset } from '../../../contract/tus.ts';
import { exitCodes } from '../../error-table.ts';
import { MediactlError } from '../../errors.ts';
import { isGone } from '../../http/error-response.ts';
import { digestOf } from '../sources/checksum.ts';
import { fileChanged, isUntouched, sizeChange } from '../sources/source.ts';
import {
  acknowledged,
  assetOf,
  type CompleteEntry,
  type CorruptEntry,
  isCorrupt,
  type OpenEntry,
  type UploadEntry,
} from '../store/upload-entry.ts';
import { confirmPossibleDuplicate } from './find-orphans.ts';
import type { FileOutcome, RunDeps, UploadOptions } from './upload-job.ts';
import type { UploadRun } from './upload-run.ts';

/**
 * Returns the entry to resume from; undefined to create a new session.
 *
 * @throws MediactlError `file_changed` (exit 13) if the file has another size; `creation_unknown` (exit 2)
 */
export async function resumeFrom(
  run: UploadRun,
  entry: UploadEntry | CorruptEntry,
): Promise<OpenEntry | CompleteEntry | undefined> {
  if (run.options.again) {
    await reportAbandonedAsset(run, entry);
    return undefined;
  }
  if (isCorrupt(entry)) {
    const { metadata, source } = run;
    const mayBeWhole = entry.assetUid === undefined;
    await confirmPossibleDuplicate(run, { metadata, sizeBytes: source.sizeBytes, ...entry, mayBeWhole });
    await run.store.remove(entry.id);
    run.notice(`the record of an earlier attempt is unreadable: ${entry.reason}`);
    return undefined;
  }
  if (entry.state === 'open') return resumeSession(run, entry);
  if (entry.state === 'whole') return reuseComplete(run, entry);
  if (entry.state === 'intended') await confirmPossibleDuplicate(run, { ...entry, sizeBytes: entry.file.sizeBytes });
  return undefined;
}

async function reportAbandonedAsset(run: UploadRun, entry: UploadEntry | CorruptEntry): Promise<void> {
  const assetUid = assetOf(entry);
  if (assetUid === undefined) return;
  const isComplete = 'state' in entry && entry.state === 'whole';
  if (!isComplete) await run.recordOrphan(assetUid);
  run.notice(isComplete ? `previously uploaded as asset ${assetUid}` : `asset ${assetUid} stays incomplete`);
}

/** Resumes an open session if the file size is unchanged. The content is checked later, by hashing the prefix. */
function resumeSession(run: UploadRun, entry: OpenEntry): OpenEntry {
  const { source } = run;
  if (entry.file.sizeBytes !== source.sizeBytes)
    throw fileChanged(
      source.path,
      `${entry.offset} bytes of it are already uploaded, but ${sizeChange(entry.file, source)}`,
    );
  run.resumedFrom = entry.offset;
  return entry;
}

/** Returns undefined if the file has changed or the asset no longer exists. */
async function reuseComplete(run: UploadRun, entry: CompleteEntry): Promise<OpenEntry | CompleteEntry | undefined> {
  const isSame = isUntouched(entry.file, run.source.identity) || (await digestOf(run.source)) === entry.blake3;
  if (!isSame) {
    await reportAbandonedAsset(run, entry);
    return undefined;
  }
  const { assetUid } = entry.session;
  try {
    const { status } = await run.deps.api.assets.get(assetUid);
    const reopened = isAwaitingUpload(status) ? await reopenIfBytesLost(run, entry) : undefined;
    if (reopened) return reopened;
  } catch (error) {
    if (isGone(error)) {
      run.notice(`asset ${assetUid} no longer exists; uploading again`);
      return undefined;
    }
    // 403: the API key can write but not read, so the asset's state stays unknown.
    if (!(error instanceof MediactlError) || error.explanation.status !== 403) throw error;
  }
  run.resumedFrom = acknowledged(entry);
  run.notice(`already uploaded as asset ${assetUid}`);
  return entry;
}

/** Returns the entry, reopened at the service's offset, if the service lost acknowledged bytes; else undefined. */
async function reopenIfBytesLost(run: UploadRun, entry: CompleteEntry): Promise<OpenEntry | undefined> {
  const { sizeBytes } = run.source;
  const headers = await run.deps.api.uploadSessions.fetchHeaders(entry.session.url, run.deps.signal);
  const offset = parseUploadOffset(headers?.['upload-offset']);
  if (offset === undefined || offset >= sizeBytes) return undefined;
  run.notice(`the service has ${offset} bytes of asset ${entry.session.assetUid}, but acknowledged ${sizeBytes}`);
  run.resumedFrom = offset;
  const { blake3: _blake3, verified: _verified, serviceBlake3: _serviceBlake3, ...rest } = entry;
  return { ...rest, state: 'open', file: run.source.identity, offset, sentTo: sizeBytes };
}

/** Codes of the errors that `--yes` resolves by creating a new asset. */
const resolvedByNewAsset = new Set<string>(['creation_unknown', 'session_refused', 'session_unknown']);

/** Errors after which the same command would fail again until the user has followed their own hint. */
const codesWithOwnHint = new Set<string>([
  'already_uploading',
  'broken_session',
  'file_gone',
  'session_expired',
  'stdin_size_differs',
]);

/** Adds a hint to the error of a failed upload. The hint names the command that resumes or restarts it. */
export async function withNextStep(
  { job, id, path, uploaded }: FileOutcome,
  error: MediactlError,
  { again: isFromScratch }: UploadOptions,
  { store, spool }: RunDeps,
): Promise<MediactlError> {
  const isState = error.exitCode === exitCodes.state && job.identity === undefined; // its own hint is better
  if (error.exitCode === exitCodes.integrity || isState || id === undefined) return error;
  const entry = store.isInMemory ? undefined : await store.read(id); // no other process finds it
  const resume = `mediactl uploads resume ${id}`;
  const isFromStdin = job.identity !== undefined || job.path === '-';
  const hasOwnHint = codesWithOwnHint.has(error.explanation.code);
  if (job.isSingleRead && !hasOwnHint)
    return error.with({ hint: 'run the same command again with the same input to continue' });
  if (!entry && job.path === '-' && !uploaded)
    return error.with({ hint: `mediactl upload '${path}' --name NAME, to upload the saved input; then delete it` });
  if (!entry || isCorrupt(entry) || hasOwnHint) return error;
  if (resolvedByNewAsset.has(error.explanation.code))
    return isFromStdin
      ? error.with({ hint: `${resume} --yes, to create a new asset and keep the existing one` })
      : error;
  if (entry.state === 'intended') return isFromStdin ? error.with({ hint: combineHints(error, resume) }) : error;
  if (entry.state === 'planned' && error.exitCode === exitCodes.rejected) {
    // The service would reject the file again, so there is nothing to resume.
    await store.remove(id);
    await spool().remove(path);
    return error;
  }
  if (entry.state === 'planned') return error.with({ hint: combineHints(error, resume) });
  const again = isFromStdin || isFromScratch ? resume : `run the same command again, or ${resume}`;
  return error.with({ hint: `${combineHints(error, again)}, to continue` });
}

/** Returns our hint. If the user first has to fix something, such as the key, puts the error's own hint before it. */
function combineHints({ exitCode, explanation: { hint } }: MediactlError, nextStep: string): string {
  const first: number[] = [exitCodes.unauthenticated, exitCodes.quota, exitCodes.forbidden, exitCodes.state];
  if (!hint || !first.includes(exitCode)) return nextStep;
  return `${hint.replace(/[,;] then run (?:it|the same command) again$/, '')}; then ${nextStep}`;
}
