import type { FolderNode, WorkspaceFolderTree } from '../../client/api/folder-tree.ts';
import { MediactlError, usageError } from '../../client/errors.ts';
import { displayText, escapeControls } from '../../contract/sanitize.ts';
import { isUid } from '../../contract/uid.ts';
import type { Context } from '../context.ts';
import { expandUidPrefix, selectOne } from './ambiguity.ts';
import { resolveWorkspaceUid } from './workspaces.ts';

export const folderHelp = 'uid, or path such as /Campaigns/2026';

export async function fetchFolderTree(context: Context, mayPrompt = true) {
  const workspace = await resolveWorkspaceUid(context, mayPrompt);
  return { workspace, tree: await (await context.api()).folders.tree(workspace) };
}

/** Resolves a folder by uid, uid prefix or path. @throws MediactlError `not_found` (exit 3) with the missing part */
export async function resolveFolder(context: Context, tree: WorkspaceFolderTree, uidOrPath: string) {
  const byUid = isUid(uidOrPath) ? tree.find(uidOrPath) : undefined;
  if (byUid) return byUid;
  const atPath = tree.findByPath(uidOrPath);
  if (atPath.length === 0) {
    const { baseUrl } = (await context.api()).transport;
    const expandedUid = expandUidPrefix(context, baseUrl, 'folder', uidOrPath);
    return (expandedUid && tree.find(expandedUid)) || throwNotFound(tree, uidOrPath);
  }
  const { uid } = await selectOne(context, {
    noun: 'folder',
    description: `are at ${uidOrPath}`,
    matches: atPath.map(({ folder }) => folder),
    rows: async (folders) =>
      folders.map((folder) => [
        escapeControls(folder.uid),
        escapeControls(tree.find(folder.uid)?.path ?? ''),
        displayText(folder.created_at),
      ]),
  });
  return tree.find(uid) as FolderNode;
}

/** Returns all descendants of a folder, parents before their children. */
export const descendantsOf = ({ children }: FolderNode): FolderNode[] =>
  children.flatMap((child) => [child, ...descendantsOf(child)]);

function throwNotFound(tree: WorkspaceFolderTree, uidOrPath: string): never {
  if (isRootPath(uidOrPath)) throw usageError('the top level is not a folder', 'name one: mediactl folders tree');
  const parts = uidOrPath.split('/').filter(Boolean);
  if (parts.length === 0) throw usageError('a folder is empty', folderHelp);
  const known = parts.findIndex((_, n) => tree.findByPath(parts.slice(0, n + 1).join('/')).length === 0);
  const above = parts.slice(0, known).join('/');
  throw new MediactlError(`no folder ${uidOrPath}`, {
    code: 'not_found',
    reason: isUid(uidOrPath)
      ? 'no folder of this workspace has that uid'
      : `there is no ${parts[known]} in ${above ? `/${above}` : 'the top level'}`,
    hint: uidOrPath === 'root' ? 'the top level is /' : 'mediactl folders tree; upper and lower case matter',
  });
}

export async function resolveFolderUid(context: Context, uidOrPath: string): Promise<string> {
  if (isUid(uidOrPath)) return uidOrPath.toLowerCase();
  return (await resolveFolder(context, (await fetchFolderTree(context)).tree, uidOrPath)).folder.uid;
}

/** Returns the value for the `parent` filter (§4): a folder's uid, or `root` for the top level. */
export const resolveParentFilter = async (context: Context, folder: string) =>
  isRootPath(folder) ? 'root' : resolveFolderUid(context, folder);

/** Returns true for the top level, `/`. Any other name, even `root`, can be a folder. */
export const isRootPath = (folder: string) => /^\/+$/.test(folder);
