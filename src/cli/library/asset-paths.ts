import { basename, dirname } from 'node:path/posix';
import { isGlob } from '../../client/glob.ts';
import type { WorkspaceFolderTree } from '../../client/library/folder-tree.ts';
import { isRootPath, looksLikeFile, withoutFolderPrefix } from '../../client/library/library-paths.ts';
import { pluralize } from '../../shared/figures.ts';
import { quoteForShell } from '../../shared/sanitize.ts';
import type { Context } from '../context.ts';
import { missingFolderHint, missingFolderReason } from './folders.ts';
import { NoAssetError } from './no-asset-error.ts';

/** Maximum number of folders to list without a notice. Each folder costs a request. */
const maxFoldersWithoutNotice = 20;

/** Tells how many folders are about to be listed if there are many, since each costs a request. */
export function noticeFolderCount({ terminal }: Context, count: number): void {
  if (count > maxFoldersWithoutNotice)
    terminal.info(`listing ${pluralize(count, 'folder')}, at one request each or more`);
}

const listFolders = 'mediactl folders tree, to list the folders';

/** Returns the error for an address without an asset. A folder at that path gets a hint of its own. */
export function noAssetAt(path: string, tree: WorkspaceFolderTree | undefined): NoAssetError {
  const isFolder = isRootPath(path) || (tree?.findByPath(withoutFolderPrefix(path)).length ?? 0) > 0;
  if (isFolder) {
    const hint = `mediactl ls ${quoteForShell(path)}`;
    const details = { folder: path };
    return new NoAssetError(path, `${path} is a folder, not an asset`, { code: 'usage', hint, details }, true);
  }
  const folder = withoutFolderPrefix(path);
  const name = basename(folder);
  const isAbove = tree !== undefined && (isRootPath(dirname(folder)) || tree.findByPath(dirname(folder)).length > 0);
  if (isAbove && !isGlob(path) && looksLikeFile(folder))
    return new NoAssetError(path, `no asset or folder at ${path}`, {
      code: 'not_found',
      details: { id: path },
      reason: `${isRootPath(dirname(folder)) ? 'the top level' : dirname(folder)} has neither an asset nor a folder ${name}`,
      hint: `mediactl search ${quoteForShell(name)}, to find it in another folder`,
    });
  return new NoAssetError(path, isGlob(path) ? `no asset matches ${path}` : `no asset or folder at ${path}`, {
    code: 'not_found',
    details: { id: path },
    reason: tree && !isGlob(path) ? missingFolderReason(tree, withoutFolderPrefix(path)) : undefined,
    hint: tree ? missingFolderHint(tree, withoutFolderPrefix(path), listFolders) : listFolders,
  });
}
