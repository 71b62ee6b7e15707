import type { Command } from '@commander-js/extra-typings';
import type { AssetFilters } from '../../../client/api/assets.ts';
import { itemsOf, totalOf } from '../../../client/api/pagination.ts';
import { usageError } from '../../../client/errors.ts';
import { formatCount } from '../../../contract/figures.ts';
import type { Collection } from '../../../contract/paths.ts';
import { escapeControls } from '../../../contract/sanitize.ts';
import type { Asset } from '../../../contract/types.ts';
import type { Context } from '../../context.ts';
import { countAssets } from '../../library/asset-count.ts';
import { LocationNames } from '../../library/location-names.ts';
import { parseCount } from '../../settings/units.ts';
import { type ActionWrapper, addExamples } from '../command.ts';
import { dateHelp, parseFilters, rejectWorkspaceFlag, sortOption, withFilters } from '../filters.ts';
import { assetList } from './columns.ts';
import { findIgnoredFilter } from './filter-checks.ts';
import { collectFolderUids, listAssetsInFolders } from './recursive-listing.ts';
import type { AssetListing } from './sheet.ts';

export function list(command: Command, run: ActionWrapper, collection: Collection): void {
  addExamples(
    command,
    `mediactl ${collection} ls harbour --status ready --created-after 7d`,
    `mediactl ${collection} ls --sort name --limit 5`,
    `mediactl ${collection} ls --all --jsonl`,
    `mediactl ${collection} ls --status ready --html sheet.html`,
  );
  const described = command
    .alias('list')
    .summary(`list ${collection}`)
    .description(`Lists ${collection}, the newest first. ${dateHelp}`)
    .argument('[words...]', 'words in name and description, as --search');
  const filtered = withFilters(described, collection, true)
    .addOption(sortOption)
    .option('--limit <number>', 'how many at most (20)')
    .option('--all', 'every one, however many pages that takes')
    .option('--offset <number>', 'how many to leave out at the beginning')
    .option('--count', 'print how many there are')
    .option('--html <file>', 'write a page with their thumbnails, to send to somebody');
  const withRecursive = () => filtered.option('-r, --recursive', 'with --folder, all below it too');
  const withAllOptions =
    collection === 'assets' ? withRecursive() : (filtered as unknown as ReturnType<typeof withRecursive>);
  withAllOptions.action(
    run(async (context, words, options) => {
      rejectWorkspaceFlag(context, `${collection} ls`);
      const { all, limit: typedLimit, count, html, search, recursive = false } = options;
      if (words.length > 0 && search !== undefined)
        throw usageError('words and --search cannot be used together', 'give one of them');
      if (all && typedLimit !== undefined)
        throw usageError('--all and --limit cannot be used together', 'give one of them');
      if (count && html !== undefined)
        throw usageError('--count and --html cannot be used together', 'give one of them');
      const filters = await parseFilters(context, {
        ...options,
        ...(words.length > 0 && { search: words.join(' ') }),
        ...(recursive && { folder: undefined }),
      });
      const { [collection]: assets } = await context.api();
      const folders = recursive ? await collectFolderUids(context, options.folder) : undefined;
      if (count) {
        const scopes = folders ? folders.map((parent) => ({ ...filters, parent })) : [filters];
        let total = 0;
        for (const scope of scopes) total += await countAssets(context, collection, scope);
        return { kind: 'raw', text: String(total) } as const;
      }
      const offset = parseCount('--offset', options.offset ?? '0');
      const isFirstPage = typedLimit === undefined && !all;
      const limit = all ? undefined : parseCount('--limit', typedLimit ?? `${defaultLimit}`, 1);
      const empty = `no ${collection}${emptyResultHint(words, context.settings.outputOptions.format)}`;
      const fetchListing = async (): Promise<AssetListing> => {
        if (folders) {
          const maxAssets = limit === undefined ? undefined : limit + offset;
          // Fetches one extra asset to find out whether there are more.
          const found = await listAssetsInFolders(assets, filters, folders, maxAssets && maxAssets + 1);
          const items = found.slice(offset, maxAssets);
          const hasMore = isFirstPage && offset + items.length < found.length;
          const footer = hasMore ? `${items.length} shown; --all for all` : undefined;
          return { pages: [items], footer };
        }
        if (!isFirstPage) return { pages: assets.list(filters, { limit, offset }), footer: undefined };
        const { items, footer } = await fetchFirstPage(context, collection, filters, offset);
        return { pages: [items], footer, isEmpty: items.length === 0 };
      };
      const find = async (): Promise<AssetListing> => {
        const found = await fetchListing();
        return { ...found, pages: withIgnoredFilterWarning(context, filters, found.pages) };
      };
      if (html !== undefined) {
        const { titleOf, writeSheet } = await import('./sheet.ts');
        const title = titleOf(filters, options.folder, collection === 'assets' ? 'Assets' : 'Videos');
        return writeSheet(context, { path: html, title, find });
      }
      const { pages, footer, isEmpty } = await find();
      if (isEmpty && words.length > 0 && !context.isHumanOutput) context.terminal.info(empty); // a terminal shows this text in place of the table
      return {
        ...assetList(context, new LocationNames(context), pages, empty),
        footer: () => footer,
      };
    }),
  );
}

/**
 * Yields the pages of assets, and warns once if an asset does not match a filter, so that a script does not mistake
 * the whole library for matches.
 */
async function* withIgnoredFilterWarning(
  { terminal }: Context,
  filters: AssetFilters,
  pages: AssetListing['pages'],
): AsyncGenerator<Asset[]> {
  let wrong: ReturnType<typeof findIgnoredFilter>;
  for await (const page of pages) {
    if (!wrong) {
      wrong = findIgnoredFilter(filters, page);
      if (wrong)
        terminal.warn(
          `the service ignored a filter (${wrong.filter}): it lists ${escapeControls(wrong.uid)}, which does not match`,
        );
    }
    yield page;
  }
}

/**
 * Returns a hint if the only search word looks like a folder path, or like a field list, which the GitHub CLI
 * accepts after --json.
 */
function emptyResultHint(words: readonly string[], format: string): string {
  const [word = ''] = words;
  if (words.length !== 1) return '';
  if (word.includes('/')) return ` with that in their name; in a folder: mediactl ls --folder ${word}`;
  const areFields = format.startsWith('json') && /^[a-z_]+(,[a-z_]+)*$/.test(word);
  return areFields ? ` with that in their name; for fields: --fields ${word}` : '';
}

const defaultLimit = 20;

/**
 * Returns the first page of results, and a footer if there are more, so that the user does not mistake the page for
 * the whole list.
 */
async function fetchFirstPage(
  context: Context,
  collection: Collection,
  filters: AssetFilters,
  offset: number,
): Promise<{ items: Asset[]; footer: string | undefined }> {
  const page = await (await context.api())[collection].page(filters, defaultLimit, offset);
  const items = itemsOf<Asset>(page).slice(0, defaultLimit);
  const total = totalOf(page, (await context.account()).names);
  const hasMore = total !== undefined && total > offset + items.length;
  const footer = hasMore ? `${items.length} of ${formatCount(total)}; --all for all, --limit for more` : undefined;
  return { items, footer };
}
