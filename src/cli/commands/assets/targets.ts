import type { AssetFilters } from '../../../client/api/assets.ts';
import { usageError } from '../../../client/errors.ts';
import type { Collection } from '../../../contract/paths.ts';
import { textIn } from '../../../contract/reading.ts';
import { cell } from '../../../contract/sanitize.ts';
import type { Asset } from '../../../contract/types.ts';
import type { Context } from '../../context.ts';
import { type IdOptions, resolveAssetUids } from '../../library/asset-ids.ts';
import { confirmMany, firstFew, tooMany, type WriteLimit } from '../confirm-many.ts';
import { refuseWorkspace } from '../filters.ts';
import { assertFiltersApplied } from './filter-checks.ts';

/** Asset to change or download; `asset` is its record, if it was read. */
export type Target = { uid: string; name: string | null; asset?: Asset };

/**
 * Resolves the assets of a command: the ids, or all that match the filters. Without either the user
 * picks one.
 *
 * @throws MediactlError exit 2 if there are more than the limit allows, or none without a terminal
 */
export async function targetsOf(
  context: Context,
  collection: Collection,
  ids: readonly string[],
  filters: AssetFilters,
  limit: WriteLimit,
  { verb, ...choice }: IdOptions & { verb: 'rm' | 'update' | 'download' },
): Promise<{ targets: Target[]; byFilter: boolean }> {
  const byFilter = Object.values(filters).some((value) => value !== undefined);
  const isNone = !byFilter && ids.length === 0;
  if ((byFilter && ids.length > 0) || (isNone && !context.terminal.isInteractive))
    throw usageError(
      byFilter ? 'ids and filters cannot be used together' : 'no assets were given',
      'give ids, or filters such as --tag SLUG --created-before 90d',
    );
  if (byFilter || verb !== 'download') refuseWorkspace(context, `${collection} ${verb}`);
  const isLimit = limit.isTyped || !context.terminal.isInteractive;
  const targets = byFilter
    ? // One more than the limit shows that it is exceeded: no need to read the whole library.
      await matching(context, collection, filters, verb, isLimit ? limit.count + 1 : undefined)
    : (await resolveAssetUids(context, collection, ids, choice)).map((uid) => ({
        uid,
        name: null,
      }));
  if (isLimit && targets.length > limit.count) throw tooMany(collection, limit);
  return { targets, byFilter };
}

async function matching(
  context: Context,
  collection: Collection,
  filters: AssetFilters,
  verb: string,
  limit: number | undefined,
): Promise<Target[]> {
  const { [collection]: assets } = await context.api();
  const found: Asset[] = [];
  for await (const page of assets.list(filters, { limit })) found.push(...page);
  await assertFiltersApplied(assets, filters, found, verb);
  return found.map((asset) => ({ uid: asset.uid, name: textIn(asset.name) ?? null, asset }));
}

type BulkQuestion = {
  /** Returns the action as text: "update 3 assets", "move 3 assets to the trash". */
  action(what: string): string;
  limit: WriteLimit;
  /** Lines to show below the preview. */
  notes?: readonly string[];
};

/**
 * Asks before a bulk change. Above the limit the user must type the number of assets.
 *
 * @throws MediactlError exit 130 when declined, exit 2 without a terminal
 */
export async function confirmBulk(
  context: Context,
  collection: Collection,
  targets: readonly Target[],
  { action, limit, notes = [] }: BulkQuestion,
): Promise<void> {
  const count = targets.length;
  await confirmMany(context, {
    ...{ count, noun: collection, limit },
    what: action(`${count} ${count === 1 ? collection.replace(/s$/, '') : collection}`),
    lines: async () => [...(await preview(context, collection, targets)), ...notes],
  });
}

const shown = 5;

/** Lists the first targets by name for the prompt; fetches the names of typed ids. */
async function preview(context: Context, collection: Collection, targets: readonly Target[]) {
  const api = await context.api();
  const lines: string[] = [];
  for (const { uid, name } of targets.slice(0, shown)) {
    const known = name ?? (await api[collection].get(uid)).name;
    lines.push(`  ${uid}  ${cell(known)}`.trimEnd());
  }
  return firstFew(lines, targets.length);
}
