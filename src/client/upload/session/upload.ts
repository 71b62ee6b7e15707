import { sessionLifetimeMs } from '../../../contract/tus.ts';
import { asObject, asText } from '../../../shared/json-values.ts';
import { retryUntil } from '../../../shared/retry.ts';
import type { Api } from '../../api/api.ts';
import { writesOf } from '../../api/writes.ts';
import { asCodedError, CodedError } from '../../errors.ts';
import { isRetryable, isUnanswered } from '../../http/error-response.ts';
import { wasNotSent } from '../../http/network-error.ts';
import { hasSentContent } from '../decide/by-entry.ts';
import {
  hasChange,
  type KeepDecision,
  type ResumeDecision,
  type SendDecision,
  saveRecords,
} from '../decide/decision.ts';
import type { UploadSettings } from '../decide/upload-settings.ts';
import { digestOf } from '../sources/checksum.ts';
import { describeChange, fileTimesOf } from '../sources/file-identity.ts';
import { fileChanged } from '../sources/source.ts';
import { givenMetadataOf, type TargetedFile } from '../sources/upload-file.ts';
import type { CompleteEntry, IntendedEntry, OpenEntry, UploadEntry } from '../store/upload-entry.ts';
import { type Evidence, readEvidence } from './evidence.ts';
import { toUploaded, type Uploaded } from './file-outcome.ts';
import { claimMoved, noteNotResumed } from './moved-upload.ts';
import { maxTries, SessionGoneError, send } from './send.ts';
import type { FilePorts } from './session-ports.ts';
import { UploadRun } from './upload-run.ts';
import { checksumMismatch, completeEntry, unverifiedError } from './verify.ts';

// One upload is a state machine. The state is that of its entry in the upload store (`UploadEntry`): none or `planned`,
// `intended`, `open`, `whole`; then a receipt replaces the entry. Each state is on disk before the request that might
// lead out of it, so that a killed run has stopped in one of these states. docs/architecture.md has the transitions.

/** Part of an upload that is lost: its session, a session that never responded, or the receipt. */
type Loss = 'session' | 'refused session' | 'receipt';

/** Step after a loss: `ask` asks the user before it creates a new asset. */
type RecoveryStep = 'create' | 'ask' | 'send' | 'finish';

/**
 * The recovery rule: the step after a loss, by what the service shows of the asset. There is no row for a lost response
 * to a creation: the asset is then always created again, because no byte was sent to the first one.
 */
export const recovery: Record<Loss, Record<Evidence, RecoveryStep>> = {
  session: { none: 'create', part: 'create', whole: 'finish', unclear: 'ask' },
  'refused session': { none: 'ask', part: 'ask', whole: 'finish', unclear: 'ask' },
  receipt: { none: 'create', part: 'send', whole: 'finish', unclear: 'finish' },
};

/** Resolves once the receipt is on disk, or with the error of writing it. The next upload does not wait for it. */
export type PersistResult = Promise<CodedError | undefined>;
type SendResult = {
  uploaded: Uploaded;
  persisted: PersistResult;
  /** Present if nothing was sent. A change of the asset is left to the run. */
  kept?: KeepDecision;
};

/**
 * Opens a file for upload (`upload`). The caller closes its source.
 *
 * @throws CodedError if the file does not exist or cannot be read
 */
export async function openUpload(file: TargetedFile, options: UploadSettings, deps: FilePorts): Promise<UploadRun> {
  const source = await deps.openSource(file.stream?.spoolPath ?? file.path, file.realPath);
  return new UploadRun(source, file, options, deps);
}

/**
 * Uploads an opened file, and resumes where an earlier run stopped. Holds its lock, so that only one process at a time sends
 * the file.
 *
 * @throws CodedError if the upload fails; a later run can resume it
 */
export async function upload(run: UploadRun): Promise<SendResult> {
  const release = await run.store.lock(run.id);
  try {
    const { uploaded, persisted, kept } = await uploadFile(run);
    if (uploaded.verified === null && run.options.requireChecksum)
      throw (await persisted) ?? unverifiedError(uploaded.assetUid);
    return { uploaded, persisted: persisted.finally(release), ...(kept && { kept }) };
  } catch (error) {
    await release();
    throw error;
  }
}

