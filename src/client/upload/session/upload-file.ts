import { asMediactlError, type MediactlError } from '../../errors.ts';
import type { Open, Whole } from '../store/journal-entry.ts';
import { createUpload } from './creation.ts';
import type { Uploaded, UploadJob, UploadOptions, UploadTools } from './job.ts';
import { sentBefore, thereBefore, versionOf } from './known.ts';
import { recoverFromGoneSession } from './recover.ts';
import { continueFrom } from './resume.ts';
import { sendFile } from './send-file.ts';
import { SessionGone } from './session-gone.ts';
import { UploadRun } from './upload-run.ts';
import { mismatch, unverified } from './verification.ts';

/** The upload of one file up to a verified asset. It resumes where an earlier run stopped. */
export type OpenedUpload = {
  /** Id of the journal entry. */
  id: string;
  /** @throws MediactlError; the journal entry allows a later run to resume */
  run(): Promise<Sent>;
  close(): Promise<void>;
};

/**
 * Resolves once the receipt of a complete upload is on disk, with the error if it could not be written.
 * The next file does not wait for it.
 */
export type Settled = Promise<MediactlError | undefined>;
type Sent = { uploaded: Uploaded; settled: Settled };

/** Opens a file for upload. @throws MediactlError if the file does not exist or cannot be read */
export async function openUpload(
  job: UploadJob,
  options: UploadOptions,
  tools: UploadTools,
): Promise<OpenedUpload> {
  const source = await tools.openSource(job.path, job.knownAs);
  const run = new UploadRun(source, job, options, tools);
  return { id: run.id, run: () => uploadLocked(run), close: () => source.close() };
}

/** Runs an upload under its lock, so that only one process at a time sends it. */
async function uploadLocked(run: UploadRun): Promise<Sent> {
  const release = await run.page.lock();
  try {
    const { uploaded, settled } = await sent(run);
    return { uploaded, settled: settled.finally(release) };
  } catch (error) {
    await release();
    throw error;
  }
}

async function sent(run: UploadRun): Promise<Sent> {
  const known = await knownOf(run);
  if ('how' in known)
    return { uploaded: accepted(run, known), settled: Promise.resolve(undefined) };
  let entry = known.entry ?? (await createUpload(run));
  while (entry.state === 'open') entry = await sentOrNext(run, entry);
  const uploaded = await concluded(run, entry);
  const settled = keepReceipt(run, uploaded, entry);
  if (uploaded.verified === null && run.options.requireChecksum) {
    const unkept = await settled;
    if (unkept) throw unkept;
  }
  return { uploaded: accepted(run, uploaded), settled };
}

/** Returns the finished upload of this file if a receipt proves it, else the journal entry to resume, if any. */
async function knownOf(run: UploadRun): Promise<Uploaded | { entry: Open | Whole | undefined }> {
  const { again } = run.options;
  // Look again: another run may have uploaded the file since this one made its plan. An upload resumed
  // by its id is unfinished, whatever receipts exist for its file.
  const before = again || run.job.id !== undefined ? undefined : thereBefore(run);
  if (before) return before;
  run.say({ event: 'started', size_bytes: run.source.sizeBytes });
  if (run.source.sizeBytes === 0) run.notice('the file is empty');
  let found = await run.page.read();
  const same = found || again ? undefined : await sentBefore(run);
  if (same) return same;
  if (!found && !again)
    found = await run.tools.findResumable?.(run.planned(), run.source, run.notice.bind(run));
  // The spooled stdin is the only copy: record it now, so that it can be found after any failure.
  if (!found && run.job.identity !== undefined) await run.page.write(run.planned());
  return { entry: found && (await continueFrom(run, found)) };
}

function accepted({ options }: UploadRun, before: Uploaded): Uploaded {
  if (before.verified === null && options.requireChecksum) throw unverified(before.assetUid);
  return before;
}

async function sentOrNext(run: UploadRun, entry: Open): Promise<Open | Whole> {
  try {
    return await sendFile(run, entry);
  } catch (error) {
    if (error instanceof SessionGone) return recoverFromGoneSession(run, entry, error);
    throw error;
  }
}

/** Returns the command that uploads the file from scratch; for stdin, one that sends the spooled copy. */
const sendAgain = ({ id, label, job }: UploadRun) =>
  job.identity === undefined
    ? `mediactl upload --again '${label}'`
    : `mediactl uploads resume ${id} --again`;

/** Checks the verdict on a complete upload, sets the asset's tags and builds the result. */
async function concluded(run: UploadRun, entry: Whole): Promise<Uploaded> {
  const { session, blake3, verified } = entry;
  const { api } = run.tools;
  const { tags } = run.job;
  if (verified === false) throw mismatch(run.label, sendAgain(run), entry);
  if (tags && tags.length > 0)
    await api.assets.update(session.assetUid, api.assets.tagFields(tags));
  run.say({ event: 'uploaded', asset_uid: session.assetUid, blake3, verified });
  return {
    how: 'uploaded',
    state: 'pending',
    assetUid: session.assetUid,
    sessionUid: session.uid,
    name: run.metadata.asset_name ?? run.metadata.filename,
    sizeBytes: run.source.sizeBytes,
    bytesSent: run.bytesSent,
    resumedFrom: run.resumedFrom,
    blake3,
    verified,
  };
}

/** Saves the receipt and then removes the journal entry; without receipts, the entry holds the result. */
async function keepReceipt(run: UploadRun, uploaded: Uploaded, entry: Whole): Settled {
  const { receipts, api } = run.tools;
  try {
    await receipts?.keep({
      ...run.key,
      ...uploaded,
      mtimeNs: versionOf(run.source.identity),
      reason: null,
      at: new Date(api.transport.clock.now()).toISOString(),
    });
    await (receipts ? run.page.forget() : run.page.write(entry));
    return undefined;
  } catch (error) {
    await run.page.write(entry).catch(() => {}); // the entry names the asset
    return asMediactlError(error);
  }
}
