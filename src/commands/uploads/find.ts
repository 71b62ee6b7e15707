import type { Context } from '../../context.ts';
import { exitCodes, MediactlError } from '../../errors.ts';
import { type CorruptEntry, isCorrupt, type JournalEntry } from '../../upload/journal-entry.ts';
import { isSameUid } from '../../wire/uid.ts';

/** An upload of this machine by its id, its session's uid or its asset's uid. */
export async function findUpload(
  context: Context,
  id: string,
): Promise<JournalEntry | CorruptEntry> {
  const found = (await (await context.journal()).list()).find(
    (entry) =>
      entry.id === id ||
      (!isCorrupt(entry) &&
        'session' in entry &&
        [entry.session.uid, entry.session.assetUid].some((uid) => isSameUid(uid, id))),
  );
  if (found) return found;
  throw new MediactlError(`no upload ${id} is kept on this machine`, {
    code: 'not_found',
    exitCode: exitCodes.notFound,
    hint: 'mediactl uploads ls',
  });
}
