import type { Library } from '../../client/library/folder-creation.ts';
import type { Context } from '../context.ts';
import { forgetFolderTree } from './folders.ts';
import { cachedFolders } from './name-cache.ts';
import { resolveWorkspaceUid } from './workspaces.ts';

/** Drops the folders that this command has fetched and those that are cached on disk, after a change of a folder. */
export async function invalidateFolders(context: Context): Promise<void> {
  forgetFolderTree(context);
  await cachedFolders(context).invalidate();
}

/** Returns the workspace in use. Asks for one if none is configured. */
export const libraryOf = async (context: Context): Promise<Library> => ({
  api: await context.api(),
  workspace: () => resolveWorkspaceUid(context),
  withLock: (work) => context.withLock('folders', work),
  onCreated: () => invalidateFolders(context),
});
