import { isOpen } from '../decide/by-entry.ts';
import type { OpenEntry, UploadEntry } from '../store/upload-entry.ts';
import { ignoreAlreadyUploading } from '../store/upload-store.ts';
import type { UploadRun } from './upload-run.ts';

/**
 * Gives the unfinished upload of a moved file to its new path.
 *
 * @returns the moved entry; undefined, with a notice, if another process has it or it has changed
 */
export async function claimMoved(run: UploadRun, decided: UploadEntry): Promise<OpenEntry | undefined> {
  const { store } = run;
  const release = await store.lock(decided.id).catch(ignoreAlreadyUploading);
  try {
    const entry = release && (await store.read(decided.id)); // might have changed before we locked it
    if (isOpen(entry)) {
      const { id, path, realPath } = run.planned();
      const moved = { ...entry, id, path, realPath };
      await Promise.all([store.write(moved), store.remove(entry.id)]); // in one transaction
      run.notice(`resuming asset ${entry.session.assetUid}, started as ${entry.realPath}`);
      return moved;
    }
  } finally {
    await release?.();
  }
  if (isOpen(decided)) noteNotResumed(run, decided);
  return undefined;
}

export function noteNotResumed(run: UploadRun, { session, realPath }: OpenEntry): void {
  run.notice(`not resumed: asset ${session.assetUid} of ${realPath}`, ['list_pending_uploads']);
}
