import type { Command } from '@commander-js/extra-typings';
import type { FolderNode } from '../../../client/api/folder-tree.ts';
import { escapeControls } from '../../../contract/sanitize.ts';
import { descendantsOf, fetchFolderTree, folderHelp, isRootPath, resolveFolder } from '../../library/folders.ts';
import { list as listPages, type RenderContext, record } from '../../output/result.ts';
import { type ActionWrapper, addExamples, type CommandDefinition } from '../command.ts';
import { create, move, remove, rename } from './change.ts';
import { folderColumns, folderRecord } from './columns.ts';

export const folders: CommandDefinition = (noun, run) => {
  tree(noun.command('tree'), run);
  list(noun.command('ls'), run);
  create(noun.command('create'), run);
  rename(noun.command('rename'), run);
  move(noun.command('mv'), run);
  remove(noun.command('rm'), run);
};

function tree(command: Command, run: ActionWrapper): void {
  addExamples(command, 'mediactl folders tree', "mediactl folders tree --jq '.[].name'");
  command
    .summary('draw the folders of the workspace')
    .description('Draws the folders of the workspace as a tree. With --json, the tree as the service sent it.')
    .action(
      run(async (context) => {
        const { tree: folders, workspace } = await fetchFolderTree(context);
        if (folders.all.length === 0 && context.terminal.stdout.isTTY) context.terminal.info('no folders');
        const uids = folders.all.map(({ folder }) => folder.uid);
        const uidStore = context.isHumanOutput ? await context.shortUids() : undefined;
        const short = (await uidStore?.shorten('folder', uids)) ?? ((uid: string) => uid);
        return record(
          folders.roots.map(({ folder }) => folder),
          workspace,
          (_record, render) => drawTree(folders.roots, '', render, short),
        );
      }),
    );
}

/** Draws folders as an indented tree, like the `tree` command. */
function drawTree(
  level: readonly FolderNode[],
  indent: string,
  render: RenderContext,
  short: (uid: string) => string,
): string {
  return level
    .map((placed, at) => {
      const isLast = at === level.length - 1;
      const name = `${escapeControls(placed.name)}  ${render.colors.dim(escapeControls(short(placed.folder.uid)))}`;
      const below = drawTree(placed.children, indent + (isLast ? '    ' : '│   '), render, short);
      return `${render.colors.dim(indent + (isLast ? '└── ' : '├── '))}${name}\n${below}`;
    })
    .join('');
}

function list(command: Command, run: ActionWrapper): void {
  addExamples(command, 'mediactl folders ls', 'mediactl folders ls /Campaigns', 'mediactl folders ls -r');
  command
    .alias('list')
    .summary('list the folders in a folder')
    .description('Lists the folders in a folder, or at the top level; with -r those below them too.')
    .argument('[folder]', folderHelp)
    .option('-r, --recursive', 'all below it')
    .action(
      run(async (context, folder, { recursive }) => {
        const { tree } = await fetchFolderTree(context);
        const top = folder === undefined || isRootPath(folder) ? undefined : await resolveFolder(context, tree, folder);
        const level = top ? top.children : tree.roots;
        const inside = recursive ? level.flatMap((each) => [each, ...descendantsOf(each)]) : level;
        return listPages([inside.map(folderRecord)], folderColumns, 'no folders');
      }),
    );
}
