import { type Command, Option, type OptionValues } from '@commander-js/extra-typings';
import type { AssetFilters } from '../../client/api/assets.ts';
import { usageError } from '../../client/errors.ts';
import { assetTypes, suggestedStatuses } from '../../contract/asset-values.ts';
import type { Collection } from '../../contract/paths.ts';
import { filtersHeading, withSuggestions } from '../command.ts';
import type { Context } from '../context.ts';
import { isLibraryPath, resolveParentFilter } from '../library/folders.ts';
import { precedence } from '../settings/setting-resolver.ts';
import { parseDay } from '../settings/units.ts';

const filterNames = ['search', 'status', 'tag', 'createdAfter', 'createdBefore', 'type', 'folder'] as const;

/** Filter and sort options of a command (§4, "Filters and ordering"). */
export type FilterOptions = { [Name in (typeof filterNames)[number] | 'sort']?: string | undefined };

export const dateHelp = 'DATE is YYYY-MM-DD, today, yesterday or an age such as 36h or 7d, in UTC.';

/** Adds the filter options to a command. @param isList true for `ls`, whose help documents them in full */
export function withFilters<Args extends unknown[], Options extends OptionValues>(
  command: Command<Args, Options>,
  collection: Collection,
  isList = false,
) {
  const filter = <Flags extends string>(flags: Flags, help: string) => {
    const option = new Option(flags, help);
    return isList ? option : option.helpGroup(filtersHeading);
  };
  const filtered = command
    .addOption(filter('--search <text>', 'words in name or description'))
    .addOption(withSuggestions(filter('--status <status>', suggestedStatuses.join(', ')), suggestedStatuses))
    .addOption(filter('--tag <slug>', 'tag'))
    .addOption(filter('--created-after <date>', 'created on or after'))
    .addOption(filter('--created-before <date>', 'created on or before'));
  // "Assets list only: `type` … and `parent`" (§4)
  const withAssetFilters = () =>
    filtered
      .addOption(withSuggestions(filter('--type <type>', assetTypes.join(', ')), assetTypes))
      .addOption(filter('--folder <folder>', 'folder, by path or uid; / is the top level'));
  return collection === 'assets' ? withAssetFilters() : (filtered as unknown as ReturnType<typeof withAssetFilters>);
}

const sortFields = ['created_at', 'name', 'duration'];
export const sortOption = withSuggestions(
  new Option('--sort <field>', `${sortFields.join(', ')}; -FIELD reverses the order`),
  sortFields.flatMap((field) => [field, `-${field}`]),
);

/** Rejects --workspace, because the API cannot filter by workspace. @throws MediactlError `usage` (exit 2) */
export function rejectWorkspaceFlag({ settings }: Context, command: string): void {
  if (settings.resolver.resolve('workspace').rank === precedence.flag)
    throw usageError(
      `${command} does not accept --workspace`,
      'leave out --workspace; mediactl folders tree lists the folders of any workspace',
      'the API lists everything that the key can see, and cannot filter by workspace',
    );
}

/** Separates a path, such as `/Campaigns`, from the words to search for. */
export function splitPath(typed: readonly string[], folder: string | undefined) {
  const [path, other] = typed.filter(isLibraryPath);
  if (path === undefined) return { path: undefined, words: typed };
  if (folder !== undefined) throw usageError(`${path} and --folder cannot be used together`, 'name one folder');
  if (other !== undefined) throw usageError(`${path} and ${other} cannot be used together`, 'name one folder');
  return { path, words: typed.filter((word) => word !== path) };
}

/** Reports whether any filter is set. */
export function hasFilters(filters: AssetFilters): boolean {
  return Object.values(filters).some((value) => value !== undefined);
}

/** Converts options to API filters, with dates as days and the folder as its uid. */
export async function parseFilters(context: Context, options: FilterOptions): Promise<AssetFilters> {
  const now = context.clock.now();
  const { createdAfter, createdBefore, folder, sort } = options;
  // An unset variable in a script must not select everything.
  const empty = filterNames.find((name) => options[name]?.trim() === '');
  if (empty)
    throw usageError(
      `--${empty.replace('created', 'created-').toLowerCase()} is empty`,
      'leave it out, or give a value',
    );
  if (sort !== undefined && !sortFields.includes(sort.replace(/^-/, '')))
    throw usageError(
      `--sort does not accept '${sort}'`,
      `use ${sortFields.join(', ')}, or - before one to reverse the order`,
    );
  return {
    search: options.search,
    status: options.status,
    tag: options.tag,
    created_after: createdAfter && parseDay('--created-after', createdAfter, now),
    created_before: createdBefore && parseDay('--created-before', createdBefore, now),
    ordering: sort,
    type: options.type,
    parent: folder && (await resolveParentFilter(context, folder)),
  };
}
