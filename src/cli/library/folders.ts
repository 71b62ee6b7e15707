import { asCodedError, CodedError, usageError } from '../../client/errors.ts';
import type { FolderNode, WorkspaceFolderTree } from '../../client/library/folder-tree.ts';
import type { FetchedTree } from '../../client/library/library.ts';
import { isRootPath, withoutFolderPrefix } from '../../client/library/library-paths.ts';
import { isUid } from '../../contract/uid.ts';
import { displayText, escapeControls } from '../../shared/sanitize.ts';
import type { Context } from '../context.ts';
import { expandUidPrefix, selectOne } from './ambiguity.ts';

export const folderHelp = 'path such as /Campaigns/2026, or uid';

/** Returns the folders of the workspace in use, fetched once per command unless `isFresh` or a folder was changed. */
export const fetchFolderTree = async (
  context: Context,
  { mayPrompt = true, isFresh = false }: { mayPrompt?: boolean; isFresh?: boolean } = {},
): Promise<FetchedTree> => (await context.library()).folders({ mayAsk: mayPrompt, isFresh });

/** Returns the folders of the workspace in use; undefined, with a warning, if no workspace is in use. */
export async function fetchFolderTreeIfAny(context: Context): Promise<WorkspaceFolderTree | undefined> {
  try {
    return (await fetchFolderTree(context)).tree;
  } catch (thrown) {
    const error = asCodedError(thrown);
    if (error.kind !== 'usage') throw error;
    context.terminal.warn(
      escapeControls(`the paths of folders are not known: ${error.explanation.reason ?? error.message}`),
    );
    return undefined;
  }
}

/** Resolves a folder by uid, uid prefix or path. @throws CodedError `not_found` (exit 3) with the missing part */
export async function resolveFolder(context: Context, tree: WorkspaceFolderTree, typed: string) {
  const uidOrPath = withoutFolderPrefix(typed);
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

/** Returns the next step for a path without a folder: the folder that differs in case only, before any other. */
export function missingFolderHint(tree: WorkspaceFolderTree, path: string, otherwise: string): string {
  const meant = tree.findOtherCase(path);
  return meant === undefined ? otherwise : `did you mean ${meant}? ${otherwise}`;
}

/** Warns that a folder is created although another one differs in case only. */
export function warnOfOtherCase({ terminal }: Context, tree: WorkspaceFolderTree, path: string): void {
  const meant = tree.findOtherCase(path);
  if (meant !== undefined)
    terminal.warn(escapeControls(`${path} is a new folder, not ${meant}: names are case-sensitive`));
}

export function missingFolderReason(tree: WorkspaceFolderTree, path: string): string {
  const parts = path.split('/').filter(Boolean);
  const known = parts.findIndex((_, n) => tree.findByPath(parts.slice(0, n + 1).join('/')).length === 0);
  const above = parts.slice(0, known).join('/');
  return `${above ? `/${above}` : 'the top level'} has no folder ${parts[known]}`;
}

function throwNotFound(tree: WorkspaceFolderTree, uidOrPath: string): never {
  if (isRootPath(uidOrPath))
    throw usageError('the top level is not a folder', 'mediactl folders tree, to list the folders');
  const parts = uidOrPath.split('/').filter(Boolean);
  if (parts.length === 0) throw usageError('the folder is empty', `use a ${folderHelp}`);
  throw new CodedError(`folder ${uidOrPath} does not exist`, {
    code: 'not_found',
    reason: isUid(uidOrPath) ? 'no folder of this workspace has this uid' : missingFolderReason(tree, uidOrPath),
    hint:
      uidOrPath === 'root'
        ? 'the top level is /'
        : missingFolderHint(tree, uidOrPath, 'mediactl folders tree, to list the folders; names are case-sensitive'),
  });
}

/** Returns the value for the `parent` filter (§4): a folder's uid, or `root` for the top level. */
export async function resolveParentFilter(context: Context, folder: string): Promise<string> {
  if (isRootPath(folder)) return 'root';
  if (isUid(folder)) return folder.toLowerCase();
  return (await resolveFolder(context, (await fetchFolderTree(context)).tree, folder)).folder.uid;
}
