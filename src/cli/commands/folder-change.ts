import type { FolderChange } from '../../client/api/folders.ts';
import { parseFolderPath } from '../../client/changes/folder-creation.ts';
import { assertFolderChange, assertFolderName, assertMovable } from '../../client/changes/folder-rules.ts';
import { usageError } from '../../client/errors.ts';
import { isGlob } from '../../client/glob.ts';
import type { WorkspaceFolderTree } from '../../client/library/folder-tree.ts';
import {
  isLibraryPath,
  isMarkedFolder,
  isRootPath,
  looksLikeFile,
  withoutFolderPrefix,
} from '../../client/library/library-paths.ts';
import { isUid, isUidPrefix } from '../../contract/uid.ts';
import { displayText, quoteForShell } from '../../shared/sanitize.ts';
import type { CommandOutcome } from '../command.ts';
import type { Context } from '../context.ts';
import { ensureFolder, type PlacedFolder } from '../library/folder-changes.ts';
import { resolveFolder } from '../library/folders.ts';
import { announce, withoutRecords } from '../output/outcome.ts';
import { dryRunPlan } from './dry-run.ts';
import { folderResult } from './folder-view.ts';

/** A folder to move to: its path, uid or uid prefix, and whether it may be created. */
export type MoveTarget = { to: string; mayCreate: boolean };

export const createFoldersOption = ['--create-folders', 'create the folder if it does not exist'] as const;

/**
 * @param toMove returns the command that moves to a folder
 * @throws CodedError `usage` (exit 2) if a word cannot name a folder to move to
 */
export function assertNamesFolder(to: string, toMove: (folder: string) => string): void {
  if (isLibraryPath(to) || isUid(to) || isUidPrefix(to)) return;
  const folder = looksLikeFile(to) || to.startsWith('@') ? '/FOLDER' : quoteForShell(`/${to.replace(/\/+$/, '')}`);
  throw usageError(`${to} is not a folder`, toMove(folder), 'a folder is a path such as /Archive, or a uid');
}

export const isFolderPath = (tree: WorkspaceFolderTree, path: string) =>
  isLibraryPath(path) && tree.findByPath(withoutFolderPrefix(path)).length > 0;

/**
 * Returns whether a folder to move to has to be created.
 *
 * @throws CodedError `usage` (exit 2) if its path is a glob, or looks like that of an asset
 */
export function isMissingFolder(tree: WorkspaceFolderTree, to: string): boolean {
  if (!isLibraryPath(to) || isRootPath(to) || isFolderPath(tree, to)) return false;
  parseFolderPath(withoutFolderPrefix(to));
  if (isMarkedFolder(to) || !(isGlob(to) || looksLikeFile(to))) return true;
  throw usageError(
    isGlob(to) ? `no folder is named ${to}, and a glob cannot be a target` : `${to} looks like an asset, not a folder`,
    `mediactl rename ID NAME, or ${quoteForShell(`folder:${to}`)} to create a folder with that name`,
  );
}

/** Renames a folder, which stays in the same folder. @throws the errors of `changeFolder` */
export async function renameFolder(context: Context, folder: PlacedFolder, name: string): Promise<CommandOutcome> {
  if (name.includes('/')) {
    const to = isLibraryPath(name) ? name : `/${name}`;
    const effect = isFolderPath(folder.tree, to) ? ', which moves it into that folder' : '';
    throw usageError(
      'a folder name cannot contain a slash',
      `mediactl mv ${quoteForShell(folder.placed.path)} ${quoteForShell(to)}${effect}`,
    );
  }
  assertFolderName(name);
  return changeFolder(context, folder, { name }, 'rename');
}

/**
 * Moves a folder with everything in it into a folder, or to a path that does not exist, whose last part is its new name.
 *
 * @throws the errors of `changeFolder`; CodedError `not_found` (exit 3) if the folder above it does not exist
 */
export async function moveFolder(context: Context, folder: PlacedFolder, target: MoveTarget): Promise<CommandOutcome> {
  const isMissing = isMissingFolder(folder.tree, target.to);
  return changeFolder(context, folder, await folderTarget(context, folder, target, isMissing), 'mv');
}

async function folderTarget(
  context: Context,
  { tree, placed }: PlacedFolder,
  { to, mayCreate }: MoveTarget,
  isMissing: boolean,
): Promise<FolderChange> {
  if (isRootPath(to)) return { parent: null };
  if (!isMissing) return { parent: (await resolveFolder(context, tree, to)).folder.uid };
  const names = parseFolderPath(withoutFolderPrefix(to));
  const above = `/${names.slice(0, -1).join('/')}`;
  const name = names.at(-1) as string;
  const rename = name === placed.name ? {} : { name };
  if (isRootPath(above)) return { parent: null, ...rename };
  for (let depth = 1; depth < names.length; depth++)
    for (const existing of tree.findByPath(names.slice(0, depth).join('/'))) assertMovable(placed, existing);
  if (tree.findByPath(above).length > 0)
    return { parent: (await resolveFolder(context, tree, above)).folder.uid, ...rename };
  if (context.settings.dryRun) return { parent: `(uid of ${above})`, ...rename };
  return { parent: (await ensureFolder(context, above, mayCreate))?.folder.uid ?? null, ...rename };
}

/**
 * Renames or moves a folder, and verifies the change. In a dry run, lists the request instead.
 *
 * @throws the errors of `assertFolderChange`, also in a dry run; CodedError `write_ignored` (exit 6)
 */
async function changeFolder(
  context: Context,
  { workspace, tree, placed }: PlacedFolder,
  change: FolderChange,
  command: 'mv' | 'rename',
): Promise<CommandOutcome> {
  if (context.settings.dryRun) {
    assertFolderChange(tree, placed, change);
    const { folders } = await context.api();
    return dryRunPlan(context, [folders.changeRequest(workspace, placed.folder.uid, tree, change)]);
  }
  const [verb, done] = command === 'rename' ? ['rename', 'renamed'] : ['move', 'moved'];
  const label = { command, summary: `${verb} ${placed.path}` };
  const before = placed.path;
  const changed = await (await context.writer()).changeFolder(placed, change, label);
  announce(context, `${done} ${displayText(before)} to ${displayText(changed.path)}`);
  return withoutRecords(context, { result: folderResult(changed) });
}