async function uploadFile(run: UploadRun): Promise<SendResult> {
  const { deps } = run;
  // Decide again, since another run might have uploaded the file after this run made its plan.
  const decision = await deps.decide(run, deps.api);
  if ('records' in decision && !hasChange(decision)) await saveRecords(deps, decision.records ?? []);
  if (decision.action === 'keep') {
    const uploaded = toUploaded(decision.receipt, decision.outcome);
    return { uploaded, persisted: Promise.resolve(undefined), kept: decision };
  }
  run.start();
  const found = await takeEntry(run, decision);
  // The spool file is the only copy of stdin. Record it now, so that it can be found after any failure.
  if (!found && run.file.stream !== undefined) await run.store.write(run.planned());
  const isResumed = decision.action === 'resume';
  let entry = found ? await continueFrom(run, found, isResumed) : await create(run);
  while (entry.state === 'open') entry = await sendOrRecover(run, entry);
  const uploaded = await finish(run, entry);
  return { uploaded, persisted: saveReceipt(run, uploaded, entry) };
}

/** Returns the entry to continue from, if there is one. */
async function takeEntry(run: UploadRun, decision: SendDecision | ResumeDecision): Promise<UploadEntry | undefined> {
  if (decision.action === 'send') {
    for (const entry of decision.similar ?? []) noteNotResumed(run, entry);
    return decision.entry;
  }
  return decision.isMoved ? claimMoved(run, decision.entry) : decision.entry;
}

/** Continues from the state that an earlier run left. @param isResumed false to replace the asset that it has created */
async function continueFrom(
  run: UploadRun,
  entry: UploadEntry,
  isResumed: boolean,
): Promise<OpenEntry | CompleteEntry> {
  if (entry.state === 'intended') await run.recordLostCreation(entry);
  if (entry.state === 'planned' || entry.state === 'intended') return create(run);
  if (!isResumed) return replaceAsset(run, entry);
  run.assetUid = entry.session.assetUid;
  if (entry.state === 'whole') return reuseComplete(run, entry);
  run.resumedFrom = entry.offset;
  return entry;
}

/** Creates a new asset, and names the one that an earlier run has created. */
async function replaceAsset(run: UploadRun, entry: OpenEntry | CompleteEntry): Promise<OpenEntry> {
  const { assetUid } = entry.session;
  if (entry.state === 'open') {
    await run.recordOrphan(assetUid);
    run.notice(`asset ${assetUid} stays incomplete`);
  } else if (entry.verified === false) run.notice(`asset ${assetUid} stays, which does not match the file`);
  else run.notice(`previously uploaded as asset ${assetUid}`);
  return create(run);
}

/** Continues an upload whose bytes were all acknowledged, but which has no receipt. */
async function reuseComplete(run: UploadRun, entry: CompleteEntry): Promise<OpenEntry | CompleteEntry> {
  const { source } = run;
  if (!(await hasSentContent(entry, run))) return replaceAsset(run, entry);
  const { assetUid } = entry.session;
  const step = recovery.receipt[await readEvidence(run, assetUid, { mayBeWhole: true, isAcknowledged: true })];
  if (step === 'create') {
    run.notice(`asset ${assetUid} no longer exists; uploading again`);
    return create(run);
  }
  run.resumedFrom = source.sizeBytes;
  if (step === 'send') {
    run.notice(`asset ${assetUid} still waits for bytes that the service acknowledged`);
    const { blake3: _blake3, verified: _verified, serviceBlake3: _serviceBlake3, ...rest } = entry;
    return { ...rest, state: 'open', file: source.identity, offset: source.sizeBytes, mayBeWhole: true };
  }
  run.notice(`already uploaded as asset ${assetUid}`);
  return entry;
}

/** Maximum number of lost responses after which a run creates again. Each might leave an empty asset. */
const maxLostCreations = 2;

/**
 * Creates the asset and its upload session. Creates them again after a lost response.
 *
 * @param previousEntry entry of the lost session to replace; kept if the service has created nothing
 */
const create = (run: UploadRun, previousEntry?: OpenEntry): Promise<OpenEntry> =>
  run.deps.firstCreation.run(() => createNow(run, previousEntry), run.deps.signal);

