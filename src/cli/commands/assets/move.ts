import { Argument, type Command } from '@commander-js/extra-typings';
import type { StoredItem } from '../../../client/changes/change-item.ts';
import { createFolderRequests, parseFolderPath } from '../../../client/changes/folder-creation.ts';
import { requestsOf } from '../../../client/changes/items.ts';
import { CodedError, usageError } from '../../../client/errors.ts';
import type { FolderNode } from '../../../client/library/folder-tree.ts';
import { isRootPath, withoutFolderPrefix } from '../../../client/library/library-paths.ts';
import { hasFilters } from '../../../client/library/select-assets.ts';
import { startAge } from '../../../shared/clock.ts';
import { displayText, quoteForShell } from '../../../shared/sanitize.ts';
import { type ActionWrapper, addExamples, type CommandOutcome, type FlagsOf, withSuggestions } from '../../command.ts';
import type { Context } from '../../context.ts';
import { anyWorkspaceOption, idsHelp, newestOption } from '../../library/asset-ids.ts';
import { ensureFolder } from '../../library/folder-changes.ts';
import { fetchFolderTree, resolveFolder } from '../../library/folders.ts';
import { runChange } from '../../library/run-change.ts';
import { maxChangesOption } from '../confirm-many.ts';
import { withFilters } from '../filters.ts';
import {
  assertNamesFolder,
  createFoldersOption,
  isFolderPath,
  isMissingFolder,
  type MoveTarget,
  moveFolder,
} from '../folder-change.ts';
import {
  changedAssets,
  confirmBulk,
  dryRunBulk,
  parseTargets,
  pickOption,
  resolveTargets,
  type TargetRequest,
} from './bulk.ts';

export function move(command: Command, run: ActionWrapper): void {
  addExamples(
    command,
    'mediactl mv @last /Campaigns/2026',
    "mediactl mv '/Inbox/*.mp4' /Archive",
    'mediactl mv --pick /Archive',
    'mediactl mv --tag done /Archive --create-folders',
    'mediactl mv /Campaigns/2026 /Archive/2026',
  );
  addMoveOptions(command).action(
    run(async (context, words, flags) => runMove(context, await parseMoveRequest(context, words, flags))),
  );
}

function addMoveOptions(command: Command) {
  const described = command
    .description(
      'Moves assets into a folder, or a folder into another folder. Moving a folder to a path that does not exist also renames it.',
    )
    .addArgument(
      withSuggestions(
        new Argument('<item...>', `assets (${idsHelp}) or a folder, then the folder to move to; / is the top level`),
        'assets',
      ),
    )
    .option(...createFoldersOption);
  return withFilters(described, 'assets')
    .option(...pickOption)
    .option(...maxChangesOption)
    .option(...newestOption)
    .option(...anyWorkspaceOption);
}

type MoveRequest = TargetRequest & MoveTarget;

/** @throws CodedError `usage` (exit 2) if there is no folder to move to */
async function parseMoveRequest(
  context: Context,
  words: readonly string[],
  flags: FlagsOf<typeof addMoveOptions>,
): Promise<MoveRequest> {
  const to = words.at(-1) ?? '';
  const ids = words.slice(0, -1);
  assertNamesFolder(to, (folder) => `mediactl mv ${ids.map(quoteForShell).join(' ') || 'ID...'} ${folder}`);
  const chosen = { verb: 'mv', collection: 'assets', ids } as const;
  return { ...(await parseTargets(context, chosen, flags)), to, mayCreate: flags.createFolders ?? false };
}

async function runMove(context: Context, request: MoveRequest) {
  const { to, ids } = request;
  const { tree, workspace } = await fetchFolderTree(context);
  const folder = ids.find((id) => isFolderPath(tree, id));
  if (folder === undefined || request.picks) {
    const isMissing = isMissingFolder(tree, to);
    const existing = isMissing || isRootPath(to) ? undefined : await resolveFolder(context, tree, to);
    return moveAssets(context, request, existing, isMissing);
  }
  if (ids.length > 1 || hasFilters(request.filters))
    throw usageError('mv moves one folder, or assets', 'mediactl mv /FOLDER /INTO', 'a folder was given with others');
  return moveFolder(context, { tree, workspace, placed: await resolveFolder(context, tree, folder) }, request);
}

/**
 * Moves the selected assets. In a pipe, shows all fields of a single asset, and otherwise one row for each.
 *
 * @param folder existing folder to move to; undefined for the top level, or if it `isMissing`
 */
async function moveAssets(
  context: Context,
  request: MoveRequest,
  folder: FolderNode | undefined,
  isMissing: boolean,
): Promise<CommandOutcome> {
  const { to, limit, mayCreate } = request;
  const ageMs = startAge(context.clock);
  const { targets: found, byFilter } = await resolveTargets(context, request);
  const { assets, folders } = await context.api();
  const writer = await context.writer();
  const known = isMissing ? `(uid of ${to})` : (folder?.folder.uid ?? null);
  const { assets: targets, items: planned } = await writer.plan(found, { folder: known });
  if (context.settings.dryRun) {
    const names = isMissing ? parseFolderPath(withoutFolderPrefix(to)) : [];
    const creations = isMissing ? createFolderRequests(folders, await fetchFolderTree(context), names, true) : [];
    return dryRunBulk(context, 'assets', targets, [...creations, ...requestsOf(assets, planned)]);
  }
  if (byFilter) await confirmBulk(context, 'assets', targets, { action: (what) => `move ${what} to ${to}`, limit });
  const target = isMissing ? await ensureFolder(context, to, mayCreate) : folder;
  const { items } = await writer.plan(targets, { folder: target?.folder.uid ?? null });
  const change = { command: 'mv', summary: `move to ${to}`, items, ageMs };
  const toError = (error: CodedError, { name, uid }: StoredItem) => explainRefusal(error, displayText(name) || uid);
  const results = await runChange(context, change, { toError });
  const words = { outcome: 'moved', label: `moved to ${to}`, place: `to ${displayText(target?.path ?? '/')}` } as const;
  return changedAssets(context, { collection: 'assets', byFilter }, results, words);
}

function explainRefusal(error: CodedError, name: string): CodedError {
  if (error.kind !== 'rejected') return error;
  const { code, status } = error.explanation;
  if (code === 'write_ignored') return error.with({ endsRun: true });
  if (status !== 400 && status !== 422) return error; // only this asset, such as a conflict
  return new CodedError(`the service refused to move ${name}`, {
    ...error.explanation,
    hint: 'if it has another name for the folder of an asset: mediactl config set field_names.asset_parent NAME',
    endsRun: true,
  });
}
