import type { Command } from '@commander-js/extra-typings';
import type { AssetFilters, AssetsApi } from '../../../client/api/assets.ts';
import { itemsOf, totalOf } from '../../../client/api/pagination.ts';
import { usageError } from '../../../client/errors.ts';
import { formatCount, pluralize } from '../../../contract/figures.ts';
import { asNumber, asText, parseTimestamp } from '../../../contract/json-values.ts';
import type { Collection } from '../../../contract/paths.ts';
import { escapeControls } from '../../../contract/sanitize.ts';
import type { Asset } from '../../../contract/types.ts';
import type { Context } from '../../context.ts';
import { countAssets } from '../../library/asset-count.ts';
import { descendantsOf, fetchFolderTree, isRootPath, resolveFolder } from '../../library/folders.ts';
import type { Result } from '../../output/result.ts';
import { parseCount } from '../../settings/units.ts';
import { type ActionWrapper, addExamples, type FlagsOf } from '../command.ts';
import { dateHelp, parseFilters, rejectWorkspaceFlag, sortOption, withFilters } from '../filters.ts';
import { assetList } from './columns.ts';
import { findIgnoredFilter } from './filter-checks.ts';
import type { AssetListing } from './sheet.ts';

export function list(command: Command, run: ActionWrapper, collection: Collection): void {
  addExamples(
    command,
    `mediactl ${collection} ls harbour --status ready --created-after 7d`,
    `mediactl ${collection} ls --sort name --limit 5`,
    `mediactl ${collection} ls --all --jsonl`,
    `mediactl ${collection} ls --status ready --html sheet.html`,
  );
  addListOptions(command, collection).action(
    run(async (context, words, flags) =>
      runList(context, await parseListRequest(context, { collection, words }, flags)),
    ),
  );
}

function addListOptions(command: Command, collection: Collection) {
  const described = command
    .description(`Lists ${collection}, the newest first. ${dateHelp}`)
    .argument('[words...]', 'words in name and description, as --search');
  const filtered = withFilters(described, collection, true)
    .addOption(sortOption)
    .option('--limit <number>', 'how many at most (20)')
    .option('--all', 'every one, however many pages that takes')
    .option('--offset <number>', 'how many to leave out at the beginning')
    .option('--count', 'print how many there are')
    .option('--html <file>', 'write a page with their thumbnails, to share');
  const withRecursive = () => filtered.option('-r, --recursive', 'with --folder, all below it too');
  return collection === 'assets' ? withRecursive() : (filtered as unknown as ReturnType<typeof withRecursive>);
}

export type ListRequest = {
  collection: Collection;
  filters: AssetFilters;
  /** Folder as entered: the title of a contact sheet and, with `recursive`, where the list begins. */
  folder?: string | undefined;
  recursive?: true | undefined;
  /** Maximum number of assets; undefined for all, `page` for the first page and a footer if there are more. */
  limit: number | 'page' | undefined;
  offset: number;
  count?: true | undefined;
  html?: string | undefined;
  words: readonly string[];
};

/** @throws MediactlError `usage` (exit 2) if options conflict or are invalid, `not_found` (exit 3) for the folder */
export async function parseListRequest(
  context: Context,
  { collection, words }: { collection: Collection; words: readonly string[] },
  flags: FlagsOf<typeof addListOptions>,
): Promise<ListRequest> {
  rejectWorkspaceFlag(context, `${collection} ls`);
  const { all, limit, count, html, search, recursive, folder } = flags;
  const assertOne = (one: boolean, other: unknown, both: string) => {
    if (one && other !== undefined) throw usageError(`${both} cannot be used together`, 'give one of them');
  };
  assertOne(words.length > 0, search, 'words and --search');
  assertOne(Boolean(all), limit, '--all and --limit');
  assertOne(Boolean(count), html, '--count and --html');
  const filters = await parseFilters(context, {
    ...flags,
    ...(words.length > 0 && { search: words.join(' ') }),
    ...(recursive && { folder: undefined }),
  });
  if (recursive && folder === undefined) throw usageError('--recursive is for a folder', '--folder /PATH --recursive');
  return {
    collection,
    filters,
    folder,
    recursive,
    count,
    html,
    words,
    limit: limit === undefined ? (all ? undefined : 'page') : parseCount('--limit', limit, 1),
    offset: parseCount('--offset', flags.offset ?? '0'),
  };
}

export async function runList(context: Context, request: ListRequest): Promise<Result> {
  const { collection, filters, folder, recursive, html, words } = request;
  const folders = recursive ? await collectFolderUids(context, folder as string) : undefined;
  if (request.count) {
    const scopes = folders?.map((parent) => ({ ...filters, parent })) ?? [filters];
    let total = 0;
    for (const scope of scopes) total += await countAssets(context, collection, scope);
    return { kind: 'raw', text: String(total) };
  }
  const find = async (): Promise<AssetListing> => {
    const found = await fetchListing(context, request, folders);
    return { ...found, pages: withIgnoredFilterWarning(context, filters, found.pages) };
  };
  if (html !== undefined) {
    const { titleOf, writeSheet } = await import('./sheet.ts');
    const title = titleOf(filters, folder, collection === 'assets' ? 'Assets' : 'Videos');
    return writeSheet(context, { path: html, title }, find);
  }
  const { pages, footer, isEmpty } = await find();
  const empty = `no ${collection}${emptyResultHint(words, context.settings.outputOptions.format)}`;
  // A terminal shows this text in place of the table.
  if (isEmpty && words.length > 0 && !context.isHumanOutput) context.terminal.info(empty);
  return { ...assetList(context, pages, empty), footer: () => footer };
}