async function createNow(run: UploadRun, previousEntry: OpenEntry | undefined): Promise<OpenEntry> {
  const { source, metadata, options, store, deps } = run;
  const { api, signal } = deps;
  const { clock } = api.transport;
  const intended: IntendedEntry = { ...run.planned(), state: 'intended' };
  await store.write(intended); // for crash recovery
  signal.throwIfAborted();
  try {
    const created = await retryUntil(signal, () => api.uploadSessions.create(source.sizeBytes, metadata, signal), {
      clock,
      delayAfter: async (error, attempt) => {
        const isLost = !hasCreatedNothing(error) && isRetryable(error) && run.lostCreations < maxLostCreations;
        if (!isLost && (!isStorageUnavailable(error) || attempt + 1 >= maxTries)) return undefined;
        if (isLost) {
          run.lostCreations++;
          await run.recordLostCreation(intended);
          if (isUnanswered(error)) return untilAnswered(api, error, signal).then(() => 0);
        }
        return api.transport.waitBeforeRetry(attempt, error as CodedError, signal).then(() => 0);
      },
    });
    const { uid, sessionUrl: url, assetUid } = created;
    // "sessions expire after 24 hours" (§2), if the service sends no time
    const expiresAt = created.expiresAt ?? new Date(clock.now() + sessionLifetimeMs).toISOString();
    const session = { uid, url, assetUid, expiresAt };
    const mayBeWhole = source.sizeBytes <= options.chunkBytes;
    const entry: OpenEntry = { ...intended, state: 'open', session, offset: 0, mayBeWhole };
    run.assetUid = assetUid;
    run.sessionsCreated++;
    run.resumedFrom = null;
    await store.write(entry);
    run.emit({ event: 'created', asset_uid: assetUid, session_uid: uid });
    return entry;
  } catch (error) {
    const unusable = unusableAsset(error);
    if (unusable !== undefined) {
      await run.recordOrphan(unusable);
      run.notice(`asset ${unusable} stays empty`, ['list_orphans']);
    } else if (!hasCreatedNothing(error)) throw error;
    if (previousEntry) await store.write(previousEntry);
    else if (run.file.stream !== undefined)
      await store.write(run.planned()); // names the only copy of stdin
    else await store.remove(run.id);
    throw error;
  }
}

/**
 * Waits until the service answers a read, since each creation without an answer may leave an empty asset.
 *
 * @throws `failure` once the outage is longer than it may be
 */
async function untilAnswered(api: Api, failure: CodedError, signal: AbortSignal): Promise<void> {
  for (let failures = 0; ; failures++) {
    await api.transport.waitOutOutage(failures, failure, signal);
    const error = await api.workspaces
      .list()
      .next()
      .then(() => undefined, asCodedError);
    signal.throwIfAborted();
    if (!error || !isUnanswered(error)) return;
  }
}

/** Matches "503 storage not configured or temporarily unavailable, text/plain" (§4), which no gateway sends. */
const isStorageUnavailable = (error: unknown): error is CodedError =>
  error instanceof CodedError && error.explanation.status === 503 && error.explanation.isPlainText === true;

/** Status codes with which a service or gateway rejects a request without acting on it. */
const rejectionStatuses = new Set([
  ...[400, 401, 402, 403, 404, 405, 407, 410, 411, 412, 413, 414, 415, 417, 421, 422, 426, 429],
  ...[431, 451, 501, 505, 507, 511],
]);

/** Returns true if a failed creation certainly made no asset, so that its intent can be removed. */
function hasCreatedNothing(error: unknown): boolean {
  if (!(error instanceof CodedError)) return false;
  const { status, code } = error.explanation;
  // The rate limiter of this machine ends a request before it is sent.
  if (code === 'rate_limited' || wasNotSent(error) || isStorageUnavailable(error)) return true;
  return status !== undefined && rejectionStatuses.has(status);
}

/** Returns the asset of a creation whose response names it, but no session that can be used. */
function unusableAsset(error: unknown): string | undefined {
  const { asset_uid } = asObject(error instanceof CodedError ? error.explanation.details : undefined);
  return asText(asset_uid);
}

async function sendOrRecover(run: UploadRun, entry: OpenEntry): Promise<OpenEntry | CompleteEntry> {
  try {
    return await send(run, entry);
  } catch (error) {
    if (error instanceof SessionGoneError) return recoverFromGoneSession(run, entry, error);
    if (run.resumedFrom === null || !isFileChanged(error)) throw error;
    await run.source.assertUnchanged(); // a file that changes now is left until it stands still
    return replaceAsset(run, entry);
  }
}

const isFileChanged = (error: unknown) => error instanceof CodedError && error.explanation.code === 'file_changed';

/**
 * Recovers from a session that the service no longer knows, or never knew. Ignores the expiry time because clocks might
 * be wrong.
 *
 * @throws CodedError `session_unknown` (exit 3); `file_changed` (exit 13); each names the asset
 */
