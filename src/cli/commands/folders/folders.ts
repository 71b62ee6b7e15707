import type { FolderNode } from '../../../client/api/folder-tree.ts';
import { escapeControls } from '../../../contract/sanitize.ts';
import type { Context } from '../../context.ts';
import { descendantsOf, fetchFolderTree, folderHelp, isRootPath, resolveFolder } from '../../library/folders.ts';
import { list as listPages, type RenderContext, type Result, record } from '../../output/result.ts';
import { addExamples, type CommandDefinition, type Define, verb } from '../command.ts';
import { folderColumns, folderRecord } from './columns.ts';

export const folders: CommandDefinition = [
  verb('tree', 'draw the folders of the workspace', async () => tree),
  verb('ls', 'list the folders in a folder', async () => list, 'list'),
  verb('create', 'create a folder', async () => (await import('./change.ts')).create),
  verb('rename', 'give a folder another name', async () => (await import('./change.ts')).rename),
  verb('mv', 'move a folder into another one', async () => (await import('./change.ts')).move),
  verb('rm', 'delete a folder', async () => (await import('./change.ts')).remove, 'delete'),
];

const tree: Define = (command, run) => {
  addExamples(command, 'mediactl folders tree', "mediactl folders tree --jq '.[].name'");
  command
    .description('Draws the folders of the workspace as a tree. With --json, the tree as the service sent it.')
    .action(run(runTree));
};

async function runTree(context: Context): Promise<Result> {
  const { tree: folders, workspace } = await fetchFolderTree(context);
  if (folders.all.length === 0 && context.terminal.stdout.isTTY) context.terminal.info('no folders');
  const uids = folders.all.map(({ folder }) => folder.uid);
  const uidStore = context.isHumanOutput ? await context.shortUids() : undefined;
  const short = (await uidStore?.shorten('folder', uids)) ?? ((uid: string) => uid);
  const roots = folders.roots.map(({ folder }) => folder);
  return record(roots, workspace, (_record, render) => drawTree(folders.roots, '', render, short));
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

const list: Define = (command, run) => {
  addExamples(command, 'mediactl folders ls', 'mediactl folders ls /Campaigns', 'mediactl folders ls -r');
  command
    .description('Lists the folders in a folder, or at the top level; with -r those below them too.')
    .argument('[folder]', folderHelp)
    .option('-r, --recursive', 'all below it')
    .action(run((context, folder, flags) => runList(context, { folder, ...flags })));
};

type ListFoldersRequest = { folder: string | undefined; recursive?: true | undefined };

async function runList(context: Context, { folder, recursive }: ListFoldersRequest): Promise<Result> {
  const { tree } = await fetchFolderTree(context);
  const top = folder === undefined || isRootPath(folder) ? undefined : await resolveFolder(context, tree, folder);
  const level = top ? top.children : tree.roots;
  const inside = recursive ? level.flatMap((each) => [each, ...descendantsOf(each)]) : level;
  return listPages([inside.map(folderRecord)], folderColumns, 'no folders');
}
