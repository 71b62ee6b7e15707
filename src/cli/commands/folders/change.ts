import { Argument, type Command } from '@commander-js/extra-typings';
import type { FolderNode, WorkspaceFolderTree } from '../../../client/api/folder-tree.ts';
import type { FolderChange } from '../../../client/api/folders.ts';
import { exitCodes } from '../../../client/error-table.ts';
import { MediactlError, usageError } from '../../../client/errors.ts';
import { pluralize } from '../../../contract/figures.ts';
import type { Context } from '../../context.ts';
import { countAssets } from '../../library/asset-count.ts';
import { createFolderPath, findMissingFolders, parseFolderPath } from '../../library/folder-creation.ts';
import { descendantsOf, fetchFolderTree, folderHelp, isRootPath, resolveFolder } from '../../library/folders.ts';
import { cachedFolders } from '../../library/name-cache.ts';
import { type Result, record } from '../../output/result.ts';
import { confirm } from '../../terminal/prompt.ts';
import { type ActionWrapper, addExamples, withSuggestions } from '../command.ts';
import { dryRunPlan } from '../dry-run.ts';
import { folderRecord, folderRows } from './columns.ts';

export function create(command: Command, run: ActionWrapper): void {
  addExamples(command, 'mediactl folders create /Campaigns', 'mediactl folders create -p /Campaigns/2026/Spring');
  command
    .summary('create a folder')
    .description(
      'Creates a folder by its path. With -p, creates those above it too, and one that is already there is not an error.',
    )
    .addArgument(withSuggestions(new Argument('<path>', 'path such as /Campaigns/2026'), 'folders'))
    .option('-p, --parents', 'create what is missing above it; no error where it exists')
    .action(
      run(async (context, path, { parents }) => {
        const names = parseFolderPath(path);
        if (context.settings.dryRun) return planCreation(context, names, parents ?? false);
        const { node: made } = await createFolderPath(context, names, parents ?? false);
        return record(folderRecord(made), made.folder.uid, folderRows, { uid: 'folder' });
      }),
    );
}

async function planCreation(context: Context, names: readonly string[], withParents: boolean) {
  const { folders } = await context.api();
  const { tree, workspace } = await fetchFolderTree(context);
  const { missing, above } = findMissingFolders(tree, names, withParents);
  return dryRunPlan(
    context,
    missing.map((name, n) =>
      folders.createRequest(workspace, tree, {
        name,
        parent: n === 0 ? (above?.folder.uid ?? null) : `(uid of ${missing[n - 1]})`,
      }),
    ),
  );
}

export function rename(command: Command, run: ActionWrapper): void {
  addExamples(command, 'mediactl folders rename /Campaigns/2026 "Spring 2026"');
  command
    .summary('give a folder another name')
    .description('Gives a folder another name; it stays where it is.')
    .argument('<folder>', folderHelp)
    .argument('<name>', 'new name')
    .action(
      run(async (context, folder, name) => {
        if (name.includes('/')) throw usageError('a folder name has no slash', 'mediactl folders mv moves it');
        return applyChange(context, folder, async () => ({ name }));
      }),
    );
}

export function move(command: Command, run: ActionWrapper): void {
  addExamples(command, 'mediactl folders mv /Campaigns/2026 /Archive', 'mediactl folders mv /Archive/2026 /');
  command
    .summary('move a folder into another one')
    .description('Moves a folder, with all that is in it, into another one; / is the top level.')
    .argument('<folder>', folderHelp)
    .argument('<parent>', 'where to, by uid or path; / for the top level')
    .action(
      run((context, folder, parent) =>
        applyChange(context, folder, async (tree, moving) => {
          if (isRootPath(parent)) return { parent: null };
          const target = await resolveFolder(context, tree, parent);
          for (let at: typeof target | undefined = target; at; at = at.parent)
            if (at === moving)
              throw usageError(
                `${moving.path} cannot move below itself`,
                'move it elsewhere, or move its folders out of it first',
                `${target.path} is ${target === moving ? 'the folder itself' : 'in it'}`,
              );
          return { parent: target.folder.uid };
        }),
      ),
    );
}

export function remove(command: Command, run: ActionWrapper): void {
  addExamples(command, 'mediactl folders rm /Campaigns/2026 --yes');
  command
    .alias('delete')
    .summary('delete a folder')
    .description(
      'Deletes a folder. Whether one that is not empty may be deleted is up to the service; the sandbox refuses.',
    )
    .argument('<folder>', folderHelp)
    .action(
      run(async (context, folder) => {
        const { folders } = await context.api();
        const { tree, workspace } = await fetchFolderTree(context);
        const placed = await resolveFolder(context, tree, folder);
        const { uid } = placed.folder;
        if (context.settings.dryRun) return dryRunPlan(context, [folders.deleteRequest(workspace, uid)]);
        const canPrompt = context.terminal.isInteractive && !context.settings.yes;
        const holding = canPrompt ? await describeContents(context, placed) : '';
        await confirm(context.terminal, `Delete ${placed.path}${holding}?`, {
          yes: context.settings.yes,
          instead: `mediactl folders rm ${folder} --yes`,
        });
        await folders.delete(workspace, uid).catch((error) => {
          throw error instanceof MediactlError && error.exitCode === exitCodes.rejected
            ? new MediactlError(`the service refused to delete ${placed.path}`, {
                ...error.explanation,
                hint: `empty it first: mediactl ls --folder ${placed.path} -r; mediactl folders ls -r ${placed.path}`,
              })
            : error;
        });
        await cachedFolders(context).invalidate();
        context.terminal.info(`deleted ${placed.path}`);
        return record(folderRecord(placed), uid, folderRows);
      }),
    );
}

/** Maximum number of folders whose assets are counted. Each folder costs a request or two. */
const maxFoldersCounted = 50;

/** Describes what a folder and its subfolders contain: ", which has 16 assets and 6 folders in it". */
async function describeContents(context: Context, placed: FolderNode): Promise<string> {
  const folders = [placed, ...descendantsOf(placed)];
  const counts = await Promise.all(
    folders
      .slice(0, maxFoldersCounted)
      .map(({ folder: { uid } }) => countAssets(context, 'assets', { parent: uid }).catch(() => undefined)),
  );
  const assets = counts.reduce<number>((sum, count) => sum + (count ?? 0), 0);
  const isComplete = folders.length <= maxFoldersCounted && !counts.includes(undefined);
  const atLeast = assets > 0 ? `at least ${pluralize(assets, 'asset')}` : 'an unknown number of assets';
  const has = [
    ...(!isComplete ? [atLeast] : assets > 0 ? [pluralize(assets, 'asset')] : []),
    ...(folders.length > 1 ? [pluralize(folders.length - 1, 'folder')] : []),
  ];
  return has.length > 0 ? `, which has ${has.join(' and ')} in it` : '';
}

/** Changes a folder and returns its updated record. */
async function applyChange(
  context: Context,
  uidOrPath: string,
  changeOf: (tree: WorkspaceFolderTree, moving: FolderNode) => Promise<FolderChange>,
): Promise<Result> {
  const { folders } = await context.api();
  const { tree, workspace } = await fetchFolderTree(context);
  const placed = await resolveFolder(context, tree, uidOrPath);
  const { uid } = placed.folder;
  const change = await changeOf(tree, placed);
  if (context.settings.dryRun) return dryRunPlan(context, [folders.changeRequest(workspace, uid, tree, change)]);
  const { node: after } = await folders.change(workspace, uid, tree, change);
  await cachedFolders(context).invalidate();
  return record(folderRecord(after), uid, folderRows, { uid: 'folder' });
}
