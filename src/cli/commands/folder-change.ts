import type { FolderChange } from '../../client/api/folders.ts';
import { assertFolderChange } from '../../client/changes/folder-rules.ts';
import type { Context } from '../context.ts';
import type { PlacedFolder } from '../library/folder-changes.ts';
import type { Result } from '../output/result.ts';
import { dryRunPlan } from './dry-run.ts';
import { folderResult } from './folder-view.ts';

/**
 * Renames or moves a folder, and verifies the change. In a dry run, lists the request instead.
 *
 * @throws the errors of `assertFolderChange`, also in a dry run; CodedError `write_ignored` (exit 6)
 */
export async function changeFolder(
  context: Context,
  { workspace, tree, placed }: PlacedFolder,
  change: FolderChange,
): Promise<Result> {
  if (context.settings.dryRun) {
    assertFolderChange(tree, placed, change);
    const { folders } = await context.api();
    return dryRunPlan(context, [folders.changeRequest(workspace, placed.folder.uid, tree, change)]);
  }
  const summary = change.parent === undefined ? `rename ${placed.path}` : `move ${placed.path}`;
  return folderResult(await (await context.writer()).changeFolder(placed, change, { command: 'mv', summary }));
}
