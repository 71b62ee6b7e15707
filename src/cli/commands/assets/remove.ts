import type { Command } from '@commander-js/extra-typings';
import { itemsOf } from '../../../client/api/pagination.ts';
import type { ChangeHooks } from '../../../client/changes/carry-out.ts';
import { folderItem } from '../../../client/changes/items.ts';
import { CodedError, usageError } from '../../../client/errors.ts';
import { listFolders } from '../../../client/library/filter-checks.ts';
import type { FolderNode } from '../../../client/library/folder-tree.ts';
import {
  descendantsOf,
  isLibraryPath,
  isRootPath,
  withoutFolderPrefix,
} from '../../../client/library/library-paths.ts';
import { hasFilters, type SelectedAsset } from '../../../client/library/select-assets.ts';
import { startAge } from '../../../contract/clock.ts';
import { pluralize } from '../../../contract/figures.ts';
import { asText } from '../../../contract/json-values.ts';
import type { Collection } from '../../../contract/paths.ts';
import { escapeControls, quoteForShell } from '../../../contract/sanitize.ts';
import type { AssetRecord } from '../../../contract/types.ts';
import { type ActionWrapper, addExamples, type FlagsOf } from '../../command.ts';
import type { Context } from '../../context.ts';
import { anyWorkspaceOption, idsHelp, newestOption, selectListed } from '../../library/asset-ids.ts';
import { explainRefusal } from '../../library/folder-changes.ts';
import { fetchFolderTree, resolveFolder } from '../../library/folders.ts';
import { NoAssetError } from '../../library/no-asset-error.ts';
import { runChange } from '../../library/run-change.ts';
import { bulkResult, toOutcomes, type WriteOutcome } from '../bulk-result.ts';
import { confirmMany, parseWriteLimit, truncateLines } from '../confirm-many.ts';
import { dryRunPlan } from '../dry-run.ts';
import { parseFilters, withFilters } from '../filters.ts';
import { confirmBulk, dryRunBulk, resolveTargets, type TargetRequest } from './bulk.ts';

export function remove(command: Command, run: ActionWrapper, collection: Collection): void {
  addExamples(
    command,
    `mediactl ${collection} rm @last`,
    ...(collection === 'assets' ? ["mediactl rm '/Inbox/A00*' --dry-run", 'mediactl rm -r /Old --dry-run'] : []),
    `mediactl ${collection} rm --tag rushes --created-before 90d --max-changes 500 --yes`,
    `mediactl ${collection} rm --search test --dry-run`,
  );
  addRemoveOptions(command, collection).action(
    run(async (context, ids, flags) =>
      runRemove(context, await parseRemoveRequest(context, { collection, ids }, flags)),
    ),
  );
}

function addRemoveOptions(command: Command, collection: Collection) {
  const described = command
    .description(
      `Moves the given ${collection}, or all that match the filters, to the trash. The API cannot restore them.`,
    )
    .argument('[id...]', idsHelp);
  const filtered = withFilters(described, collection)
    .option('--max-changes <number>', 'maximum number of assets (100)')
    .option(...newestOption)
    .option(...anyWorkspaceOption);
  const withRecursive = () =>
    filtered.option('-r, --recursive', 'delete folders, given by path, with everything in them');
  return collection === 'assets' ? withRecursive() : (filtered as unknown as ReturnType<typeof withRecursive>);
}

type RemoveRequest = TargetRequest & {
  /** Paths of folders to delete with everything in them. */
  folders: readonly string[];
};

