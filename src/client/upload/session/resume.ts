import { isAwaitingUpload } from '../../../contract/assumptions.ts';
import { parseUploadOffset } from '../../../contract/tus.ts';
import { MediactlError } from '../../errors.ts';
import { changed, isUntouched } from '../sources/source.ts';
import {
  acknowledged,
  assetOf,
  type CorruptEntry,
  isCorrupt,
  type JournalEntry,
  type Open,
  type Whole,
} from '../store/journal-entry.ts';
import { digestOf } from './known.ts';
import { confirmAfterLostCreation } from './lost-creation.ts';
import { isSessionGone } from './session-gone.ts';
import type { UploadRun } from './upload-run.ts';

/**
 * Returns the journal entry to resume from; undefined if a new session has to be created.
 *
 * @throws MediactlError `file_changed` (13) before a byte is sent; `creation_unknown` (2) if the earlier
 *   run may have made an asset whose uid never arrived
 */
export async function continueFrom(
  run: UploadRun,
  found: JournalEntry | CorruptEntry,
): Promise<Open | Whole | undefined> {
  if (run.options.again) {
    await noticeLeftBehind(run, found);
    return undefined;
  }
  if (isCorrupt(found)) {
    const { sizeBytes } = run.source;
    await confirmAfterLostCreation(run, { metadata: run.metadata, sizeBytes, ...found });
    await run.page.setAside(found);
    return undefined;
  }
  switch (found.state) {
    case 'planned':
      return undefined;
    case 'intended':
      await confirmAfterLostCreation(run, { ...found, sizeBytes: found.file.sizeBytes });
      return undefined;
    case 'open':
      return resumable(run, found);
    default:
      return stillThere(run, found);
  }
}

async function noticeLeftBehind(run: UploadRun, found: JournalEntry | CorruptEntry): Promise<void> {
  const assetUid = isCorrupt(found) ? found.assetUid : assetOf(found);
  if (assetUid === undefined) return;
  const isWhole = 'state' in found && found.state === 'whole';
  if (!isWhole) await run.leaveBehind(assetUid);
  run.notice(`${isWhole ? 'uploaded before' : 'left unfinished'}: asset ${assetUid}`);
}

/** Resumes an open session if the file size is unchanged. Its content is checked when the prefix is hashed. */
function resumable(run: UploadRun, entry: Open): Open {
  const { source } = run;
  if (entry.file.sizeBytes !== source.sizeBytes)
    throw changed(
      source.path,
      `${entry.offset} bytes of it are uploaded, but its size went from ${entry.file.sizeBytes} to ${source.sizeBytes} bytes`,
    );
  run.resumedFrom = entry.offset;
  return entry;
}

/** Reuses a complete upload, unless the file has changed or the asset no longer exists. */
async function stillThere(run: UploadRun, entry: Whole): Promise<Open | Whole | undefined> {
  const isSame =
    isUntouched(entry.file, run.source.identity) || (await digestOf(run)) === entry.blake3;
  if (!isSame) {
    await noticeLeftBehind(run, entry);
    return undefined;
  }
  const { assetUid } = entry.session;
  try {
    const { status } = await run.tools.api.assets.get(assetUid);
    const back = isAwaitingUpload(status) ? await lostBytes(run, entry) : undefined;
    if (back) return back;
  } catch (error) {
    if (isSessionGone(error)) {
      run.notice(`asset ${assetUid} is gone since; uploading it again`);
      return undefined;
    }
    // 403: the API key may write but not read, so the asset's state stays unknown.
    if (!(error instanceof MediactlError) || error.explanation.status !== 403) throw error;
  }
  run.resumedFrom = acknowledged(entry);
  run.notice(`uploaded before as asset ${assetUid}`);
  return entry;
}

/** Reopens the entry at the service's offset if the service lost acknowledged bytes; undefined if it lost none. */
async function lostBytes(run: UploadRun, entry: Whole): Promise<Open | undefined> {
  const { sizeBytes } = run.source;
  const headers = await run.tools.api.uploadSessions.fetchHeaders(
    entry.session.url,
    run.tools.signal,
  );
  const offset = parseUploadOffset(headers?.['upload-offset']);
  if (offset === undefined || offset >= sizeBytes) return undefined;
  run.notice(
    `the service has ${offset} bytes of asset ${entry.session.assetUid}, and had acknowledged ${sizeBytes}`,
  );
  run.resumedFrom = offset;
  const { blake3: _blake3, verified: _verified, serviceBlake3: _told, ...rest } = entry;
  return { ...rest, state: 'open', file: run.source.identity, offset, sentTo: sizeBytes };
}
