import type { AssetsApi } from '../../../client/api/assets.ts';
import type { Written } from '../../../client/bulk/carry-out.ts';
import type { BulkItem, StoredItem } from '../../../client/bulk/run-store.ts';
import { usageError } from '../../../client/errors.ts';
import type { ApiRequest } from '../../../client/http/api-request.ts';
import { assertFiltersApplied, assertFolderIsFlat } from '../../../client/library/filter-checks.ts';
import { isLibraryPath } from '../../../client/library/library-paths.ts';
import type { ItemResult } from '../../../client/run-each.ts';
import { parentOf } from '../../../contract/asset.ts';
import type { AssetFilters } from '../../../contract/asset-filters.ts';
import { pluralize } from '../../../contract/figures.ts';
import { asText, type JsonObject } from '../../../contract/json-values.ts';
import type { Collection } from '../../../contract/paths.ts';
import { displayText, escapeControls } from '../../../contract/sanitize.ts';
import type { Asset } from '../../../contract/types.ts';
import type { Context } from '../../context.ts';
import { resolveAssets } from '../../library/asset-ids.ts';
import { fetchFolderTree } from '../../library/folders.ts';
import { LocationNames } from '../../library/name-cache.ts';
import { keepWorkspaceInUse } from '../../library/workspaces.ts';
import type { Result } from '../../output/result.ts';
import { confirmMany, limitExceeded, maxLines, truncateLines, type WriteLimit } from '../confirm-many.ts';
import { dryRunPlan } from '../dry-run.ts';
import { hasFilters, rejectWorkspaceFlag } from '../filters.ts';
import { assetRecord } from './columns.ts';

/** Asset to change or download. `asset` is its API record, if already fetched. See `ResolvedAsset`. */
export type BulkTarget = { uid: string; name: string | null; asset?: Asset; relativeDir?: string | undefined };

/** Selection of assets: those with the given ids or that match a glob, or all that match the filters. */
export type TargetRequest = {
  verb: 'rm' | 'update' | 'tag' | 'mv' | 'download';
  collection: Collection;
  ids: readonly string[];
  filters: AssetFilters;
  limit: WriteLimit;
  newest?: boolean | undefined;
};

/**
 * Returns the selected assets. If neither ids nor filters are given, the user picks an asset. `byFilter` is true if
 * the user did not name each asset, but gave filters or a glob.
 *
 * @throws MediactlError `usage` (exit 2) if there are more assets than the limit allows, or if neither is given and
 *   there is no terminal to pick on
 */
export async function resolveTargets(
  context: Context,
  { verb, collection, ids, filters, limit, newest }: TargetRequest,
): Promise<{ targets: BulkTarget[]; byFilter: boolean }> {
  const byFilter = hasFilters(filters);
  if (byFilter && ids.length > 0) throw usageError('ids and filters cannot be used together', 'use one of them');
  if (!byFilter && ids.length === 0 && !context.terminal.isInteractive)
    throw usageError(
      'no assets were given',
      `give ids, or pipe them: mediactl ${collection} ls -q … | mediactl ${collection} ${verb} -`,
    );
  const isInWorkspace = verb === 'mv' || ids.some(isLibraryPath); // folders belong to a workspace
  if (!isInWorkspace && (byFilter || verb !== 'download')) rejectWorkspaceFlag(context, `${collection} ${verb}`);
  const isLimitEnforced = limit.isTyped || !context.terminal.isInteractive;
  const targets: BulkTarget[] = [];
  if (byFilter) {
    const { [collection]: assets } = await context.api();
    const found: Asset[] = [];
    // One asset more than the limit proves that it is exceeded, so the rest is not fetched.
    const maxAssets = isLimitEnforced ? limit.count + 1 : undefined;
    for await (const page of assets.list(filters, { limit: maxAssets })) found.push(...page);
    await assertFiltersApplied(assets, filters, found, verb);
    const { parent } = filters;
    if (parent !== undefined) {
      const findBelow = async () => (await fetchFolderTree(context)).tree.childrenOf(parent);
      await assertFolderIsFlat(assets, { parent, findBelow }, found, verb);
    }
    const own = await keepWorkspaceInUse(context, found);
    if (own.length < found.length)
      context.terminal.info(`${pluralize(found.length - own.length, 'asset')} of other workspaces left out`);
    targets.push(...own.map((asset) => ({ uid: asset.uid, name: asText(asset.name) ?? null, asset })));
  }
  let hasGlob = false;
  if (!byFilter) {
    const resolved = await resolveAssets(context, collection, ids, { newest });
    hasGlob = resolved.hasGlob;
    for (const { uid, asset, relativeDir } of resolved.assets)
      targets.push({ uid, name: asText(asset?.name) ?? null, relativeDir, ...(asset && { asset }) });
  }
  if (isLimitEnforced && targets.length > limit.count) throw limitExceeded(collection, limit);
  return { targets, byFilter: byFilter || hasGlob };
}