/** @throws CodedError `usage` (exit 2) if a folder is given without --recursive */
async function parseRemoveRequest(
  context: Context,
  { collection, ids: typed }: Pick<TargetRequest, 'collection' | 'ids'>,
  flags: FlagsOf<typeof addRemoveOptions>,
): Promise<RemoveRequest> {
  const limit = parseWriteLimit(flags.maxChanges);
  const filters = await parseFilters(context, flags);
  if (typed.some(isRootPath))
    throw usageError('the top level cannot be deleted', "mediactl rm '/**', to move all assets to the trash");
  const { tree } = flags.recursive ? await fetchFolderTree(context) : { tree: undefined };
  const isFolder = (id: string) => isLibraryPath(id) && (tree?.findByPath(withoutFolderPrefix(id)).length ?? 0) > 0;
  const folders = typed.filter(isFolder);
  if (flags.recursive && folders.length === 0)
    throw usageError('--recursive needs a folder that exists', 'mediactl rm -r /FOLDER; a glob matches assets only');
  if (folders.length > 0 && hasFilters(filters))
    throw usageError('folders and filters cannot be used together', 'mediactl rm --folder /FOLDER, with the filters');
  const ids = typed.filter((id) => !isFolder(id));
  const { newest, anyWorkspace } = flags;
  return { verb: 'rm', collection, ids, filters, limit, newest, anyWorkspace, folders };
}

async function runRemove(context: Context, request: RemoveRequest) {
  if (request.folders.length > 0) return removeFolders(context, request);
  const { collection, limit } = request;
  const ageMs = startAge(context.clock);
  const { targets } = await resolveTargets(context, request).catch(suggestRecursive);
  const { [collection]: assets } = await context.api();
  const requests = () => targets.map(({ uid }) => assets.deleteRequest(uid));
  if (context.settings.dryRun) return dryRunBulk(context, collection, targets, requests());
  await confirmBulk(context, collection, targets, { action: (what) => `move ${what} to the trash`, limit });
  const outcomes = await trash(context, collection, targets, { ageMs });
  return bulkResult(context, outcomes, { outcome: 'deleted', label: 'moved to the trash', noun: collection });
}

/** Adds the hint to use -r if the path of a folder was given. */
function suggestRecursive(error: unknown): never {
  const isFolder = error instanceof NoAssetError && error.isFolder;
  throw isFolder ? error.with({ hint: `mediactl rm -r ${quoteForShell(error.typed)}` }) : error;
}

async function trash(
  context: Context,
  collection: Collection,
  targets: readonly SelectedAsset[],
  { isRetry = false, ageMs }: { isRetry?: boolean; ageMs?: () => number },
): Promise<WriteOutcome[]> {
  const { items } = await (await context.writer()).plan(targets, null, { collection });
  // If it is a retry, the response of an earlier attempt might have been lost.
  const change = { command: 'rm', summary: 'move to the trash', items, collection, acceptsMissing: isRetry, ageMs };
  const outcomes = targets.length === 0 ? [] : toOutcomes(await runChange(context, change));
  const count = outcomes.filter(({ error }) => !error).length;
  if (count > 0)
    context.terminal.info(`${count} moved to the trash; the API cannot restore ${count === 1 ? 'it' : 'them'}`);
  return outcomes;
}

/**
 * Moves all assets in the folders to the trash, then deletes the folders, the deepest first. Keeps the folders if an
 * asset fails, and any folder to which an asset or a folder was added meanwhile.
 */
