import { isUnfinished } from '../../../contract/assumptions.ts';
import { offsetIn } from '../../../contract/tus.ts';
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
 * What an earlier run left, if it is to be gone on with; undefined where a new session is to be made.
 *
 * @throws MediactlError `file_changed` (13) before a byte is sent; `creation_unknown` (2) where the
 *   earlier run may have made an asset that nobody knows of
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

/** An earlier session of this same file. Whether its bytes are the same is seen when they are read. */
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

/** What is whole is done, unless the file is another by now, or the asset is gone. */
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
    const back = isUnfinished(status) ? await lostBytes(run, entry) : undefined;
    if (back) return back;
  } catch (error) {
    if (isSessionGone(error)) {
      run.notice(`asset ${assetUid} is gone since; uploading it again`);
      return undefined;
    }
    // A key that may write and not read is told nothing of it.
    if (!(error instanceof MediactlError) || error.explanation.status !== 403) throw error;
  }
  run.resumedFrom = acknowledged(entry);
  run.notice(`uploaded before as asset ${assetUid}`);
  return entry;
}

/** What a service that lost bytes which it had acknowledged still holds; undefined where it lost none. */
async function lostBytes(run: UploadRun, entry: Whole): Promise<Open | undefined> {
  const { sizeBytes } = run.source;
  const headers = await run.tools.api.uploadSessions.look(entry.session.url, run.tools.signal);
  const offset = offsetIn(headers?.['upload-offset']);
  if (offset === undefined || offset >= sizeBytes) return undefined;
  run.notice(
    `the service has ${offset} bytes of asset ${entry.session.assetUid}, and had acknowledged ${sizeBytes}`,
  );
  run.resumedFrom = offset;
  const { blake3: _blake3, verified: _verified, serviceBlake3: _told, ...rest } = entry;
  return { ...rest, state: 'open', file: run.source.identity, offset, sentTo: sizeBytes };
}
