import type { FolderNode, WorkspaceFolderTree } from '../../client/api/folder-tree.ts';
import type { FolderChange } from '../../client/api/folders.ts';
import { writeItem } from '../../client/bulk/carry-out.ts';
import { folderItem } from '../../client/bulk/items.ts';
import { MediactlError, usageError } from '../../client/errors.ts';
import type { ApiRequest } from '../../client/http/api-request.ts';
import { createFolderPath, parseFolderPath } from '../../client/library/folder-creation.ts';
import { descendantsOf, isRootPath, withoutFolderPrefix } from '../../client/library/library-paths.ts';
import { quoteForShell } from '../../contract/sanitize.ts';
import type { Context } from '../context.ts';
import { confirm } from '../terminal/prompt.ts';
import { runSingleChange } from './bulk-run.ts';
import { fetchFolderTree } from './folders.ts';

/** A folder, and the workspace and tree that it is in. */
export type PlacedFolder = { workspace: string; tree: WorkspaceFolderTree; placed: FolderNode };

/** Returns the request that renames or moves a folder. */
export async function folderChangeRequest(
  context: Context,
  { workspace, tree, placed }: PlacedFolder,
  change: FolderChange,
): Promise<ApiRequest> {
  return (await context.api()).folders.changeRequest(workspace, placed.folder.uid, tree, change);
}

/** Renames or moves a folder, and verifies the change. @returns the folder after the change */
export async function changeFolder(
  context: Context,
  { workspace, tree, placed }: PlacedFolder,
  change: FolderChange,
): Promise<FolderNode> {
  const after = Object.fromEntries(Object.entries(change).filter(([, value]) => value !== undefined));
  const summary = change.parent === undefined ? `rename ${placed.path}` : `move ${placed.path}`;
  const item = folderItem(placed, after);
  const place = { workspace: async () => workspace, tree };
  const write = async () => writeItem(await context.api(), place, item);
  const { folder } = await runSingleChange(context, { command: 'mv', summary, workspace, item }, write);
  return folder as FolderNode;
}

/** @throws MediactlError `usage` (exit 2) if the target is the folder itself or inside it */
export function assertMovable(moving: FolderNode, target: FolderNode): void {
  if (target !== moving && !descendantsOf(moving).includes(target)) return;
  throw usageError(
    `${moving.path} cannot be moved into itself`,
    'choose a folder outside it',
    `${target.path} is ${target === moving ? 'the folder itself' : 'inside it'}`,
  );
}

/** @throws MediactlError `already_exists` (exit 6) if the parent already has a folder of that name */
export function assertNoTwin({ tree, placed }: PlacedFolder, { parent, name = placed.name }: FolderChange): void {
  const above = parent === undefined ? placed.parent : parent === null ? undefined : tree.find(parent);
  const siblings = above ? above.children : parent ? [] : tree.roots;
  const twin = siblings.find((each) => each !== placed && each.name === name);
  if (!twin) return;
  throw new MediactlError(`${twin.path} already exists`, {
    code: 'already_exists',
    hint: `mediactl rename ${quoteForShell(twin.path)} NAME renames it`,
  });
}

/** @throws MediactlError `usage` (exit 2) if the name contains a slash, or is `.` or `..` */
export function assertFolderName(name: string): void {
  if (name === '.' || name === '..') throw usageError(`a folder cannot be named ${name}`, 'choose another name');
  if (name.includes('/')) throw usageError('a folder name cannot contain a slash', 'mediactl mv moves a folder');
}

/** Deletes a folder. @throws MediactlError with a hint that tells how to delete a folder that is not empty */
export async function deleteFolder(context: Context, workspace: string, node: FolderNode): Promise<void> {
  const { path } = node;
  const place = { workspace: async () => workspace };
  await writeItem(await context.api(), place, folderItem(node, null)).catch((error) => {
    if (!(error instanceof MediactlError) || error.kind !== 'rejected') throw error;
    const hint = `mediactl rm -r ${quoteForShell(path)}, to delete its content too`;
    throw new MediactlError(`the service refused to delete ${path}`, {
      ...error.explanation,
      remedy: undefined,
      hint,
    });
  });
}

/**
 * Returns a folder that assets or folders are to be moved to; undefined for the top level. Creates a missing folder
 * once the user agrees.
 *
 * @throws MediactlError `declined` (exit 130), or `not_found` (exit 3) if there is no terminal to ask on
 */
export async function ensureFolder(context: Context, typed: string, mayCreate: boolean) {
  if (isRootPath(typed)) return undefined;
  const path = withoutFolderPrefix(typed);
  const names = parseFolderPath(path);
  const mayCreateNow = mayCreate || context.settings.yes;
  if (!mayCreateNow && !context.terminal.isInteractive)
    throw new MediactlError(`folder ${path} does not exist`, {
      code: 'not_found',
      hint: '--create-folders creates it',
    });
  await confirm(context.terminal, `Folder ${path} does not exist. Create it?`, { yes: mayCreateNow, instead: '' });
  return (await createFolderPath(await context.library(), names, true)).node;
}

/** Returns the folder at a path if there is exactly one. */
export async function findFolderAt(context: Context, path: string): Promise<PlacedFolder | undefined> {
  const { tree, workspace } = await fetchFolderTree(context);
  const [placed, ...others] = tree.findByPath(withoutFolderPrefix(path));
  if (others.length > 0)
    throw usageError(
      `${others.length + 1} folders are at ${path}`,
      'mediactl folders ls shows their uids; mediactl folders rename UID NAME',
    );
  return placed && { tree, workspace, placed };
}
