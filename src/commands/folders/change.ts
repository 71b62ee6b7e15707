import type { FolderTree, Placed } from '../../api/folder-tree.ts';
import type { FolderChange } from '../../api/folders.ts';
import type { Context } from '../../context.ts';
import { type Result, record } from '../../terminal/result.ts';
import { planned } from '../planned.ts';
import { folderRecord, folderRows } from './columns.ts';
import { placedAt, readTree } from './resolve.ts';

/** Reads the tree, changes a folder in it, and shows where it is then. */
export async function changed(
  context: Context,
  uidOrPath: string,
  changeOf: (tree: FolderTree, moving: Placed) => FolderChange,
): Promise<Result> {
  const { folders } = await context.api();
  const { tree, workspace } = await readTree(context);
  const placed = placedAt(tree, uidOrPath);
  const { uid } = placed.folder;
  const change = changeOf(tree, placed);
  if (context.settings.dryRun)
    return planned(context, [folders.changing(workspace, uid, tree, change)]);
  const { placed: after } = await folders.change(workspace, uid, tree, change);
  return record(folderRecord(after), uid, folderRows);
}
