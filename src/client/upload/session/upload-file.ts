import { asMediactlError, type MediactlError } from '../../errors.ts';
import type { CompleteEntry, OpenEntry } from '../store/upload-entry.ts';
import { fileTimesOf, findReceiptByContent, findReceiptByPath } from './receipt-lookup.ts';
import { checksumMismatch, sendFile, unverifiedError } from './send-file.ts';
import { createUpload } from './session-creation.ts';
import { SessionGoneError } from './transfer.ts';
import type { UploadDeps, Uploaded, UploadJob, UploadOptions } from './upload-job.ts';
import { UploadRun } from './upload-run.ts';

/** Upload of one opened file, which resumes where an earlier run stopped. */
export type OpenedUpload = {
  id: string;
  /** @throws MediactlError if the upload fails; a later run can resume it */
  run(): Promise<SendResult>;
  /** Bytes that were sent so far. */
  readonly bytesSent: number;
  close(): Promise<void>;
};

/** Resolves once the receipt is on disk, or with the error of writing it. The next upload does not wait for it. */
export type PersistResult = Promise<MediactlError | undefined>;
type SendResult = { uploaded: Uploaded; persisted: PersistResult };

/** Opens a file for upload. @throws MediactlError if the file does not exist or cannot be read */
export async function openUpload(job: UploadJob, options: UploadOptions, deps: UploadDeps): Promise<OpenedUpload> {
  const source = await deps.openSource(job.path, job.sourceId);
  const run = new UploadRun(source, job, options, deps);
  return {
    id: run.id,
    run: () => uploadLocked(run),
    get bytesSent() {
      return run.bytesSent;
    },
    close: () => source.close(),
  };
}

/** Runs an upload while holding its lock, so that only one process at a time sends the file. */
async function uploadLocked(run: UploadRun): Promise<SendResult> {
  const release = await run.store.lock(run.id);
  try {
    const { uploaded, persisted } = await uploadFile(run);
    return { uploaded, persisted: persisted.finally(release) };
  } catch (error) {
    await release();
    throw error;
  }
}

async function uploadFile(run: UploadRun): Promise<SendResult> {
  const previous = await findPrevious(run);
  const onDisk = Promise.resolve(undefined);
  const result = 'how' in previous ? { uploaded: previous, persisted: onDisk } : await send(run, previous.entry);
  if (result.uploaded.verified === null && run.options.requireChecksum)
    throw (await result.persisted) ?? unverifiedError(result.uploaded.assetUid);
  return result;
}

async function send(run: UploadRun, existing: OpenEntry | CompleteEntry | undefined): Promise<SendResult> {
  let entry = existing ?? (await createUpload(run));
  while (entry.state === 'open') entry = await sendOrRecover(run, entry);
  const uploaded = await finish(run, entry);
  return { uploaded, persisted: saveReceipt(run, uploaded, entry) };
}

/** Returns the finished upload of this file if a receipt proves it, else the entry to resume from, if any. */
async function findPrevious(run: UploadRun): Promise<Uploaded | { entry: OpenEntry | CompleteEntry | undefined }> {
  const { again } = run.options;
  // Check the receipts again, since another run might have uploaded the file after this run made its plan.
  // An upload resumed by its id is unfinished, whatever receipts exist for its file.
  const before = again || run.job.id !== undefined ? undefined : await findReceiptByPath(run);
  if (before) return before;
  run.emit({ event: 'started', size_bytes: run.source.sizeBytes });
  if (run.source.sizeBytes === 0) run.notice('the file is empty');
  let found = await run.store.read(run.id);
  const duplicate = found || again ? undefined : await findReceiptByContent(run);
  if (duplicate) return duplicate;
  if (!found && !again) found = await run.deps.findResumable?.(run.planned(), run.source, run.notice.bind(run));
  // The spool file is the only copy of stdin. Record it now, so that it can be found after any failure.
  if (!found && run.job.identity !== undefined) await run.store.write(run.planned());
  if (!found) return { entry: undefined };
  const { resumeFrom } = await import('./resume.ts');
  return { entry: await resumeFrom(run, found) };
}

async function sendOrRecover(run: UploadRun, entry: OpenEntry): Promise<OpenEntry | CompleteEntry> {
  try {
    return await sendFile(run, entry);
  } catch (error) {
    if (!(error instanceof SessionGoneError)) throw error;
    const { recoverFromGoneSession } = await import('./session-gone.ts');
    return recoverFromGoneSession(run, entry, error);
  }
}

async function finish(run: UploadRun, entry: CompleteEntry): Promise<Uploaded> {
  const { id, label, job, deps, metadata, source, bytesSent, resumedFrom } = run;
  const { blake3, verified, session } = entry;
  const { assetUid, uid: sessionUid } = session;
  const { assets } = deps.api;
  if (verified === false) {
    // The bytes of stdin are only in the spool file, which the entry names.
    const resend = job.identity === undefined ? `upload --again '${label}'` : `uploads resume ${id} --again`;
    throw checksumMismatch(label, `mediactl ${resend}`, entry);
  }
  if (job.tags && job.tags.length > 0) await assets.update(assetUid, assets.tagFields(job.tags));
  run.emit({ event: 'uploaded', asset_uid: assetUid, blake3, verified });
  const name = metadata.asset_name ?? metadata.filename;
  const counts = { sizeBytes: source.sizeBytes, bytesSent, resumedFrom };
  return { how: 'uploaded', state: 'pending', assetUid, sessionUid, name, ...counts, blake3, verified };
}

/** Replaces the entry with the receipt. */
async function saveReceipt(run: UploadRun, uploaded: Uploaded, entry: CompleteEntry): PersistResult {
  try {
    const at = new Date(run.deps.api.transport.clock.now()).toISOString();
    const times = fileTimesOf(run.source.identity);
    await run.store.finish(entry, { ...run.receiptKey, ...uploaded, ...times, reason: null, at });
    return undefined;
  } catch (error) {
    return asMediactlError(error); // the next run finds the entry, or the receipt if only its sync failed
  }
}
