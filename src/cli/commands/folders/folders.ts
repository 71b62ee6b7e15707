import { Argument } from '@commander-js/extra-typings';
import { createFolderPath, createFolderRequests, parseFolderPath } from '../../../client/changes/folder-creation.ts';
import type { FolderNode, WorkspaceFolderTree } from '../../../client/library/folder-tree.ts';
import { descendantsOf, isRootPath } from '../../../client/library/library-paths.ts';
import { pluralize } from '../../../shared/figures.ts';
import { displayText, escapeControls, quoteForShell } from '../../../shared/sanitize.ts';
import {
  addExamples,
  type CommandDefinition,
  type CommandOutcome,
  type Define,
  verb,
  withSuggestions,
} from '../../command.ts';
import type { Context } from '../../context.ts';
import type { PlacedFolder } from '../../library/folder-changes.ts';
import { fetchFolderTree, folderHelp, resolveFolder, warnOfOtherCase } from '../../library/folders.ts';
import { announce, withoutRecords } from '../../output/outcome.ts';
import { list as listPages, type RenderContext, type Result, record } from '../../output/result.ts';
import { dryRunPlan } from '../dry-run.ts';
import { assertNamesFolder, createFoldersOption, moveFolder, renameFolder } from '../folder-change.ts';
import { removeFolders } from '../folder-removal.ts';
import { folderColumns, folderRecord, folderResult } from '../folder-view.ts';

export const folders: CommandDefinition = [
  verb('tree', 'show the folders as a tree', async () => tree),
  verb('ls', 'list the folders in a folder', async () => list, 'list'),
  verb('create', 'create a folder', async () => create),
  verb('rename', 'rename a folder', async () => rename),
  verb('mv', 'move a folder into another folder', async () => move),
  verb('rm', 'delete a folder', async () => remove, 'delete'),
];

const tree: Define = (command, run) =>
  addExamples(command, 'mediactl folders tree', "mediactl folders tree --jq '.[].name'")
    .description(
      'Shows the folders of the workspace as a tree. With --json, prints the tree as the service returns it.',
    )
    .action(run(runTree));

async function runTree(context: Context): Promise<Result> {
  const { tree: folders, workspace } = await fetchFolderTree(context);
  if (folders.all.length === 0 && context.terminal.stdout.isTTY) context.terminal.info('no folders');
  const uids = folders.all.map(({ folder }) => folder.uid);
  const uidStore = context.isHumanOutput ? await context.shortUids() : undefined;
  const short = (await uidStore?.shorten('folder', uids)) ?? ((uid: string) => uid);
  const roots = folders.roots.map(({ folder }) => folder);
  return record(roots, workspace, (_record, render) => drawTree(folders.roots, '', render, short));
}

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

const list: Define = (command, run) =>
  addExamples(command, 'mediactl folders ls', 'mediactl folders ls /Campaigns', 'mediactl folders ls -r')
    .description('Lists the folders in a folder, or at the top level. With -r, includes the folders below them.')
    .argument('[folder]', folderHelp)
    .option('-r, --recursive', 'include all folders below')
    .action(run((context, folder, { recursive }) => runList(context, folder, recursive)));

async function runList(context: Context, folder: string | undefined, recursive = false): Promise<Result> {
  const { tree } = await fetchFolderTree(context);
  const top = folder === undefined || isRootPath(folder) ? undefined : await resolveFolder(context, tree, folder);
  const level = top ? top.children : tree.roots;
  const inside = recursive ? level.flatMap((each) => [each, ...descendantsOf(each)]) : level;
  return listPages([inside.map(folderRecord)], folderColumns, 'no folders');
}

const create: Define = (command, run) =>
  addExamples(command, 'mediactl folders create /Campaigns', 'mediactl folders create -p /Campaigns/2026/Spring')
    .description(
      'Creates a folder. With -p, also creates missing parent folders, and accepts a folder that already exists.',
    )
    .addArgument(withSuggestions(new Argument('<path>', 'path such as /Campaigns/2026'), 'folders'))
    .option('-p, --parents', 'create missing parent folders; no error if the folder exists')
    .action(run((context, path, { parents }) => runCreate(context, { names: parseFolderPath(path), parents })));

type CreateFolderRequest = {
  names: readonly string[];
  /** True to create missing parents, and to accept an existing folder. */
  parents: boolean | undefined;
};

export async function runCreate(
  context: Context,
  { names, parents = false }: CreateFolderRequest,
): Promise<CommandOutcome> {
  const wanted = `/${names.join('/')}`;
  const warnIfNew = (tree: WorkspaceFolderTree) => {
    if (tree.findByPath(wanted).length === 0) warnOfOtherCase(context, tree, wanted);
  };
  if (context.settings.dryRun) {
    const fetched = await fetchFolderTree(context);
    warnIfNew(fetched.tree);
    return dryRunPlan(context, createFolderRequests((await context.api()).folders, fetched, names, parents));
  }
  const { node } = await createFolderPath(await context.library(), names, parents, warnIfNew);
  const count = context.changesMade.count('folder', 'created');
  const path = displayText(node.path);
  const above = count > 1 ? ` and ${pluralize(count - 1, 'folder')} above it` : '';
  if (count === 0) announce(context, `${path} exists already`);
  else {
    const undo = `to undo: mediactl folders rm ${quoteForShell(node.path)}`;
    announce(context, `created ${path}${above}`, count === 1 ? undo : undefined);
  }
  return withoutRecords(context, { result: folderResult(node) });
}

const rename: Define = (command, run) =>
  addExamples(command, 'mediactl folders rename /Campaigns/2026 "Spring 2026"')
    .description('Renames a folder. It stays in the same parent folder.')
    .argument('<folder>', folderHelp)
    .argument('<name>', 'new name')
    .action(run(async (context, folder, name) => renameFolder(context, await findFolder(context, folder), name)));

const move: Define = (command, run) =>
  addExamples(
    command,
    'mediactl folders mv /Campaigns/2026 /Archive',
    'mediactl folders mv /Archive/2026 /',
    'mediactl folders mv /2026 /Campaigns/Spring',
  )
    .description(
      'Moves a folder with everything in it into another folder, or to a path that does not exist, whose last part is its new name.',
    )
    .argument('<folder>', folderHelp)
    .argument('<parent>', 'folder to move it into, or its new path; / for the top level')
    .option(...createFoldersOption)
    .action(
      run(async (context, folder, to, { createFolders: mayCreate = false }) => {
        assertNamesFolder(to, (parent) => `mediactl folders mv ${quoteForShell(folder)} ${parent}`);
        return moveFolder(context, await findFolder(context, folder), { to, mayCreate });
      }),
    );

const remove: Define = (command, run) =>
  addExamples(command, 'mediactl folders rm /Campaigns/2026 --yes')
    .description('Deletes an empty folder. To delete everything in it too: mediactl rm -r /FOLDER.')
    .argument('<folder>', folderHelp)
    .action(
      run(async (context, folder) => {
        const { placed } = await findFolder(context, folder);
        const limit = { count: 1, isTyped: false };
        return removeFolders(context, { folders: [placed], assets: [], isRecursive: false, limit });
      }),
    );

/** @throws CodedError `not_found` (exit 3) if there is no such folder */
async function findFolder(context: Context, uidOrPath: string): Promise<PlacedFolder> {
  const { tree, workspace } = await fetchFolderTree(context);
  return { tree, workspace, placed: await resolveFolder(context, tree, uidOrPath) };
}
