import { exitCodes } from '../../../client/error-table.ts';
import { MediactlError, usageError } from '../../../client/errors.ts';
import type { FolderResolver, UploadCandidate } from '../../../client/upload/sources/upload-candidate.ts';
import type { Receipts } from '../../../client/upload/store/receipts.ts';
import { isUid } from '../../../contract/uid.ts';
import type { Context } from '../../context.ts';
import { createFolderPathResolver } from '../../library/folder-creation.ts';
import { isRootPath, resolveFolderUid } from '../../library/folders.ts';
import { createdFoldersOf } from '../../uploading/receipts.ts';

type TargetFolderOptions = {
  /** Uid or path of the folder that all files go to or below. */
  top: string;
  /** True to create missing folders and mirror the directory tree. */
  create: boolean;
  /** True if the manifest has a folder for any file. */
  hasManifestFolders: boolean;
};

/** Rethrows an error. Adds a hint to use --create-folders if a folder was not found. */
function addCreateHint(error: unknown): never {
  const isMissing = error instanceof MediactlError && error.exitCode === exitCodes.notFound;
  throw isMissing
    ? error.with({ hint: '--create-folders makes it; mediactl folders tree shows those there are' })
    : error;
}

/**
 * Returns a resolver that finds or creates each file's target folder.
 *
 * @throws MediactlError `not_found` (exit 3) if the folder does not exist
 */
export async function resolveTargetFolders(
  context: Context,
  { top, create, hasManifestFolders }: TargetFolderOptions,
  receipts: Receipts | undefined,
): Promise<FolderResolver> {
  if (!create && !hasManifestFolders) {
    const uid = isRootPath(top) ? undefined : await resolveFolderUid(context, top).catch(addCreateHint);
    return { find: () => uid, findOrCreate: async () => uid };
  }
  if (create && isUid(top)) throw usageError('--create-folders takes a path', '--folder /Campaigns/2026');
  const { origin } = (await context.account()).baseUrl;
  const byPath = await createFolderPathResolver(
    context,
    (workspace) => receipts && createdFoldersOf(receipts, origin, workspace),
  );
  const targetPathOf = (file: UploadCandidate) => {
    const folder = file.about?.folder ?? top;
    return create ? `${folder}/${file.relativeDir}` : folder;
  };
  return {
    find: (file) => {
      const path = targetPathOf(file);
      const first = path.split('/')[0] ?? '';
      if (isUid(first)) return first.toLowerCase();
      const uid = byPath.find(path);
      if (uid === null && !create)
        throw usageError(
          `${file.path}: no folder ${path}`,
          '--create-folders makes what is missing; mediactl folders tree',
        );
      return uid;
    },
    findOrCreate: async (file) => {
      const path = targetPathOf(file);
      const first = path.split('/')[0] ?? '';
      return isUid(first) ? first.toLowerCase() : byPath.make(path);
    },
  };
}
