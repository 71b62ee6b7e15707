import type { ChangeHooks } from '../../client/changes/carry-out.ts';
import { folderItem } from '../../client/changes/items.ts';
import { asCodedError, CodedError, usageError } from '../../client/errors.ts';
import { lookInto } from '../../client/library/folder-reader.ts';
import type { FolderNode } from '../../client/library/folder-tree.ts';
import { descendantsOf } from '../../client/library/library-paths.ts';
import type { SelectedAsset } from '../../client/library/select-assets.ts';
import type { Collection } from '../../contract/paths.ts';
import type { AssetRecord } from '../../contract/types.ts';
import { startAge } from '../../shared/clock.ts';
import { capitalize, pluralize } from '../../shared/figures.ts';
import { displayText, quoteForShell } from '../../shared/sanitize.ts';
import type { CommandOutcome } from '../command.ts';
import type { Context } from '../context.ts';
import { countAssets } from '../library/asset-count.ts';
import { type IdOptions, selectListed } from '../library/asset-ids.ts';
import { explainRefusal, explainRefusalIn } from '../library/folder-changes.ts';
import { fetchFolderTree } from '../library/folders.ts';
import { runChange } from '../library/run-change.ts';
import { announce, phrase, withoutRecords } from '../output/outcome.ts';
import { confirm } from '../terminal/prompt.ts';
import { bulkResult, readBackText, toOutcomes, type WriteOutcome } from './bulk-result.ts';
import { confirmMany, type WriteLimit } from './confirm-many.ts';
import {
  cannotRestore,
  deletionLines,
  describeAssets,
  dryRunDeletion,
  type ListedItem,
  maxDeletionLines,
  moveToTrash,
  readUnknown,
} from './deletion.ts';

type RemovalRequest = Pick<IdOptions, 'anyWorkspace'> & {
  folders: readonly FolderNode[];
  assets: readonly SelectedAsset[];
  /** True to delete everything in the folders, too. Without it, they must be empty. */
  isRecursive: boolean;
  limit: WriteLimit;
};

/** Folders to delete, the deepest first, and the assets that go with them. */
type Removal = Awaited<ReturnType<typeof planRemoval>>;

const collection: Collection = 'assets';

/**
 * Deletes folders, after a confirmation: with everything in them, or only if they are empty. First moves all assets to the
 * trash, then deletes the folders, the deepest first. Keeps the folders if an asset fails, and any folder to which an
 * asset or a folder was added meanwhile.
 *
 * @throws CodedError `conflict` (exit 6) if a folder is not empty; the errors of `confirmMany`
 */
export async function removeFolders(context: Context, request: RemovalRequest): Promise<CommandOutcome> {
  const ageMs = startAge(context.clock);
  const unknownCount = request.isRecursive ? 0 : await assertEmpty(context, request.folders);
  const removal = await planRemoval(context, request);
  const { workspace, folders, assets } = removal;
  const what = describeRemoval(removal);
  const count = assets.length + folders.length;
  if (context.settings.dryRun) return dryRun(context, removal, what);
  // The user has agreed already if nothing else goes.
  if (unknownCount < count)
    await confirmMany(context, {
      ...{ count, noun: 'assets and folders', limit: request.limit, what, warning: cannotRestore(count) },
      lines: async () => deletionLines(context, await describeItems(context, removal), count),
    });
  const outcomes = await moveToTrash(context, await stillInside(context, request, removal), {
    ...{ collection, ageMs, acceptsMissing: true }, // if it is a retry, the response of an earlier attempt might be lost
  });
  const moved = outcomes.filter(({ error }) => !error);
  const trashed = moved.length;
  const isEmptied = trashed === outcomes.length;
  const deleted = isEmptied ? await deleteEmptied(context, { workspace, isUnknown: unknownCount > 0 }, folders) : [];
  const gone = deleted.filter(({ error }) => !error);
  const done = [
    ...(trashed > 0 ? [`moved ${phrase(outcomes, 'asset')} to the trash${readBackText(moved)}`] : []),
    ...(gone.length > 0 ? [`deleted ${phrase(deleted, 'folder')}`] : []),
  ].join(' and ');
  announce(context, done, cannotRestore(trashed + gone.length));
  const records = { outcome: 'deleted', label: 'deleted', noun: 'assets and folders' } as const;
  return withoutRecords(context, bulkResult(context, [...outcomes, ...deleted], records));
}

