import { isAwaitingUpload } from '../../../contract/assumptions.ts';
import { parseUploadOffset } from '../../../contract/tus.ts';
import { MediactlError } from '../../errors.ts';
import { fileChanged, isUntouched } from '../sources/source.ts';
import {
  acknowledged,
  assetOf,
  type CompleteEntry,
  type CorruptEntry,
  isCorrupt,
  type JournalEntry,
  type OpenEntry,
} from '../store/journal-entry.ts';
import { confirmPossibleDuplicate } from './find-orphans.ts';
import { digestOf } from './receipt-lookup.ts';
import { isGone } from './session-gone.ts';
import type { UploadRun } from './upload-run.ts';

/**
 * Returns the journal entry to resume from, or undefined if a new session has to be created.
 *
 * @throws MediactlError `file_changed` (exit 13) if the file has another size; `creation_unknown` (exit 2) if the
 *   earlier run might have made an asset whose uid never arrived
 */
export async function resumeFrom(
  run: UploadRun,
  entry: JournalEntry | CorruptEntry,
): Promise<OpenEntry | CompleteEntry | undefined> {
  if (run.options.again) {
    await reportAbandonedAsset(run, entry);
    return undefined;
  }
  if (isCorrupt(entry)) {
    const { sizeBytes } = run.source;
    await confirmPossibleDuplicate(run, { metadata: run.metadata, sizeBytes, ...entry });
    await run.journal.setAside(entry);
    return undefined;
  }
  switch (entry.state) {
    case 'planned':
      return undefined;
    case 'intended':
      await confirmPossibleDuplicate(run, { ...entry, sizeBytes: entry.file.sizeBytes });
      return undefined;
    case 'open':
      return resumeSession(run, entry);
    default:
      return reuseComplete(run, entry);
  }
}

async function reportAbandonedAsset(run: UploadRun, entry: JournalEntry | CorruptEntry): Promise<void> {
  const assetUid = isCorrupt(entry) ? entry.assetUid : assetOf(entry);
  if (assetUid === undefined) return;
  const isComplete = 'state' in entry && entry.state === 'whole';
  if (!isComplete) await run.recordOrphan(assetUid);
  run.notice(`${isComplete ? 'uploaded before' : 'left unfinished'}: asset ${assetUid}`);
}

/** Resumes an open session if the file size is unchanged. The content is checked later, by hashing the prefix. */
function resumeSession(run: UploadRun, entry: OpenEntry): OpenEntry {
  const { source } = run;
  if (entry.file.sizeBytes !== source.sizeBytes)
    throw fileChanged(
      source.path,
      `${entry.offset} bytes of it are uploaded, but its size went from ${entry.file.sizeBytes} to ${source.sizeBytes} bytes`,
    );
  run.resumedFrom = entry.offset;
  return entry;
}

/** Reuses a complete upload. Returns undefined if the file has changed or the asset no longer exists. */
async function reuseComplete(run: UploadRun, entry: CompleteEntry): Promise<OpenEntry | CompleteEntry | undefined> {
  const isSame = isUntouched(entry.file, run.source.identity) || (await digestOf(run)) === entry.blake3;
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
      run.notice(`asset ${assetUid} is gone since; uploading it again`);
      return undefined;
    }
    // 403: the API key can write but not read, so the asset's state stays unknown.
    if (!(error instanceof MediactlError) || error.explanation.status !== 403) throw error;
  }
  run.resumedFrom = acknowledged(entry);
  run.notice(`uploaded before as asset ${assetUid}`);
  return entry;
}

/** Returns the entry, reopened at the service's offset, if the service lost acknowledged bytes; else undefined. */
async function reopenIfBytesLost(run: UploadRun, entry: CompleteEntry): Promise<OpenEntry | undefined> {
  const { sizeBytes } = run.source;
  const headers = await run.deps.api.uploadSessions.fetchHeaders(entry.session.url, run.deps.signal);
  const offset = parseUploadOffset(headers?.['upload-offset']);
  if (offset === undefined || offset >= sizeBytes) return undefined;
  run.notice(`the service has ${offset} bytes of asset ${entry.session.assetUid}, and had acknowledged ${sizeBytes}`);
  run.resumedFrom = offset;
  const { blake3: _blake3, verified: _verified, serviceBlake3: _serviceBlake3, ...rest } = entry;
  return { ...rest, state: 'open', file: run.source.identity, offset, sentTo: sizeBytes };
}
