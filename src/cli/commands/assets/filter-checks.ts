import { randomUUID } from 'node:crypto';
import type { AssetFilters, AssetsApi } from '../../../client/api/assets.ts';
import { itemsOf } from '../../../client/api/pages.ts';
import { exitCodes, MediactlError } from '../../../client/errors.ts';
import { parentOf } from '../../../contract/asset.ts';
import { fieldsIn, listIn, textIn, timeIn } from '../../../contract/reading.ts';
import type { Asset } from '../../../contract/types.ts';
import { isSameUid } from '../../../contract/uid.ts';

/** What a record says of a filter that it was listed by; undefined where it does not say. */
type Match = boolean | undefined;

type FilterCheck = {
  /** Whether a record matches. */
  matches(asset: Asset, value: string): Match;
  /** A value that no asset matches: a service that lists one all the same passes over the filter. */
  unmatchable(): string;
};

/** A slug or word that nobody has. */
const nonsense = () => `x${randomUUID().replaceAll('-', '')}`;

const dayMs = 86_400_000;
/** A service may reckon its days by another time zone. */
const zonesMs = 14 * 3_600_000;

/** A text that is there is compared; null and what is no text tell nothing. */
const equals =
  (field: 'status' | 'type') =>
  (asset: Asset, value: string): Match => {
    const shown = textIn(asset[field]);
    return shown === undefined ? undefined : shown === value;
  };

/** Every filter of §4 that a bulk change may go by, each with how far it can be doubted. */
const checks: Record<Exclude<keyof AssetFilters, 'ordering'>, FilterCheck> = {
  // Full-text search may know more of words than we do.
  search: { matches: () => undefined, unmatchable: nonsense },
  status: { matches: equals('status'), unmatchable: nonsense },
  type: { matches: equals('type'), unmatchable: nonsense },
  tag: {
    matches: ({ tags }, value) =>
      Array.isArray(tags) ? slugsIn(tags).some((slugs) => slugs.includes(value)) : undefined,
    unmatchable: nonsense,
  },
  created_after: {
    matches: ({ created_at }, day) => {
      const made = timeIn(created_at);
      return made === undefined ? undefined : made >= Date.parse(day) - zonesMs;
    },
    unmatchable: () => '9998-01-01',
  },
  created_before: {
    matches: ({ created_at }, day) => {
      const made = timeIn(created_at);
      return made === undefined ? undefined : made < Date.parse(day) + dayMs + zonesMs;
    },
    unmatchable: () => '1971-01-01',
  },
  parent: {
    matches: (asset, parent) => {
      const uid = parentOf(asset);
      if (uid === null) return parent === 'root';
      return uid === undefined ? undefined : parent !== 'root' && isSameUid(uid, parent);
    },
    unmatchable: randomUUID,
  },
};

/** Tags of a record: texts, or records that a slug is in. */
const slugsIn = (tags: unknown): string[][] =>
  listIn(tags).map((each) =>
    [each, ...Object.values(fieldsIn(each))].flatMap((value) => textIn(value) ?? []),
  );

/**
 * A service that passes over a filter lists everything, and everything would be written to. So each
 * record is asked whether it matches; and of a filter that some record says nothing of, the service is
 * asked for what nobody matches.
 *
 * @throws MediactlError `filter_ignored`; nothing was written
 */
export async function assertFiltersApplied(
  assets: AssetsApi,
  filters: AssetFilters,
  found: readonly Asset[],
  verb: string,
): Promise<void> {
  if (found.length === 0) return;
  const wrong = disprovedFilter(filters, found);
  if (wrong) throw ignored(wrong.filter, verb, `it lists ${wrong.uid}, which does not match`);
  for (const [name, { matches, unmatchable }] of Object.entries(checks)) {
    const value = filters[name as keyof typeof checks];
    if (value === undefined || found.every((asset) => matches(asset, value))) continue;
    const unlikely = unmatchable();
    if (await isListed(assets, { [name]: unlikely }))
      throw ignored(name, verb, `it lists assets by ${name}=${unlikely} too, which none can match`);
  }
}

/** Returns the first filter that a listed record contradicts, with the uid of that record. */
export function disprovedFilter(
  filters: AssetFilters,
  found: readonly Asset[],
): { filter: string; uid: string } | undefined {
  for (const [filter, { matches }] of Object.entries(checks)) {
    const value = filters[filter as keyof typeof checks];
    if (value === undefined) continue;
    const other = found.find((asset) => matches(asset, value) === false);
    if (other) return { filter, uid: other.uid };
  }
  return undefined;
}

/** A refusal is as good as no asset: whoever refuses a value reads it. */
const isListed = (assets: AssetsApi, filters: AssetFilters): Promise<boolean> =>
  assets.page(filters, 1, 0).then(
    (page) => itemsOf(page).length > 0,
    (error) => {
      const status = error instanceof MediactlError ? error.explanation.status : undefined;
      if (status !== undefined && [400, 404, 422].includes(status)) return false;
      throw error;
    },
  );

const ignored = (filter: string, verb: string, reason: string) =>
  new MediactlError(`the service ignored a filter: ${filter}`, {
    code: 'filter_ignored',
    exitCode: exitCodes.rejected,
    reason: `${reason}; nothing was changed`,
    hint: `give ids instead: mediactl assets ls … -q | mediactl assets ${verb} -`,
  });
