import type { StoredItem } from '../../../client/changes/change-item.ts';
import type { Written } from '../../../client/changes/read-back.ts';
import { usageError } from '../../../client/errors.ts';
import type { ApiRequest } from '../../../client/http/api-request.ts';
import { byUid, hasFilters, type SelectedAsset } from '../../../client/library/select-assets.ts';
import type { ItemResult } from '../../../client/run-each.ts';
import { parentOf } from '../../../contract/asset.ts';
import type { AssetFilters } from '../../../contract/asset-filters.ts';
import type { Collection } from '../../../contract/paths.ts';
import { itemNouns } from '../../../contract/paths.ts';
import { displayText, escapeControls } from '../../../shared/sanitize.ts';
import type { CommandOutcome } from '../../command.ts';
import type { Context } from '../../context.ts';
import { type IdOptions, select, selectListed } from '../../library/asset-ids.ts';
import { LocationNames } from '../../library/name-cache.ts';
import { describeNone } from '../../library/no-asset-error.ts';
import { changeResult } from '../../output/outcome.ts';
import type { Result } from '../../output/result.ts';
import { bulkResult, toOutcomes } from '../bulk-result.ts';
import {
  confirmMany,
  limitExceeded,
  maxLines,
  parseWriteLimit,
  truncateLines,
  type WriteLimit,
} from '../confirm-many.ts';
import { dryRunPlan, noRequests } from '../dry-run.ts';
import { type FilterOptions, parseFilters } from '../filters.ts';
import { assetRecord } from './columns.ts';

/** Selection of assets: those with the given ids or that match a glob, or all that match the filters. */
export type TargetRequest = IdOptions & {
  verb: 'rm' | 'update' | 'tag' | 'mv' | 'download';
  collection: Collection;
  ids: readonly string[];
  filters: AssetFilters;
  limit: WriteLimit;
  /** True to select the assets in the page, of which the filters are the first view. */
  picks?: boolean | undefined;
};

export const pickOption = ['--pick', 'select the assets in the page; filters choose what it shows first'] as const;

/** @throws CodedError `usage` (exit 2) if an option is invalid */
export const parseTargets = async (
  context: Context,
  chosen: Pick<TargetRequest, 'verb' | 'collection' | 'ids'>,
  { maxChanges, pick: picks, newest, anyWorkspace, ...filters }: TargetFlags,
): Promise<TargetRequest> => ({
  ...{ ...chosen, newest, anyWorkspace, picks, limit: parseWriteLimit(maxChanges) },
  filters: await parseFilters(context, filters),
});

type TargetFlags = FilterOptions & IdOptions & { maxChanges?: string | undefined; pick?: true | undefined };

/**
 * Returns the selected assets. If neither ids nor filters are given, the user picks an asset. `byFilter` is true if
 * the user did not name each asset, but gave filters or a glob.
 *
 * @throws CodedError `usage` (exit 2) if there are more assets than the limit allows, or if neither is given and
 *   there is no terminal to pick on
 */
export async function resolveTargets(
  context: Context,
  request: TargetRequest,
): Promise<{ targets: SelectedAsset[]; byFilter: boolean; unknownCount: number }> {
  const { verb, collection, ids, filters, limit, picks, ...options } = request;
  if (picks) return pickTargets(context, request);
  if (ids.includes('-')) context.terminal.askOnTty();
  const byFilter = hasFilters(filters);
  if (byFilter && ids.length > 0) throw usageError('ids and filters cannot be used together', 'use one of them');
  if (!byFilter && ids.length === 0 && !context.terminal.isInteractive)
    throw usageError(
      'no assets were given',
      `give ids, or pipe them: mediactl ${collection} ls -q … | mediactl ${collection} ${verb} -`,
    );
  const isLimitEnforced = limit.isTyped || !context.terminal.isInteractive;
  const maxCount = isLimitEnforced ? limit.count : undefined;
  const isRead = verb === 'download';
  const selection = {
    verb,
    collection,
    ids,
    filters,
    maxCount,
    purpose: isRead ? 'read' : 'change',
    needsRecord: isRead,
  } as const;
  const { assets, isNamed, unknownCount } = await select(context, selection, options);
  if (isLimitEnforced && assets.length > limit.count) throw limitExceeded(collection, limit);
  // A download on a terminal has a table that says so.
  if (assets.length === 0 && byFilter && !(isRead && context.isHumanOutput))
    context.terminal.info(describeNone(collection, filters));
  return { targets: assets, byFilter: !isNamed, unknownCount };
}

