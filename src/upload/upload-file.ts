import { createUpload } from './creation.ts';
import type { Uploaded, UploadJob, UploadOptions, UploadTools } from './job.ts';
import type { Open, Whole } from './journal-entry.ts';
import { recoverFromGoneSession } from './recover.ts';
import { continueFrom } from './resume.ts';
import { sendFile } from './send-file.ts';
import { SessionGone } from './session-gone.ts';
import { UploadRun } from './upload-run.ts';
import { mismatch, unverified } from './verification.ts';

/** One file's upload, from its path to a checked asset, going on where an earlier run stopped. */
export type OpenedUpload = {
  /** Of its page in the journal. */
  id: string;
  /** @throws MediactlError; the journal keeps what is needed to go on */
  run(): Promise<Uploaded>;
  close(): Promise<void>;
};

/** @throws MediactlError where there is no such file, or none that can be read */
export async function openUpload(
  job: UploadJob,
  options: UploadOptions,
  tools: UploadTools,
): Promise<OpenedUpload> {
  const source = await tools.openSource(job.path);
  const run = new UploadRun(source, job, options, tools);
  return { id: run.id, run: () => uploadLocked(run), close: () => source.close() };
}

/** One process at a time has an upload in hand. */
async function uploadLocked(run: UploadRun): Promise<Uploaded> {
  const release = await run.page.lock();
  try {
    run.say({ event: 'started', size_bytes: run.source.sizeBytes });
    const found = await run.page.read();
    // Of stdin there is no other copy: whatever comes next, it can be found.
    if (!found && run.job.identity !== undefined) await run.page.write(run.planned());
    let entry = (found && (await continueFrom(run, found))) ?? (await createUpload(run));
    while (entry.state === 'open') entry = await sentOrNext(run, entry);
    return concluded(run, entry);
  } finally {
    await release();
  }
}

async function sentOrNext(run: UploadRun, entry: Open): Promise<Open | Whole> {
  try {
    return await sendFile(run, entry);
  } catch (error) {
    if (error instanceof SessionGone) return recoverFromGoneSession(run, entry, error);
    throw error;
  }
}

/** stdin cannot come twice: what was kept of it is sent. */
const sendAgain = ({ id, label, job }: UploadRun) =>
  job.identity === undefined
    ? `mediactl upload --no-resume '${label}'`
    : `mediactl uploads resume ${id} --again`;

function concluded(run: UploadRun, entry: Whole): Uploaded {
  const { session, blake3, verified } = entry;
  if (verified === false) throw mismatch(run.label, sendAgain(run), entry);
  run.say({ event: 'uploaded', asset_uid: session.assetUid, blake3, verified });
  if (verified === null && run.options.requireChecksum) throw unverified(session.assetUid);
  return {
    id: run.id,
    begunAt: run.begunAt,
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
