import { Argument } from '@commander-js/extra-typings';
import type { FolderNode, WorkspaceFolderTree } from '../../../client/api/folder-tree.ts';
import type { FolderChange } from '../../../client/api/folders.ts';
import { exitCodes } from '../../../client/error-table.ts';
import { MediactlError, usageError } from '../../../client/errors.ts';
import { pluralize } from '../../../contract/figures.ts';
import { displayText, escapeControls, relativeTime } from '../../../contract/sanitize.ts';
import type { ApiFolder } from '../../../contract/types.ts';
import type { Context } from '../../context.ts';
import { countAssets } from '../../library/asset-count.ts';
import { createFolderPath, findMissingFolders, parseFolderPath } from '../../library/folder-creation.ts';
import { descendantsOf, fetchFolderTree, folderHelp, isRootPath, resolveFolder } from '../../library/folders.ts';
import { cachedFolders } from '../../library/name-cache.ts';
import {
  type Column,
  type DetailRow,
  list as listPages,
  type RenderContext,
  type Result,
  record,
} from '../../output/result.ts';
import { confirm } from '../../terminal/prompt.ts';
import { addExamples, type CommandDefinition, type Define, verb, withSuggestions } from '../command.ts';
import { dryRunPlan } from '../dry-run.ts';

export const folders: CommandDefinition = [
  verb('tree', 'draw the folders of the workspace', async () => tree),
  verb('ls', 'list the folders in a folder', async () => list, 'list'),
  verb('create', 'create a folder', async () => create),
  verb('rename', 'give a folder another name', async () => rename),
  verb('mv', 'move a folder into another one', async () => move),
  verb('rm', 'delete a folder', async () => remove, 'delete'),
];

const tree: Define = (command, run) =>
  addExamples(command, 'mediactl folders tree', "mediactl folders tree --jq '.[].name'")
    .description('Draws the folders of the workspace as a tree. With --json, the tree as the service sent it.')
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
    .description('Lists the folders in a folder, or at the top level; with -r those below them too.')
    .argument('[folder]', folderHelp)
    .option('-r, --recursive', 'all below it')
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
      'Creates a folder by its path. With -p, creates those above it too, and one that is already there is not an error.',
    )
    .addArgument(withSuggestions(new Argument('<path>', 'path such as /Campaigns/2026'), 'folders'))
    .option('-p, --parents', 'create what is missing above it; no error where it exists')
    .action(run((context, path, { parents }) => runCreate(context, { names: parseFolderPath(path), parents })));

type CreateFolderRequest = {
  names: readonly string[];
  /** True to create missing parents, and to accept an existing folder. */
  parents?: boolean | undefined;
};

export async function runCreate(context: Context, { names, parents = false }: CreateFolderRequest): Promise<Result> {
  if (!context.settings.dryRun) {
    const { node } = await createFolderPath(context, names, parents);
    return record(folderRecord(node), node.folder.uid, folderRows, { uid: 'folder' });
  }
  const { folders } = await context.api();
  const { tree, workspace } = await fetchFolderTree(context);
  const { missing, above } = findMissingFolders(tree, names, parents);
  const requests = missing.map((name, n) => {
    const parent = n === 0 ? (above?.folder.uid ?? null) : `(uid of ${missing[n - 1]})`;
    return folders.createRequest(workspace, tree, { name, parent });
  });
  return dryRunPlan(context, requests);
}

const rename: Define = (command, run) =>
  addExamples(command, 'mediactl folders rename /Campaigns/2026 "Spring 2026"')
    .description('Gives a folder another name; it stays where it is.')
    .argument('<folder>', folderHelp)
    .argument('<name>', 'new name')
    .action(
      run(async (context, folder, name) => {
        if (name.includes('/')) throw usageError('a folder name has no slash', 'mediactl folders mv moves it');
        return applyChange(context, folder, async () => ({ name }));
      }),
    );

const move: Define = (command, run) =>
  addExamples(command, 'mediactl folders mv /Campaigns/2026 /Archive', 'mediactl folders mv /Archive/2026 /')
    .description('Moves a folder, with all that is in it, into another one; / is the top level.')
    .argument('<folder>', folderHelp)
    .argument('<parent>', 'where to, by uid or path; / for the top level')
    .action(run(runMove));

const runMove = (context: Context, folder: string, parent: string) =>
  applyChange(context, folder, async (tree, moving) => {
    if (isRootPath(parent)) return { parent: null };
    const target = await resolveFolder(context, tree, parent);
    if (target === moving || descendantsOf(moving).includes(target))
      throw usageError(
        `${moving.path} cannot move below itself`,
        'move it elsewhere, or move its folders out of it first',
        `${target.path} is ${target === moving ? 'the folder itself' : 'in it'}`,
      );
    return { parent: target.folder.uid };
  });

const remove: Define = (command, run) =>
  addExamples(command, 'mediactl folders rm /Campaigns/2026 --yes')
    .description(
      'Deletes a folder. Whether one that is not empty may be deleted is up to the service; the sandbox refuses.',
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
    instead: `mediactl folders rm ${uidOrPath} --yes`,
  });
  await folders.delete(workspace, uid).catch((error) => {
    if (!(error instanceof MediactlError) || error.exitCode !== exitCodes.rejected) throw error;
    const hint = `empty it first: mediactl ls --folder ${placed.path} -r; mediactl folders ls -r ${placed.path}`;
    throw new MediactlError(`the service refused to delete ${placed.path}`, { ...error.explanation, hint });
  });
  await cachedFolders(context).invalidate();
  terminal.info(`deleted ${placed.path}`);
  return record(folderRecord(placed), uid, folderRows);
}

/** Maximum number of folders whose assets are counted. Each folder costs a request or two. */
const maxFoldersCounted = 50;

/** Describes what a folder and its subfolders contain: ", which has 16 assets and 6 folders in it". */
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
  return has.length > 0 ? `, which has ${has.join(' and ')} in it` : '';
}

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

/** Folder in machine-readable output: the service's API record and the folder's path. */
type FolderRecord = ApiFolder & { path: string };

/** Returns a folder's record without its subfolders, because each has its own row. */
function folderRecord({ folder, children, path }: FolderNode): FolderRecord {
  const below = children.map((child) => child.folder);
  const own = Object.entries(folder).filter(
    ([, value]) => !(Array.isArray(value) && value.every((each) => below.includes(each))),
  );
  return { ...(Object.fromEntries(own) as ApiFolder), path };
}

const folderColumns: Column<FolderRecord>[] = [
  { header: 'UID', value: ({ uid }) => escapeControls(uid), uid: 'folder', field: 'uid' },
  { header: 'PATH', value: ({ path }) => escapeControls(path), isFirst: true },
];

const folderRows = ({ path, ...folder }: FolderRecord, { isTerminal, now }: RenderContext): DetailRow[] => [
  ['path', escapeControls(path)],
  ...Object.entries(folder).flatMap(([field, value]): DetailRow[] => {
    if (isTerminal && field.startsWith('parent')) return []; // redundant: the path shows the parent
    const shown = isTerminal && field.endsWith('_at') ? relativeTime(value, now) : displayText(value);
    return [[field.replaceAll('_', ' '), shown]];
  }),
];
