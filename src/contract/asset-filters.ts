import { asObject, asText, parseTimestamp } from '../shared/json-values.ts';
import { parentOf } from './asset.ts';
import { assetStatuses, assetTypes } from './asset-values.ts';
import type { Collection } from './paths.ts';
import type { AssetRecord } from './types.ts';
import { isSameUid } from './uid.ts';

/** Kind of a filter's values, which are texts. Dates are YYYY-MM-DD. */
export type AssetFilterKind = 'search' | 'slug' | 'choice' | 'date' | 'folder';

/** A filter of the asset list. Its key in the table is the query field and, with dashes, the option's name. */
export type AssetFilter = {
  kind: AssetFilterKind;
  /** Label of its control on the browse page. */
  label: string;
  /** Help text of its option. */
  help: string;
  /** Name of its option, if it differs from the key. */
  option?: string;
  /** Known values of a choice, which help and completions suggest. A service may have others. */
  values?: readonly string[];
  /** True if the list of videos does not have the filter ("Assets list only", §4). */
  isAssetsOnly?: boolean;
  /** Returns true if an asset matches a value, or undefined if its record does not contain the field. */
  matches(asset: AssetRecord, value: string): boolean | undefined;
  /** Returns a value that no asset matches, to find out if the service ignores the filter. */
  unmatchable(): string;
  /** Describes a value in the title of a contact sheet. Absent if the value describes itself. */
  title?(value: string): string;
};

const randomWord = () => `x${crypto.randomUUID().replaceAll('-', '')}`;

/** Compares without case, as statuses and types are read (assumption A11). */
const choiceOf = (field: 'status' | 'type', values: readonly string[]) => ({
  kind: 'choice' as const,
  help: values.join(', '),
  values,
  matches: (asset: AssetRecord, value: string) => {
    const shown = asText(asset[field]);
    return shown === undefined ? undefined : shown.toLowerCase() === value.toLowerCase();
  },
  unmatchable: randomWord,
});

const dayMs = 86_400_000;
/** Largest time zone offset, because the service might compute days in another time zone. */
const maxZoneOffsetMs = 14 * 3_600_000;

/** Returns true for a day of the calendar, such as `2026-03-01`: the API filters by the day of creation (§4). */
export function isDay(text: string): boolean {
  const time = /^\d{4}-\d{2}-\d{2}$/.test(text) ? Date.parse(text) : Number.NaN;
  return !Number.isNaN(time) && new Date(time).toISOString().startsWith(text);
}

const creationDate = (unmatchable: string, isMatch: (madeAt: number, dayAt: number) => boolean) => ({
  kind: 'date' as const,
  matches: ({ created_at }: AssetRecord, day: string) => {
    const madeAt = parseTimestamp(created_at);
    return madeAt === undefined ? undefined : isMatch(madeAt, Date.parse(day));
  },
  unmatchable: () => unmatchable,
});

/** Returns the texts in a tag, which is a string or an object. One of them is its slug. */
const textsIn = (tag: unknown) => [tag, ...Object.values(asObject(tag))].map(asText);

/** The filters of the asset list (§4), in the order of the browse page and of a contact sheet's title. */
export const assetFilters = {
  search: {
    kind: 'search',
    label: 'Search',
    help: 'words in name or description',
    // Full-text search can match text that the record does not contain.
    matches: () => undefined,
    unmatchable: randomWord,
  },
  type: { ...choiceOf('type', assetTypes), label: 'Type', isAssetsOnly: true },
  status: { ...choiceOf('status', assetStatuses), label: 'Status' },
  tag: {
    kind: 'slug',
    label: 'Tag',
    help: 'tag',
    matches: ({ tags }, value) => (Array.isArray(tags) ? tags.some((tag) => textsIn(tag).includes(value)) : undefined),
    unmatchable: randomWord,
    title: (slug) => `#${slug}`,
  },
  parent: {
    kind: 'folder',
    label: 'Folder',
    help: 'folder, by path or uid; / is the top level',
    option: 'folder',
    isAssetsOnly: true,
    matches: (asset, parent) => {
      const uid = parentOf(asset);
      if (uid === null) return parent === 'root';
      return uid === undefined ? undefined : parent !== 'root' && isSameUid(uid, parent);
    },
    unmatchable: () => crypto.randomUUID(),
    title: (folder) => `in ${folder}`,
  },
  created_after: {
    ...creationDate('9998-01-01', (madeAt, dayAt) => madeAt >= dayAt - maxZoneOffsetMs),
    label: 'Created from',
    help: 'created on or after',
    title: (day) => `since ${day}`,
  },
  created_before: {
    ...creationDate('1971-01-01', (madeAt, dayAt) => madeAt < dayAt + dayMs + maxZoneOffsetMs),
    label: 'Created until',
    help: 'created on or before',
    title: (day) => `until ${day}`,
  },
} as const satisfies Record<string, AssetFilter>;

export type AssetFilterName = keyof typeof assetFilters;
export type AssetFilterRow = AssetFilter & { name: AssetFilterName };

/** Filters and ordering of a list (§4). `parent` is a folder's uid, or `root` for the top level. */
export type AssetFilters = { [Name in AssetFilterName | 'ordering']?: string | undefined };

export const filterRows = Object.entries(assetFilters).map(([name, filter]) => ({
  name,
  ...filter,
})) as AssetFilterRow[];

/** Returns the filters of a list in the order of its options: those of both lists, then "Assets list only" (§4). */
export const filtersOf = (collection: Collection) => [
  ...filterRows.filter(({ isAssetsOnly }) => !isAssetsOnly),
  ...filterRows.filter(({ isAssetsOnly }) => isAssetsOnly && collection === 'assets'),
];

/** Returns the filters that have a value, in the order of the table. */
export const activeFilters = (filters: AssetFilters) =>
  filterRows.flatMap((row) => {
    const value = filters[row.name];
    return value === undefined ? [] : [{ ...row, value }];
  });

/** Returns the option of a filter, such as `--created-after`. */
export const flagOf = ({ name, option = name }: AssetFilterRow) => `--${option.replaceAll('_', '-')}`;

export const sortFields = ['created_at', 'name', 'duration'] as const;

/** Values of `ordering` (§4). A minus reverses the order. */
export const orderings = sortFields.flatMap((field) => [field, `-${field}`] as const);
