import { Argument } from '@commander-js/extra-typings';
import type { FolderChange } from '../../../client/api/folders.ts';
import { createFolderPath, createFolderRequests, parseFolderPath } from '../../../client/changes/folder-creation.ts';
import { assertFolderName } from '../../../client/changes/folder-rules.ts';
import type { FolderNode, WorkspaceFolderTree } from '../../../client/library/folder-tree.ts';
import { descendantsOf, isRootPath } from '../../../client/library/library-paths.ts';
import { pluralize } from '../../../contract/figures.ts';
import { escapeControls, quoteForShell } from '../../../contract/sanitize.ts';
import { addExamples, type CommandDefinition, type Define, verb, withSuggestions } from '../../command.ts';
import type { Context } from '../../context.ts';
import { countAssets } from '../../library/asset-count.ts';
import { explainRefusal, explainRefusalIn } from '../../library/folder-changes.ts';
import { fetchFolderTree, folderHelp, resolveFolder, warnOfOtherCase } from '../../library/folders.ts';
import { list as listPages, type RenderContext, type Result, record } from '../../output/result.ts';
import { confirm } from '../../terminal/prompt.ts';
import { dryRunPlan } from '../dry-run.ts';
import { changeFolder } from '../folder-change.ts';
import { folderColumns, folderRecord, folderResult, folderRows } from '../folder-view.ts';

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
    .action(run((context, folder, flags) => runList(context, { folder, ...flags })));

type ListFoldersRequest = { folder: string | undefined; recursive?: true | undefined };

async function runList(context: Context, { folder, recursive }: ListFoldersRequest): Promise<Result> {
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
  parents?: boolean | undefined;
};

export async function runCreate(context: Context, { names, parents = false }: CreateFolderRequest): Promise<Result> {
  const { tree } = await fetchFolderTree(context);
  const path = `/${names.join('/')}`;
  if (tree.findByPath(path).length === 0) warnOfOtherCase(context, tree, path);
  if (!context.settings.dryRun) {
    const { node } = await createFolderPath(await context.library(), names, parents);
    return folderResult(node);
  }
  return dryRunPlan(
    context,
    createFolderRequests((await context.api()).folders, await fetchFolderTree(context), names, parents),
  );
}

const rename: Define = (command, run) =>
  addExamples(command, 'mediactl folders rename /Campaigns/2026 "Spring 2026"')
    .description('Renames a folder. It stays in the same parent folder.')
    .argument('<folder>', folderHelp)
    .argument('<name>', 'new name')
    .action(
      run(async (context, folder, name) => {
        assertFolderName(name);
        return runChange(context, folder, async () => ({ name }));
      }),
    );

const move: Define = (command, run) =>
  addExamples(command, 'mediactl folders mv /Campaigns/2026 /Archive', 'mediactl folders mv /Archive/2026 /')
    .description('Moves a folder, with everything in it, into another folder. / is the top level.')
    .argument('<folder>', folderHelp)
    .argument('<parent>', 'folder to move it into; / for the top level')
    .action(run(runMove));

const runMove = (context: Context, folder: string, parent: string) =>
  runChange(context, folder, async (tree) => {
    if (isRootPath(parent)) return { parent: null };
    return { parent: (await resolveFolder(context, tree, parent)).folder.uid };
  });

const remove: Define = (command, run) =>
  addExamples(command, 'mediactl folders rm /Campaigns/2026 --yes')
    .description(
      'Deletes a folder. The service decides whether a folder can be deleted while it has content; the sandbox refuses. To delete the content too: mediactl rm -r /FOLDER.',
    )
    .argument('<folder>', folderHelp)
    .action(run(runRemove));

async function runRemove(context: Context, uidOrPath: string): Promise<Result> {
  const { settings, terminal } = context;
  const { folders } = await context.api();
  const { tree, workspace } = await fetchFolderTree(context);
  const placed = await resolveFolder(context, tree, uidOrPath);
  const { uid } = placed.folder;
  if (settings.dryRun) return dryRunPlan(context, [folders.deleteRequest(workspace, uid)]);
  const contents = terminal.isInteractive && !settings.yes ? await describeContents(context, placed) : '';
  await confirm(terminal, `Delete ${placed.path}${contents}?`, {
    yes: settings.yes,
    instead: `mediactl folders rm ${quoteForShell(uidOrPath)} --yes`,
  });
  const label = { command: 'folders rm', summary: `delete ${placed.path}` };
  const writer = await context.writer();
  await writer.deleteFolder(placed, label, { toError: explainRefusal }).catch(async (error) => {
    throw await explainRefusalIn(context, error);
  });
  terminal.info(`deleted ${placed.path}`);
  return record(folderRecord(placed), uid, folderRows);
}

/** Maximum number of folders whose assets are counted. Each folder costs a request or two. */
const maxFoldersCounted = 50;

/** Describes what a folder and its subfolders contain, which the service may refuse to delete; '' if it is empty. */
async function describeContents(context: Context, placed: FolderNode): Promise<string> {
  const folders = [placed, ...descendantsOf(placed)];
  const countIn = ({ folder: { uid } }: FolderNode) =>
    countAssets(context, 'assets', { parent: uid }).catch(() => undefined);
  const counts = await Promise.all(folders.slice(0, maxFoldersCounted).map(countIn));
  const assets = counts.reduce<number>((sum, count) => sum + (count ?? 0), 0);
  const isComplete = folders.length <= maxFoldersCounted && !counts.includes(undefined);
  const atLeast = assets > 0 ? `at least ${pluralize(assets, 'asset')}` : 'an unknown number of assets';
  const has = [
    ...(!isComplete ? [atLeast] : assets > 0 ? [pluralize(assets, 'asset')] : []),
    ...(folders.length > 1 ? [pluralize(folders.length - 1, 'folder')] : []),
  ];
  return has.length > 0 ? `, which has ${has.join(' and ')} in it, if the service deletes such a folder` : '';
}

async function runChange(
  context: Context,
  uidOrPath: string,
  changeOf: (tree: WorkspaceFolderTree) => Promise<FolderChange>,
): Promise<Result> {
  const { tree, workspace } = await fetchFolderTree(context);
  const placed = await resolveFolder(context, tree, uidOrPath);
  return changeFolder(context, { tree, workspace, placed }, await changeOf(tree));
}
