import { randomUUID } from 'node:crypto';
import { type AssetFilters, type AssetsApi, searchFor } from '../../client/api/assets.ts';
import type { FolderNode } from '../../client/api/folder-tree.ts';
import { itemsOf } from '../../client/api/pagination.ts';
import { MediactlError } from '../../client/errors.ts';
import { parentOf } from '../../contract/asset.ts';
import { asObject, asText, parseTimestamp } from '../../contract/json-values.ts';
import type { Asset } from '../../contract/types.ts';
import { isSameUid } from '../../contract/uid.ts';

type FilterCheck = {
  /** Returns true if an asset matches the filter's value, or undefined if its record does not contain the field. */
  matches(asset: Asset, value: string): boolean | undefined;
  /** Returns a value that no asset matches, to find out if the service ignores the filter. */
  unmatchable(): string;
};

const randomWord = () => `x${randomUUID().replaceAll('-', '')}`;

const dayMs = 86_400_000;
/** Largest time zone offset, because the service might compute days in another time zone. */
const maxZoneOffsetMs = 14 * 3_600_000;

/** Compares without case, as statuses and types are read (assumption A11). */
const textCheck = (field: 'status' | 'type'): FilterCheck => ({
  matches: (asset, value) => {
    const shown = asText(asset[field]);
    return shown === undefined ? undefined : shown.toLowerCase() === value.toLowerCase();
  },
  unmatchable: randomWord,
});

const dateCheck = (isMatch: (madeAt: number, dayAt: number) => boolean, unmatchable: string): FilterCheck => ({
  matches: ({ created_at }, day) => {
    const madeAt = parseTimestamp(created_at);
    return madeAt === undefined ? undefined : isMatch(madeAt, Date.parse(day));
  },
  unmatchable: () => unmatchable,
});

/** Maps each filter (§4) that a bulk change accepts to its check. */
const checks: Record<Exclude<keyof AssetFilters, 'ordering'>, FilterCheck> = {
  // Full-text search can match text that the record does not contain.
  search: { matches: () => undefined, unmatchable: randomWord },
  status: textCheck('status'),
  type: textCheck('type'),
  tag: {
    matches: ({ tags }, value) => (Array.isArray(tags) ? tags.some((tag) => textsIn(tag).includes(value)) : undefined),
    unmatchable: randomWord,
  },
  created_after: dateCheck((madeAt, dayAt) => madeAt >= dayAt - maxZoneOffsetMs, '9998-01-01'),
  created_before: dateCheck((madeAt, dayAt) => madeAt < dayAt + dayMs + maxZoneOffsetMs, '1971-01-01'),
  parent: {
    matches: (asset, parent) => {
      const uid = parentOf(asset);
      if (uid === null) return parent === 'root';
      return uid === undefined ? undefined : parent !== 'root' && isSameUid(uid, parent);
    },
    unmatchable: randomUUID,
  },
};

/** Returns the texts in a tag, which is a string or an object. One of them is its slug. */
const textsIn = (tag: unknown) => [tag, ...Object.values(asObject(tag))].map(asText);

/**
 * Verifies, before a bulk change, that the service applied the filters, because a service that ignores a filter
 * lists every asset. Each asset must match. If an asset's record does not contain a field, the service is queried
 * with a value that no asset matches.
 *
 * @throws MediactlError `filter_ignored` (exit 6) if the service ignored a filter
 */
export async function assertFiltersApplied(
  assets: AssetsApi,
  filters: AssetFilters,
  found: readonly Asset[],
  verb?: string,
): Promise<void> {
  if (found.length === 0) return;
  const wrong = findIgnoredFilter(filters, found);
  if (wrong) throw filterIgnored(wrong.filter, `it lists ${wrong.uid}, which does not match`, verb);
  for (const [name, { matches, unmatchable }] of Object.entries(checks)) {
    const value = filters[name as keyof typeof checks];
    if (value === undefined || found.every((asset) => matches(asset, value))) continue;
    const unlikely = unmatchable();
    if (await hasMatches(assets, { [name]: unlikely }))
      throw filterIgnored(name, `it lists assets by ${name}=${unlikely} too, which none can match`, verb);
  }
}

/**
 * Lists what is directly in folders, one folder after the other. The uid of the top level is `root`.
 *
 * @param filters other filters; `limit` is the maximum number of assets per folder
 * @throws MediactlError `filter_ignored` (exit 6) if the service lists assets of other folders
 */
export async function* listFolders(
  assets: AssetsApi,
  parents: Iterable<string>,
  { filters = {}, limit, verb }: { filters?: AssetFilters; limit?: number | undefined; verb?: string } = {},
): AsyncGenerator<{ parent: string; page: Asset[] }> {
  for (const parent of parents)
    for await (const page of assets.list({ ...filters, parent }, { limit })) {
      await assertFiltersApplied(assets, { parent }, page, verb);
      yield { parent, page };
    }
}

/** Returns the first filter that a listed asset does not match, with the asset's uid; undefined if all match. */
export function findIgnoredFilter(filters: AssetFilters, found: readonly Asset[]) {
  for (const [filter, { matches }] of Object.entries(checks)) {
    const value = filters[filter as keyof typeof checks];
    if (value === undefined) continue;
    const other = found.find((asset) => matches(asset, value) === false);
    if (other) return { filter, uid: other.uid };
  }
  return undefined;
}

/**
 * Verifies, before a bulk change or a glob, that the service lists only what is directly in a folder. Needs requests
 * only if the assets do not show their folder, and the folder has others below it: looks for an asset in one of those,
 * then for the same asset in the folder.
 *
 * @param findBelow returns the folders in the folder, which may need a request
 * @param found assets that the service listed in the folder
 * @throws MediactlError `filter_ignored` (exit 6) if it lists what is below, too
 */
export async function assertFolderIsFlat(
  assets: AssetsApi,
  { parent, findBelow }: { parent: string; findBelow: () => Promise<readonly FolderNode[]> },
  found: readonly Asset[],
  verb?: string,
): Promise<void> {
  if (found.every((asset) => parentOf(asset) !== undefined)) return;
  for (const { folder } of (await findBelow()).slice(0, maxFoldersToProbe)) {
    const [inside] = itemsOf<Asset>(await assets.page({ parent: folder.uid }, 1, 0));
    if (!inside) continue;
    const filters = { parent, ...searchFor(asText(inside.name) ?? '') };
    for await (const page of assets.list(filters, {}))
      if (page.some(({ uid }) => isSameUid(uid, inside.uid)))
        throw filterIgnored('parent', `it lists ${inside.uid}, which is in a folder below`, verb);
    return;
  }
}

/** Folders to look for an asset in, since each costs a request and may be empty. */
const maxFoldersToProbe = 5;

/** Returns true if any asset is listed. A 400, 404 or 422 counts as no match: the filter was evaluated. */
const hasMatches = (assets: AssetsApi, filters: AssetFilters): Promise<boolean> =>
  assets.page(filters, 1, 0).then(
    (page) => itemsOf(page).length > 0,
    (error) => {
      const status = error instanceof MediactlError ? error.explanation.status : undefined;
      if (status !== undefined && [400, 404, 422].includes(status)) return false;
      throw error;
    },
  );

const filterIgnored = (filter: string, reason: string, verb?: string) =>
  new MediactlError(`the service ignored a filter: ${filter}`, {
    code: 'filter_ignored',
    reason: `${reason}; nothing was changed`,
    hint: verb ? `use uids instead: mediactl ls … -q | mediactl ${verb} -` : 'use uids: mediactl ls shows them',
  });