/** Returns what the user selects in the page: one by one, or by the filters of its list, as with filters that are typed. */
async function pickTargets(
  context: Context,
  { verb, ids, filters, limit, anyWorkspace = false, newest }: TargetRequest,
): Promise<{ targets: SelectedAsset[]; byFilter: boolean; unknownCount: number }> {
  if (ids.length > 0) throw usageError('--pick and ids cannot be used together', 'leave out one of them');
  if (!context.terminal.isInteractive)
    throw usageError('--pick needs a terminal', `mediactl ls -q … | mediactl ${verb} -`);
  const { pickInPage } = await import('../page/pick.ts');
  const { isListed } = await import('../page/page-selections.ts');
  const { encodeView } = await import('../page/page.ts');
  const view = { view: encodeView(filters), port: 0, opens: true, bytesPerSecond: undefined, anyWorkspace };
  const { assets, isByFilter } = await pickInPage(context, view, `for mediactl ${verb}`);
  if (limit.isTyped && assets.length > limit.count) throw limitExceeded('assets', limit);
  const targets =
    isByFilter && verb !== 'download'
      ? await selectListed(context, assets, { anyWorkspace, newest })
      : assets.map((asset) => byUid(asset.uid, isListed(asset) ? asset : undefined));
  return { targets, byFilter: isByFilter, unknownCount: 0 }; // the page has shown them
}

/** `action` describes the change, such as "move 3 assets to the trash"; `notes` come after the list of assets. */
type BulkQuestion = { action(what: string): string; limit: WriteLimit; notes?: readonly string[] };

async function describeTargets(context: Context, collection: Collection, targets: readonly SelectedAsset[]) {
  const { [collection]: assets } = await context.api();
  const places = new LocationNames(context);
  const lines: string[] = [];
  for (const { uid, record } of targets.slice(0, maxLines)) {
    const asset = record ?? (await assets.get(uid)); // targets given by id have no record yet
    const [parent, name] = [parentOf(asset), displayText(asset.name)];
    const shown = parent === undefined ? name : escapeControls(await places.pathOf(parent ?? undefined, name));
    lines.push(`  ${uid}  ${shown}`.trimEnd());
  }
  return truncateLines(lines, targets.length);
}

/** Returns the plan of a dry run, after the names of the assets, since a request shows only the uid. */
export async function dryRunBulk(
  context: Context,
  collection: Collection,
  targets: readonly SelectedAsset[],
  requests: readonly ApiRequest[],
): Promise<Result> {
  if (targets.length + requests.length === 0) return noRequests;
  if (context.isHumanOutput && targets.length > 0)
    for (const line of await describeTargets(context, collection, targets)) context.terminal.info(line);
  return dryRunPlan(context, requests);
}

/** Asks for confirmation of a bulk change. @throws the same errors as `confirmMany` */
export async function confirmBulk(
  context: Context,
  collection: Collection,
  targets: readonly SelectedAsset[],
  { action, limit, notes = [] }: BulkQuestion,
): Promise<void> {
  const count = targets.length;
  await confirmMany(context, {
    count,
    noun: collection,
    limit,
    what: action(`${count} ${count === 1 ? itemNouns[collection] : collection}`),
    lines: async () => [...(await describeTargets(context, collection, targets)), ...notes],
  });
}

/**
 * Returns the result of a change: all fields of the only asset that was named, and otherwise, or in a machine-readable
 * format, one row for each.
 *
 * @throws the error of the only asset
 */
export async function changedAssets(
  context: Context,
  { collection, byFilter }: { collection: Collection; byFilter: boolean },
  results: readonly ItemResult<StoredItem, Written>[],
  { place, ...words }: { outcome: 'moved' | 'updated'; label: string; place: string },
): Promise<CommandOutcome> {
  const outcomes = toOutcomes(results);
  const [only] = results;
  const isOne = results.length === 1 && !byFilter && !context.isMachineReadable;
  if (isOne && !only?.value?.asset) throw only?.error;
  const records =
    isOne && only?.value?.asset
      ? { result: await assetRecord(context, only.value.asset) }
      : bulkResult(context, outcomes, { ...words, noun: collection });
  return changeResult(context, outcomes, { verb: words.outcome, noun: itemNouns[collection], place }, records);
}
