import { fileExists, tryStat } from '../../local-path.ts';
import { hasSameSizeAndTime } from '../sources/file-identity.ts';
import { fromMetadata, type UploadFile } from '../sources/upload-file.ts';
import type { CompleteEntry, OpenEntry } from '../store/upload-entry.ts';
import type { ListableUploadStore } from '../store/upload-store.ts';

/**
 * Returns files as they were when an upload of them was begun that a kill has interrupted, if they were renamed after that.
 * It ends as the upload of the file at its old path: then its receipt shows that the file was renamed. Otherwise the same
 * bytes would be sent again, though the service may have them all.
 */
export async function asBegun(
  files: readonly UploadFile[],
  store: Pick<ListableUploadStore, 'list'>,
): Promise<readonly UploadFile[]> {
  const begun = (await store.list()).filter(
    (entry): entry is OpenEntry | CompleteEntry =>
      (entry.state === 'open' || entry.state === 'whole') && entry.identity === undefined,
  );
  if (begun.length === 0) return files;
  return Promise.all(files.map(async (file) => fileAsBegun(file, await findEntry(file, begun))));
}

/** Returns the entry of an upload of the same inode, with the same size and modification time, whose path is gone. */
async function findEntry(
  file: UploadFile,
  begun: readonly (OpenEntry | CompleteEntry)[],
): Promise<OpenEntry | CompleteEntry | undefined> {
  const similar = begun.filter((entry) => hasSameSizeAndTime(entry.file, file));
  if (similar.length === 0) return undefined;
  const found = await tryStat(file.path);
  for (const entry of similar) {
    const isSame = found && entry.file.ino === String(found.ino) && entry.file.dev === String(found.dev);
    if (isSame && !(await fileExists(entry.realPath))) return entry;
  }
  return undefined;
}

function fileAsBegun(file: UploadFile, entry: OpenEntry | CompleteEntry | undefined): UploadFile {
  if (!entry) return file;
  const begun = fromMetadata(entry.metadata);
  return { ...file, ...begun, about: { ...file.about, ...begun.about }, id: entry.id, realPath: entry.realPath };
}