const pageSize = 20;

async function fetchListing(
  context: Context,
  { collection, filters, limit, offset }: ListRequest,
  folders: readonly string[] | undefined,
): Promise<AssetListing> {
  const { [collection]: assets } = await context.api();
  const count = limit === 'page' ? pageSize : limit;
  if (folders) {
    const end = count === undefined ? undefined : count + offset;
    // Fetches one extra asset to find out whether there are more.
    const found = await listAssetsInFolders(assets, filters, folders, end && end + 1);
    const items = found.slice(offset, end);
    const hasMore = limit === 'page' && offset + items.length < found.length;
    return { pages: [items], footer: hasMore ? `${items.length} shown; --all for all` : undefined };
  }
  if (limit !== 'page') return { pages: assets.list(filters, { limit, offset }), footer: undefined };
  const page = await assets.page(filters, pageSize, offset);
  const items = itemsOf<Asset>(page).slice(0, pageSize);
  const total = totalOf(page, (await context.account()).names);
  const hasMore = total !== undefined && total > offset + items.length;
  // Tells that there are more, so that the user does not mistake the page for the whole list.
  const footer = hasMore ? `${items.length} of ${formatCount(total)}; --all for all, --limit for more` : undefined;
  return { pages: [items], footer, isEmpty: items.length === 0 };
}

/** Yields the pages, and warns once of an ignored filter, which would list the whole library. */
async function* withIgnoredFilterWarning(
  { terminal }: Context,
  filters: AssetFilters,
  pages: AssetListing['pages'],
): AsyncGenerator<Asset[]> {
  let wrong: ReturnType<typeof findIgnoredFilter>;
  for await (const page of pages) {
    const isFirst = !wrong;
    wrong ??= findIgnoredFilter(filters, page);
    if (wrong && isFirst)
      terminal.warn(
        `the service ignored a filter (${wrong.filter}): it lists ${escapeControls(wrong.uid)}, which does not match`,
      );
    yield page;
  }
}

/** Returns a hint if the only word looks like a folder path, or like the fields that the GitHub CLI has after --json. */
function emptyResultHint(words: readonly string[], format: string): string {
  const [word = ''] = words;
  if (words.length !== 1) return '';
  if (word.includes('/')) return ` with that in their name; in a folder: mediactl ls --folder ${word}`;
  const areFields = format.startsWith('json') && /^[a-z_]+(,[a-z_]+)*$/.test(word);
  return areFields ? ` with that in their name; for fields: --fields ${word}` : '';
}

/** Maximum number of folders to list without a notice. Each folder costs a request. */
const maxFoldersWithoutNotice = 20;

/** Returns the uids of a folder and of all its subfolders. The uid of the top level is `root`. */
async function collectFolderUids(context: Context, folder: string): Promise<string[]> {
  const { tree } = await fetchFolderTree(context);
  const top = isRootPath(folder) ? undefined : await resolveFolder(context, tree, folder);
  const inside = top ? [top, ...descendantsOf(top)] : tree.all;
  const uids = [...(top ? [] : ['root']), ...inside.map((each) => each.folder.uid)];
  if (uids.length > maxFoldersWithoutNotice)
    context.terminal.info(`${pluralize(uids.length, 'folder')}: a request for each, or more`);
  return uids;
}

/** Returns the assets of several folders, at most `maxPerFolder` of each, as one sorted list. */
async function listAssetsInFolders(
  assets: AssetsApi,
  filters: AssetFilters,
  folders: readonly string[],
  maxPerFolder: number | undefined,
): Promise<Asset[]> {
  const found: Asset[] = [];
  for (const parent of folders)
    for await (const page of assets.list({ ...filters, parent }, { limit: maxPerFolder })) found.push(...page);
  return found.sort(comparatorFor(filters.ordering ?? '-created_at'));
}

/** Returns a function that compares assets by an ordering, `created_at`, `name` or `duration` (§4). */
function comparatorFor(ordering: string): (one: Asset, other: Asset) => number {
  const sign = ordering.startsWith('-') ? -1 : 1;
  const field = ordering.replace(/^-/, '');
  const numberOf = (asset: Asset) =>
    (field === 'duration' ? asNumber(asset.duration) : parseTimestamp(asset.created_at)) ?? 0;
  if (field !== 'name') return (one, other) => sign * (numberOf(one) - numberOf(other));
  return ({ name: one }, { name: other }) => sign * (asText(one) ?? '').localeCompare(asText(other) ?? '');
}