/** Fetches the API record of each target that lacks it, for a change that depends on the record. */
export async function fetchRecords(assets: AssetsApi, targets: readonly BulkTarget[]): Promise<BulkTarget[]> {
  const fetched: BulkTarget[] = [];
  for (const target of targets)
    fetched.push(target.asset ? target : { ...target, asset: await assets.get(target.uid) });
  return fetched;
}

/** `action` describes the change, such as "move 3 assets to the trash"; `notes` come after the list of assets. */
type BulkQuestion = { action(what: string): string; limit: WriteLimit; notes?: readonly string[] };

/** Returns a line for each target: its uid and its path. */
async function describeTargets(context: Context, collection: Collection, targets: readonly BulkTarget[]) {
  const { [collection]: assets } = await context.api();
  const places = new LocationNames(context);
  const lines: string[] = [];
  for (const { uid, asset } of targets.slice(0, maxLines)) {
    const record = asset ?? (await assets.get(uid)); // targets given by id have no record yet
    const [parent, name] = [parentOf(record), displayText(record.name)];
    const shown = parent === undefined ? name : escapeControls(await places.pathOf(parent ?? undefined, name));
    lines.push(`  ${uid}  ${shown}`.trimEnd());
  }
  return truncateLines(lines, targets.length);
}

/** Returns the plan of a dry run, after the names of the assets, since a request shows only the uid. */
export async function dryRunBulk(
  context: Context,
  collection: Collection,
  targets: readonly BulkTarget[],
  requests: readonly ApiRequest[],
): Promise<Result> {
  if (context.isHumanOutput && targets.length > 0)
    for (const line of await describeTargets(context, collection, targets)) context.terminal.info(line);
  return dryRunPlan(context, requests);
}

/** Asks for confirmation of a bulk change. @throws the same errors as `confirmMany` */
export async function confirmBulk(
  context: Context,
  collection: Collection,
  targets: readonly BulkTarget[],
  { action, limit, notes = [] }: BulkQuestion,
): Promise<void> {
  const count = targets.length;
  await confirmMany(context, {
    count,
    noun: collection,
    limit,
    what: action(`${count} ${count === 1 ? collection.replace(/s$/, '') : collection}`),
    lines: async () => [...(await describeTargets(context, collection, targets)), ...notes],
  });
}

/** Returns the only target, to show all its fields; undefined for several, for filters, and in a machine-readable format. */
export const singleTarget = (
  { isMachineReadable }: Context,
  { targets, byFilter }: { targets: readonly BulkTarget[]; byFilter: boolean },
): BulkTarget | undefined => (targets.length === 1 && !byFilter && !isMachineReadable ? targets[0] : undefined);

/** Returns the record of the only asset that was changed. @throws its error */
export function singleRecord(context: Context, [only]: readonly ItemResult<StoredItem, Written>[]): Promise<Result> {
  if (!only?.value?.asset) throw only?.error;
  return assetRecord(context, only.value.asset);
}

/** Returns the change of a target: the fields after it, null to delete it, and before it, if its record was read. */
export function toItem(assets: AssetsApi, { uid, name, asset }: BulkTarget, after: JsonObject | null): BulkItem {
  const fields = asset ? Object.keys(after ?? { name: '', ...assets.folderFields(asset, null) }) : [];
  const label = asText(asset?.name) ?? name;
  return { kind: 'asset', uid, name: label, before: asset ? assets.valuesOf(asset, fields) : null, after };
}