async function recoverFromGoneSession(
  run: UploadRun,
  entry: OpenEntry,
  gone: SessionGoneError,
): Promise<OpenEntry | CompleteEntry> {
  const { assetUid } = entry.session;
  const { underlying, hasResponded } = gone;
  // The session was created by this run, and the service did not know it on first use.
  const isRefused = run.sessionsCreated > 0 && !hasResponded;
  // A session that the service has never known, not even in an earlier run, has received no bytes.
  const mayBeWhole = gone.mayBeWhole && (hasResponded || !entry.isRefused);
  const isAcknowledged = entry.offset === run.source.sizeBytes;
  const evidence =
    isRefused && !mayBeWhole ? 'part' : await readEvidence(run, assetUid, { mayBeWhole, isAcknowledged });
  const step = recovery[entry.isRefused ? 'refused session' : 'session'][evidence];
  if (step === 'finish') {
    const change = describeChange(entry.file, run.source.identity);
    // Without the session, no checksum shows which version the asset has.
    if (change) throw fileChanged(run.source.path, `${change} after it was uploaded to asset ${assetUid}`);
    // The receipt needs the file's digest.
    const blake3 = await digestOf(run.source, entry.prefix);
    return completeEntry(run, entry, { blake3, verdict: { verified: null }, lastChunkStart: 0 });
  }
  if (isRefused && evidence !== 'unclear') {
    await run.store.write({ ...entry, isRefused: true });
    throw sessionGone(entry, 'refused', underlying);
  }
  // Replace a lost session only once per run, or a service that loses every session would get endless assets.
  if (run.sessionsCreated > 1) throw sessionGone(entry, 'refused', underlying);
  const doubt = evidence === 'unclear' ? 'unclear' : 'refused';
  if (step === 'ask') await run.deps.confirmNewAsset(sessionGone(entry, doubt, underlying), [assetUid]);
  if (evidence !== 'none') await run.recordOrphan(assetUid);
  run.notice(
    evidence === 'none'
      ? `the upload session and its asset ${assetUid} no longer exist; starting over`
      : `the upload session no longer exists; starting over (asset ${assetUid} stays incomplete)`,
  );
  return create(run, entry);
}

const lossReasons = {
  /** The service forgot the session right after its creation. Retries would pile up assets. */
  refused: 'the service created it but did not recognize it on first use',
  unclear: 'the last response was lost, and the asset does not show whether it has the whole file',
};

const sessionGone = ({ session }: OpenEntry, loss: keyof typeof lossReasons, underlying: unknown) =>
  new CodedError(`the upload session of asset ${session.assetUid} no longer exists`, {
    code: 'session_unknown',
    reason: lossReasons[loss],
    underlying,
    remedy: ['confirm_new_asset', session.assetUid],
    details: { asset_uid: session.assetUid },
  });

async function finish(run: UploadRun, entry: CompleteEntry): Promise<Uploaded> {
  const { id, shownPath, file, deps, metadata, source, bytesSent, resumedFrom } = run;
  const { blake3, verified, session } = entry;
  const { assetUid, uid: sessionUid } = session;
  const { assets } = writesOf(deps.api);
  if (verified === false) {
    // The bytes of stdin are only in the spool file, which the entry names.
    throw checksumMismatch(shownPath, file.stream === undefined ? undefined : ['resume_upload', id, 'replaced'], entry);
  }
  const fields = run.fieldsToSet(entry);
  if (Object.keys(fields).length > 0) await assets.update(assetUid, fields);
  run.emit({ event: 'uploaded', asset_uid: assetUid, blake3, verified });
  const name = metadata.asset_name ?? metadata.filename;
  const counts = { sizeBytes: source.sizeBytes, bytesSent, resumedFrom };
  return { how: 'uploaded', state: 'unchecked', assetUid, sessionUid, name, ...counts, blake3, verified };
}

/** Replaces the entry with the receipt. */
async function saveReceipt(run: UploadRun, uploaded: Uploaded, entry: CompleteEntry): PersistResult {
  try {
    const at = new Date(run.deps.api.transport.clock.now()).toISOString();
    const times = fileTimesOf(run.source.identity);
    const about = givenMetadataOf(run.file, {});
    await run.store.finish(entry, { ...run.key, ...uploaded, ...times, reason: null, about, at });
    return undefined;
  } catch (error) {
    return asCodedError(error); // the next run finds the entry, or the receipt if only its sync failed
  }
}
