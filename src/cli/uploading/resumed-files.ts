import { usageError } from '../../client/errors.ts';
import { FileSource } from '../../client/upload/sources/source.ts';
import { type FolderResolver, fileAt, fromMetadata, type UploadFile } from '../../client/upload/sources/upload-file.ts';
import type { UploadEntry } from '../../client/upload/store/upload-entry.ts';
import type { Context } from '../context.ts';
import { isRemote } from './sources.ts';

/* Resumes unfinished uploads from their stored entries. */

/** Returns true if an input is not a local file, and only the original command can resume it. */
export const isNotLocal = (path: string) => isRemote(path) || path.startsWith('stdin:');

/** Opens the file of an unfinished upload. @throws CodedError `usage` (exit 2) if it is not a local file */
export function reopenFile({ ownFiles }: Context, path: string) {
  if (isNotLocal(path))
    throw usageError(`${path} is not a file on this machine`, 'run the original command again to resume the upload');
  return FileSource.open(path, ownFiles);
}

export const toUploadFile = ({ id, realPath, path, identity, metadata }: UploadEntry): UploadFile => ({
  ...fileAt(identity === undefined ? realPath : path),
  ...(identity !== undefined && { stream: { spoolPath: realPath, identity } }),
  ...fromMetadata(metadata),
  id,
});

const folderOf = ({ target }: UploadFile) => target?.folder;

/** Finds the folder that an upload was begun for. */
export const recordedFolders: FolderResolver = { find: folderOf, findOrCreate: async (file) => folderOf(file) };

/**
 * Returns the uploads of this account that have begun and not ended, and that no process is sending now: those that this
 * machine can resume.
 */
export async function findInterrupted(context: Context): Promise<UploadEntry[]> {
  const { baseUrl, profile } = await context.account();
  const store = await context.state.uploadsIfAny();
  if (!store) return [];
  const [entries, progress] = [await store.list(), await store.listProgress()];
  return entries.filter(
    (entry) =>
      entry.baseUrl === baseUrl.origin &&
      entry.profile === profile &&
      entry.state !== 'planned' &&
      !isNotLocal(entry.realPath) &&
      (progress.get(entry.id)?.pid ?? null) === null,
  );
}
