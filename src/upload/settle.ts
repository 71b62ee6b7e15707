import { MediactlError } from '../errors.ts';
import type { Uploaded } from './job.ts';
import { assetOf, type CorruptEntry, isCorrupt, type JournalEntry } from './journal-entry.ts';
import type { BatchTools, FileOutcome } from './outcome.ts';

/** The asset is what the service makes of the file, and will not become another thing. */
export const isFinal = ({ explanation }: MediactlError) => explanation.code === 'processing_failed';

/** Ends the page of an upload whose result is written, and the copy of its stdin. */
export async function settle(
  { id, path, uploaded, error }: FileOutcome,
  jobIsDone: boolean,
  { journal, spool }: BatchTools,
): Promise<void> {
  if (!uploaded || id === undefined || (error && !isFinal(error))) return;
  const release = await journal.lock(id).catch((failure) => {
    // Another process has the upload in hand: what becomes of it is that one's to settle.
    if (failure instanceof MediactlError && failure.explanation.code === 'already_uploading')
      return undefined;
    return async () => {}; // no lock is to be had here, and nobody else has one
  });
  if (!release) return;
  try {
    const kept = await journal.read(id);
    if (kept && !isOfThisRun(kept, uploaded)) return;
    if (jobIsDone || error) await journal.remove(id);
    else await journal.settle(id);
    await spool.remove(path);
  } finally {
    await release();
  }
}

/**
 * Another run of the same command may have begun anew meanwhile: its page is its own. A page without an
 * asset is this run's if it began it, and could not be written again.
 */
function isOfThisRun(kept: JournalEntry | CorruptEntry, uploaded: Uploaded): boolean {
  if (isCorrupt(kept)) return false;
  const assetUid = assetOf(kept);
  return assetUid === undefined
    ? kept.begunAt === uploaded.begunAt
    : assetUid === uploaded.assetUid;
}