async function removeFolders(context: Context, request: RemoveRequest) {
  const { limit, folders: paths } = request;
  const ageMs = startAge(context.clock);
  const { tree, workspace } = await fetchFolderTree(context);
  const { assets, folders: foldersApi } = await context.api();
  const nodes = new Set<FolderNode>();
  for (const path of paths) {
    const top = await resolveFolder(context, tree, path);
    for (const node of [top, ...descendantsOf(top)]) nodes.add(node);
  }
  const others = request.ids.length > 0 ? (await resolveTargets(context, request)).targets : [];
  const listed = await listContents(context, request, nodes);
  const targets = new Map([...others, ...listed].map((target) => [target.uid, target]));
  const deepestFirst = [...nodes].sort((one, other) => other.path.split('/').length - one.path.split('/').length);
  if (context.settings.dryRun)
    return dryRunPlan(context, [
      ...[...targets.keys()].map((uid) => assets.deleteRequest(uid)),
      ...deepestFirst.map(({ folder }) => foldersApi.deleteRequest(workspace, folder.uid)),
    ]);
  const parts = [
    ...(targets.size > 0 ? [`move ${pluralize(targets.size, 'asset')} to the trash`] : []),
    `delete ${nodes.size === 1 ? deepestFirst[0]?.path : pluralize(nodes.size, 'folder')}`,
  ];
  await confirmMany(context, {
    count: targets.size + nodes.size,
    noun: 'assets and folders',
    limit,
    what: parts.join(' and '),
    lines: async () =>
      truncateLines(
        [
          ...deepestFirst.map(({ path }) => path).sort(),
          ...[...targets.values()].map(({ record, uid }) => asText(record?.name) ?? uid),
        ].map((line) => `  ${escapeControls(line)}`),
        targets.size + nodes.size,
      ),
  });
  // While the question was open, assets and folders might have been moved elsewhere.
  const still = context.settings.yes ? listed : await listContents(context, request, await unmoved(context, nodes));
  const kept = new Set([...others, ...still].map(({ uid }) => uid));
  const remaining = [...targets.values()].filter(({ uid }) => kept.has(uid));
  const outcomes = await trash(context, request.collection, remaining, { isRetry: true, ageMs });
  if (outcomes.every(({ error }) => !error)) outcomes.push(...(await deleteEmptied(context, workspace, deepestFirst)));
  return bulkResult(context, outcomes, { outcome: 'deleted', label: 'deleted', noun: 'assets and folders' });
}

/** Returns the folders that are still at their path. */
async function unmoved(context: Context, nodes: Iterable<FolderNode>): Promise<FolderNode[]> {
  const { tree } = await fetchFolderTree(context, { isFresh: true });
  return [...nodes].filter(({ folder, path }) => tree.find(folder.uid)?.path === path);
}

/** Deletes empty folders, the deepest first. Keeps one that was moved, or that is not empty any more, and those above. */
async function deleteEmptied(
  context: Context,
  workspace: string,
  deepestFirst: readonly FolderNode[],
): Promise<WriteOutcome[]> {
  const { assets } = await context.api();
  const { tree } = await fetchFolderTree(context, { isFresh: true });
  const toDelete = new Set(deepestFirst.map(({ folder }) => folder.uid));
  const assertEmpty = async ({ folder, path }: FolderNode): Promise<'skip' | undefined> => {
    const now = tree.find(folder.uid);
    if (!now) return 'skip'; // another process has deleted it
    if (now.path !== path) throw notDeleted(now.path, `it was moved there from ${path} meanwhile`);
    const hasKeptFolder = now.children.some((child) => !toDelete.has(child.folder.uid));
    if (hasKeptFolder || itemsOf(await assets.page({ parent: folder.uid }, 1, 0)).length > 0)
      throw notDeleted(path, 'it contains an asset or a folder that was not deleted');
    return undefined;
  };
  const hooks: ChangeHooks = {
    beforeItem: ({ seq }) => assertEmpty(deepestFirst[seq] as FolderNode),
    toError: (error, item) => {
      toDelete.delete(item.uid); // so the folder above it is not empty
      return explainRefusal(error, item);
    },
  };
  const items = deepestFirst.map((node) => folderItem(node, null));
  return toOutcomes(await runChange(context, { command: 'rm', summary: 'delete folders', workspace, items }, hooks));
}

const notDeleted = (path: string, reason: string) =>
  new CodedError(`${path} was not deleted`, {
    subcode: 'conflict',
    reason,
    hint: `mediactl ls ${quoteForShell(path)}`,
  });

async function listContents(
  context: Context,
  request: RemoveRequest,
  nodes: Iterable<FolderNode>,
): Promise<SelectedAsset[]> {
  const { assets } = await context.api();
  const found: AssetRecord[] = [];
  const parents = [...nodes].map(({ folder }) => folder.uid);
  for await (const { page } of listFolders(assets, parents, { verb: 'rm' })) found.push(...page);
  return selectListed(context, found, request);
}