const describeRemoval = ({ folders, assets }: Removal) =>
  [
    ...(assets.length > 0 ? [`move ${pluralize(assets.length, 'asset')} to the trash`] : []),
    `delete ${folders.length === 1 ? folders[0]?.path : pluralize(folders.length, 'folder')}`,
  ].join(' and ');

async function planRemoval(context: Context, request: RemovalRequest) {
  const { workspace } = await fetchFolderTree(context);
  const nodes = new Set<FolderNode>();
  for (const top of request.folders)
    for (const node of request.isRecursive ? [top, ...descendantsOf(top)] : [top]) nodes.add(node);
  const paths = new Map<string, string>();
  const listed = request.isRecursive ? await listContents(context, request, nodes, paths) : [];
  return {
    workspace,
    folders: [...nodes].sort((one, other) => other.path.split('/').length - one.path.split('/').length),
    assets: [...new Map([...request.assets, ...listed].map((asset) => [asset.uid, asset])).values()],
    /** Returns the path of the folder of an asset in them. */
    pathOf: (uid: string) => paths.get(uid),
  };
}

/** @param paths gets the folder of each asset, by the asset's uid */
async function listContents(
  context: Context,
  { anyWorkspace }: RemovalRequest,
  nodes: Iterable<FolderNode>,
  paths?: Map<string, string>,
): Promise<SelectedAsset[]> {
  const { folderReader } = await context.library();
  const found: AssetRecord[] = [];
  const byUid = new Map([...nodes].map((node) => [node.folder.uid, node.path]));
  for await (const { parent, page } of folderReader.listEach([...byUid.keys()], { verb: 'rm' })) {
    found.push(...page);
    for (const { uid } of page) paths?.set(uid, byUid.get(parent) as string);
  }
  return selectListed(context, found, { anyWorkspace }, 'folder');
}

/** Returns the assets to move to the trash: those that were not moved elsewhere while the question was open. */
async function stillInside(context: Context, request: RemovalRequest, removal: Removal): Promise<SelectedAsset[]> {
  if (context.settings.yes || !request.isRecursive) return [...removal.assets];
  const { tree } = await fetchFolderTree(context, { isFresh: true });
  const unmoved = removal.folders.filter(({ folder, path }) => tree.find(folder.uid)?.path === path);
  const kept = new Set([...request.assets, ...(await listContents(context, request, unmoved))].map(({ uid }) => uid));
  return removal.assets.filter(({ uid }) => kept.has(uid));
}

const describeFolder = ({ folder, path, name }: FolderNode): ListedItem => ({
  ...{ uid: '', label: `${name}/`, name, folder: path.slice(0, -name.length - 1) || '/' },
  ...{ size_bytes: null, created_at: typeof folder.created_at === 'string' ? folder.created_at : null },
});

/** Describes what goes, as far as the question lists it. */
async function describeItems(context: Context, { folders, assets, pathOf }: Removal): Promise<ListedItem[]> {
  const known = await readUnknown(context, collection, assets.slice(0, maxDeletionLines));
  return [...[...folders].reverse().map(describeFolder), ...(await describeAssets(context, known, pathOf))];
}

async function dryRun(context: Context, removal: Removal, what: string): Promise<CommandOutcome> {
  const { assets: assetsApi, folders: foldersApi, transport } = await context.api();
  const { workspace, folders, assets, pathOf } = removal;
  const known = await readUnknown(context, collection, assets);
  const described = await describeAssets(context, known, pathOf);
  return dryRunDeletion(context, what, transport.baseUrl, [
    ...described.map((item) => ({ request: assetsApi.deleteRequest(item.uid), item })),
    ...folders.map((node) => ({
      request: foldersApi.deleteRequest(workspace, node.folder.uid),
      item: describeFolder(node),
    })),
  ]);
}

/**
 * Looks into folders that are to be deleted only if they are empty. Asks about those that the API cannot list.
 *
 * @returns number of folders that the user agreed to delete although what is in them is not known
 * @throws CodedError `conflict` (exit 6) if a folder has folders or assets in it; `usage` (exit 2) if it may not ask
 */
