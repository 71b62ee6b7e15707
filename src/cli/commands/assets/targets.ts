import type { AssetFilters } from '../../../client/api/assets.ts';
import { usageError } from '../../../client/errors.ts';
import type { Collection } from '../../../contract/paths.ts';
import { textIn } from '../../../contract/reading.ts';
import { cell } from '../../../contract/sanitize.ts';
import type { Asset } from '../../../contract/types.ts';
import type { Context } from '../../context.ts';
import { assetUids, type IdChoice } from '../../library/assets.ts';
import { confirmMany, firstFew, tooMany, type WriteLimit } from '../confirm-many.ts';
import { refuseWorkspace } from '../filters.ts';
import { assertFiltersApplied } from './filter-checks.ts';

/** An asset to write to; `asset` is its record, where that was read. */
export type Target = { uid: string; name: string | null; asset?: Asset };

/**
 * What a command is for: the ids given, or everything that filters match; without either, the
 * one that the person chooses.
 *
 * @throws MediactlError exit 2 where there are more than may be, and nobody can be asked
 */
export async function targetsOf(
  context: Context,
  collection: Collection,
  ids: readonly string[],
  filters: AssetFilters,
  limit: WriteLimit,
  { verb, ...choice }: IdChoice & { verb: 'rm' | 'update' | 'download' },
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
    ? // One more than may be is enough to know; a whole library is not read for that.
      await matching(context, collection, filters, verb, isLimit ? limit.count + 1 : undefined)
    : (await assetUids(context, collection, ids, choice)).map((uid) => ({ uid, name: null }));
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
  /** What would be done: "update 3 assets", "move 3 assets to the trash". */
  action(what: string): string;
  limit: WriteLimit;
  /** What else is to be known before, a line each. */
  notes?: readonly string[];
};

/**
 * Asks before many are written to. More than usual need the number typed.
 *
 * @throws MediactlError exit 130 when declined, exit 2 where nobody can be asked
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

/** The first few by name, for whoever is asked; ids that were typed are looked up. */
async function preview(context: Context, collection: Collection, targets: readonly Target[]) {
  const api = await context.api();
  const lines: string[] = [];
  for (const { uid, name } of targets.slice(0, shown)) {
    const known = name ?? (await api[collection].get(uid)).name;
    lines.push(`  ${uid}  ${cell(known)}`.trimEnd());
  }
  return firstFew(lines, targets.length);
}
