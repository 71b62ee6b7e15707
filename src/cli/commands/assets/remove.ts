import type { Command } from '@commander-js/extra-typings';
import { asCodedError, usageError } from '../../../client/errors.ts';
import { isGlob } from '../../../client/glob.ts';
import type { FolderNode } from '../../../client/library/folder-tree.ts';
import { isLibraryPath, isRootPath } from '../../../client/library/library-paths.ts';
import { findAssets, hasFilters, type SelectedAsset } from '../../../client/library/select-assets.ts';
import type { Collection } from '../../../contract/paths.ts';
import { itemNouns } from '../../../contract/paths.ts';
import { startAge } from '../../../shared/clock.ts';
import { pluralize } from '../../../shared/figures.ts';
import { type ActionWrapper, addExamples, type CommandOutcome, type FlagsOf } from '../../command.ts';
import type { Context } from '../../context.ts';
import { anyWorkspaceOption, idsHelp, newestOption } from '../../library/asset-ids.ts';
import { fetchFolderTree, resolveFolder } from '../../library/folders.ts';
import { changeResult } from '../../output/outcome.ts';
import { bulkResult, readBackText } from '../bulk-result.ts';
import { confirmMany, maxChangesOption } from '../confirm-many.ts';
import {
  cannotRestore,
  deletionLines,
  describeAssets,
  dryRunDeletion,
  maxDeletionLines,
  moveToTrash,
  readUnknown,
} from '../deletion.ts';
import { withFilters } from '../filters.ts';
import { isFolderPath } from '../folder-change.ts';
import { removeFolders } from '../folder-removal.ts';
import { parseTargets, pickOption, resolveTargets, type TargetRequest } from './bulk.ts';

export function remove(command: Command, run: ActionWrapper, collection: Collection): void {
  addExamples(
    command,
    `mediactl ${collection} rm @last`,
    ...(collection === 'assets'
      ? ["mediactl rm '/Inbox/A00*' --dry-run", 'mediactl rm --pick', 'mediactl rm -r /Old --dry-run']
      : []),
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
      `Moves the given ${collection}, or all that match the filters, to the trash. The API cannot restore them.${collection === 'assets' ? ' Also deletes empty folders, and with -r others with everything in them.' : ''}`,
    )
    .argument('[id...]', idsHelp);
  const filtered = withFilters(described, collection)
    .option(...maxChangesOption)
    .option(...newestOption)
    .option(...anyWorkspaceOption);
  const withAssetOptions = () =>
    filtered.option(...pickOption).option('-r, --recursive', 'delete folders, given by path, with everything in them');
  return collection === 'assets' ? withAssetOptions() : (filtered as unknown as ReturnType<typeof withAssetOptions>);
}

type RemoveRequest = TargetRequest & {
  folders: readonly FolderNode[];
  isRecursive: boolean;
};

/** @throws CodedError `usage` (exit 2) if --recursive is given without a folder, or folders with filters */
async function parseRemoveRequest(
  context: Context,
  { collection, ids: typed }: Pick<TargetRequest, 'collection' | 'ids'>,
  flags: FlagsOf<typeof addRemoveOptions>,
): Promise<RemoveRequest> {
  const request = await parseTargets(context, { verb: 'rm', collection, ids: typed }, flags);
  if (typed.some(isRootPath))
    throw usageError('the top level cannot be deleted', "mediactl rm '/**', to move all assets to the trash");
  const isRecursive = flags.recursive === true;
  const folders = collection === 'assets' ? await findFolders(context, typed, isRecursive) : new Map();
  if (flags.pick && folders.size > 0)
    throw usageError('--pick and folders cannot be used together', 'leave out one of them');
  if (isRecursive && folders.size === 0)
    throw usageError('--recursive needs a folder that exists', 'mediactl rm -r /FOLDER; a glob matches assets only');
  if (folders.size > 0 && hasFilters(request.filters))
    throw usageError('folders and filters cannot be used together', 'mediactl rm --folder /FOLDER, with the filters');
  return { ...request, ids: typed.filter((id) => !folders.has(id)), folders: [...folders.values()], isRecursive };
}

/** Returns the folders at those of the paths that lead to one. Without --recursive, an asset at the same path is meant. */
async function findFolders(
  context: Context,
  typed: readonly string[],
  isRecursive: boolean,
): Promise<Map<string, FolderNode>> {
  const found = new Map<string, FolderNode>();
  for (const path of typed.filter((id) => isLibraryPath(id) && (isRecursive || !isGlob(id)))) {
    const { tree } = await fetchFolderTree(context);
    if (!isFolderPath(tree, path)) continue;
    if (!isRecursive && (await isAsset(context, path))) continue;
    found.set(path, await resolveFolder(context, tree, path));
  }
  return found;
}

/** Returns true if an asset is at a path; false also where the API finds none by path (assumption A26). */
const isAsset = async (context: Context, path: string): Promise<boolean> =>
  findAssets(await context.library(), path).then(
    ({ found }) => found.length > 0,
    (error) => {
      if (asCodedError(error).kind === 'usage') return false;
      throw error;
    },
  );

async function runRemove(context: Context, request: RemoveRequest): Promise<CommandOutcome> {
  const { collection, limit, folders, isRecursive, anyWorkspace } = request;
  const ageMs = startAge(context.clock);
  const isOnlyFolders = folders.length > 0 && request.ids.length === 0;
  const { targets } = isOnlyFolders ? { targets: [] } : await resolveTargets(context, request);
  if (folders.length > 0) return removeFolders(context, { folders, assets: targets, isRecursive, limit, anyWorkspace });
  const count = targets.length;
  const what = `move ${pluralize(count, itemNouns[collection])} to the trash`;
  if (context.settings.dryRun) return dryRun(context, collection, targets, what);
  // One asset is read, so that it can be named.
  let known = context.isHumanOutput && count === 1 ? await readUnknown(context, collection, targets) : targets;
  await confirmMany(context, {
    ...{ count, noun: collection, limit, what, warning: cannotRestore(count) },
    lines: async () => {
      const listed = await readUnknown(context, collection, known.slice(0, maxDeletionLines));
      known = [...listed, ...known.slice(listed.length)];
      return deletionLines(context, await describeAssets(context, listed), count);
    },
  });
  const outcomes = await moveToTrash(context, known, { collection, ageMs });
  const records = { outcome: 'deleted', label: 'moved to the trash', noun: collection } as const;
  const done = outcomes.filter(({ error }) => !error);
  return changeResult(
    context,
    outcomes,
    {
      verb: 'moved',
      noun: itemNouns[collection],
      place: `to the trash${readBackText(done)}`,
      next: cannotRestore(done.length),
    },
    bulkResult(context, outcomes, records),
  );
}

async function dryRun(context: Context, collection: Collection, targets: readonly SelectedAsset[], what: string) {
  const { [collection]: assets, transport } = await context.api();
  const items = await describeAssets(context, await readUnknown(context, collection, targets));
  const requests = items.map((item) => ({ request: assets.deleteRequest(item.uid), item }));
  return dryRunDeletion(context, what, transport.baseUrl, requests);
}
