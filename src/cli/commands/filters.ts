import { type Command, Option, type OptionValues } from '@commander-js/extra-typings';
import { usageError } from '../../client/errors.ts';
import { isLibraryPath } from '../../client/library/library-paths.ts';
import {
  type AssetFilterKind,
  type AssetFilterName,
  type AssetFilterRow,
  type AssetFilters,
  type assetFilters,
  filtersOf,
  flagOf,
  orderings,
  sortFields,
} from '../../contract/asset-filters.ts';
import type { Collection } from '../../contract/paths.ts';
import { isUid } from '../../contract/uid.ts';
import { filtersHeading, withSuggestions } from '../command.ts';
import type { Context } from '../context.ts';
import { resolveParentFilter } from '../library/folders.ts';
import { precedence } from '../settings/setting-resolver.ts';
import type { CamelCase } from '../settings/settings.ts';
import { parseDay } from '../settings/units.ts';

type OptionOf<Name extends AssetFilterName> = CamelCase<
  (typeof assetFilters)[Name] extends { option: infer Option extends string } ? Option : Name
>;

/** Filter and sort options of a command (§4, "Filters and ordering"). */
export type FilterOptions = {
  [Name in AssetFilterName as OptionOf<Name>]?: string | undefined;
} & { sort?: string | undefined };

export const dateHelp = 'DATE is YYYY-MM-DD, today, yesterday or an age such as 36h or 7d, in UTC.';

type OptionKind = {
  /** Placeholder of the value in help: the filter's name if absent. */
  placeholder?: string;
  /** Converts the value of the option to that of the filter, if they differ. */
  parse?(value: string, flag: string, context: Context): string | Promise<string>;
};

const optionKinds: Record<AssetFilterKind, OptionKind> = {
  search: { placeholder: 'text' },
  slug: { placeholder: 'slug' },
  choice: {},
  date: { placeholder: 'date', parse: (day, flag, { clock }) => parseDay(flag, day, clock.now()) },
  folder: { placeholder: 'folder', parse: (folder, _, context) => resolveParentFilter(context, folder) },
};

function filterOption(row: AssetFilterRow): Option {
  const { placeholder = row.name } = optionKinds[row.kind];
  const built = new Option(`${flagOf(row)} <${placeholder}>`, row.help);
  return row.values ? withSuggestions(built, row.values) : built;
}

/** Filters that a command with words takes as its arguments: `ls harbour`, `ls /Campaigns`. */
const filtersInWords: readonly AssetFilterName[] = ['search', 'parent'];

/**
 * Adds the filter options to a command.
 *
 * @param takes `words` if words and a folder are arguments; `list` also for `ls`, whose help documents the options in full
 */
export function withFilters<Args extends unknown[], Options extends OptionValues>(
  command: Command<Args, Options>,
  collection: Collection,
  takes?: 'words' | 'list',
) {
  for (const row of filtersOf(collection)) {
    if (takes !== undefined && filtersInWords.includes(row.name)) continue;
    command.addOption(takes === 'list' ? filterOption(row) : filterOption(row).helpGroup(filtersHeading));
  }
  return command as unknown as Command<Args, Options & FilterOptions>;
}

export const sortOption = withSuggestions(
  new Option('--sort <field>', `${sortFields.join(', ')}; -FIELD reverses the order`),
  orderings,
);

/** Rejects --workspace, because the API cannot filter by workspace. @throws CodedError `usage` (exit 2) */
export function rejectWorkspaceFlag({ settings }: Context, command: string): void {
  if (settings.resolver.resolve('workspace').rank === precedence.flag)
    throw usageError(
      `${command} does not accept --workspace`,
      'leave out --workspace; mediactl folders tree, to list the folders of any workspace',
      'the API lists everything that the key can see, and cannot filter by workspace',
    );
}

/** Separates a folder or glob, such as `/Campaigns` or the uid of a folder, from the words to search for. */
export function splitPath(typed: readonly string[]) {
  const [path, other] = typed.filter((word) => isLibraryPath(word) || isUid(word));
  if (path === undefined) return { path: undefined, words: typed };
  if (other !== undefined) throw usageError(`${path} and ${other} cannot be used together`, 'name one folder');
  return { path, words: typed.filter((word) => word !== path) };
}

/** Converts options to API filters, with dates as days and the folder as its uid. */
export async function parseFilters(context: Context, options: FilterOptions): Promise<AssetFilters> {
  const given = filtersOf('assets').flatMap((row) => {
    const flag = flagOf(row);
    const value = options[new Option(flag).attributeName() as keyof FilterOptions];
    return value === undefined ? [] : [{ ...row, flag, value }];
  });
  // An unset variable in a script must not select everything.
  const empty = given.find(({ value }) => value.trim() === '');
  if (empty) throw usageError(`${empty.flag} is empty`, 'leave it out, or give a value');
  const { sort } = options;
  if (sort !== undefined && !orderings.some((ordering) => ordering === sort))
    throw usageError(
      `--sort does not accept '${sort}'`,
      `use ${sortFields.join(', ')}, or - before one to reverse the order`,
    );
  const filters: AssetFilters = {};
  for (const { name, kind, flag, value } of given)
    filters[name] = (await optionKinds[kind].parse?.(value, flag, context)) ?? value;
  return { ...filters, ordering: sort };
}