async function assertEmpty(context: Context, folders: readonly FolderNode[]): Promise<number> {
  const { terminal, settings } = context;
  let unknownCount = 0;
  for (const placed of folders) {
    const content = placed.children.length > 0 ? 'folders' : await lookInto(await context.api(), placed.folder.uid);
    if (content === 'empty') continue;
    if (content !== 'unknown') throw await notEmpty(context, placed);
    unknownCount++;
    const problem = `cannot tell whether ${displayText(placed.path)} is empty`;
    if (!terminal.isInteractive || settings.yes)
      throw usageError(
        problem,
        'run it on a terminal without --yes, which asks',
        'the API lists the folders of the primary workspace only',
      );
    if (settings.dryRun) terminal.info(problem);
    else await confirm(context, `${capitalize(problem)}. Delete it with all that is in it?`);
  }
  return unknownCount;
}

async function notEmpty(context: Context, placed: FolderNode): Promise<unknown> {
  const refusal = new CodedError(`${placed.path} is not empty`, {
    subcode: 'conflict',
    reason: `it has ${await describeContents(context, placed)} in it`,
    hint: `mediactl rm -r ${quoteForShell(placed.path)}, to delete everything in it too`,
  });
  return explainRefusalIn(context, refusal);
}

/** Maximum number of folders whose assets are counted. Each folder costs a request or two. */
const maxFoldersCounted = 50;

/** Describes what a folder and its subfolders contain, such as `4 assets and 1 folder`. */
async function describeContents(context: Context, placed: FolderNode): Promise<string> {
  const folders = [placed, ...descendantsOf(placed)];
  const countIn = ({ folder: { uid } }: FolderNode) =>
    countAssets(context, collection, { parent: uid }).catch(() => undefined);
  const counts = await Promise.all(folders.slice(0, maxFoldersCounted).map(countIn));
  const assets = counts.reduce<number>((sum, count) => sum + (count ?? 0), 0);
  const isComplete = folders.length <= maxFoldersCounted && !counts.includes(undefined);
  const atLeast = assets > 0 ? `at least ${pluralize(assets, 'asset')}` : 'an unknown number of assets';
  return [
    ...(!isComplete ? [atLeast] : assets > 0 ? [pluralize(assets, 'asset')] : []),
    ...(folders.length > 1 ? [pluralize(folders.length - 1, 'folder')] : []),
  ].join(' and ');
}

/** Deletes empty folders, the deepest first. Keeps one that was moved, or that is not empty any more, and those above. */
async function deleteEmptied(
  context: Context,
  { workspace, isUnknown }: { workspace: string; isUnknown: boolean },
  deepestFirst: readonly FolderNode[],
): Promise<WriteOutcome[]> {
  const { tree, ageMs } = await fetchFolderTree(context, { isFresh: true });
  const toDelete = new Set(deepestFirst.map(({ folder }) => folder.uid));
  const assertStillEmpty = async (node: FolderNode): Promise<'skip' | undefined> => {
    const now = tree.find(node.folder.uid);
    if (!now) return 'skip'; // another process has deleted it
    if (now.path !== node.path) throw notDeleted(now.path, `it was moved there from ${node.path} meanwhile`);
    const hasKeptFolder = now.children.some((child) => !toDelete.has(child.folder.uid));
    if (hasKeptFolder) throw notDeleted(node.path, 'it contains a folder that was not deleted');
    return undefined;
  };
  const hooks: ChangeHooks = {
    beforeItem: ({ seq }) => assertStillEmpty(deepestFirst[seq] as FolderNode),
    toError: (error, item) => {
      toDelete.delete(item.uid); // so the folder above it is not empty
      const { subcode, hint } = error.explanation;
      if (subcode !== 'conflict' || hint !== undefined) return explainRefusal(error, item);
      return notDeleted(item.name ?? '', 'it contains an asset that was not deleted');
    },
  };
  const items = deepestFirst.map((node) => folderItem(node, null));
  const acceptsContent = isUnknown ? 'unknown' : undefined;
  const [only] = deepestFirst;
  const summary = deepestFirst.length === 1 ? `delete ${only?.path}` : 'delete folders';
  const outcomes = toOutcomes(
    await runChange(context, { command: 'rm', summary, workspace, items, acceptsContent, ageMs }, hooks),
  );
  const explained: WriteOutcome[] = [];
  for (const { error, ...outcome } of outcomes)
    explained.push({ ...outcome, error: error && asCodedError(await explainRefusalIn(context, error)) });
  return explained;
}

const notDeleted = (path: string, reason: string) =>
  new CodedError(`${displayText(path)} was not deleted`, {
    subcode: 'conflict',
    reason,
    hint: `mediactl ls ${quoteForShell(path)}`,
  });
