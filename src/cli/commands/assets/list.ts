import { Argument, type Command } from '@commander-js/extra-typings';
import { itemsOf, totalOf } from '../../../client/api/pagination.ts';
import { CodedError, usageError } from '../../../client/errors.ts';
import { isGlob } from '../../../client/glob.ts';
import { findIgnoredFilter } from '../../../client/library/filter-checks.ts';
import { isRootPath, withoutFolderPrefix } from '../../../client/library/library-paths.ts';
import { hasFilters } from '../../../client/library/select-assets.ts';
import { ListScope } from '../../../client/library/workspace-in-use.ts';
import { type AssetFilters, filterRows, flagOf } from '../../../contract/asset-filters.ts';
import type { Collection } from '../../../contract/paths.ts';
import type { AssetRecord } from '../../../contract/types.ts';
import { isUid } from '../../../contract/uid.ts';
import { describeScope, formatCount } from '../../../shared/figures.ts';
import { escapeControls, quoteForShell } from '../../../shared/sanitize.ts';
import { type ActionWrapper, addExamples, type FlagsOf, withSuggestions } from '../../command.ts';
import type { Context } from '../../context.ts';
import { countAssets } from '../../library/asset-count.ts';
import { fetchFolderTree } from '../../library/folders.ts';
import { describeNone } from '../../library/no-asset-error.ts';
import type { Result } from '../../output/result.ts';
import { parseCount } from '../../settings/units.ts';
import { dateHelp, parseFilters, rejectWorkspaceFlag, sortOption, splitPath, withFilters } from '../filters.ts';
import { collectFolderUids, createRelativePaths, listAssetsInFolders, listMatches } from './assets-in-folders.ts';
import { assetList, knownFields } from './columns.ts';
import type { AssetListing } from './sheet.ts';

export function list(command: Command, run: ActionWrapper, collection: Collection): void {
  addExamples(
    command,
    ...(collection === 'assets' ? ['mediactl ls /Campaigns -r', "mediactl ls '/Campaigns/**/*.mov'"] : []),
    `mediactl ${collection} ls harbour --status ready --created-after 7d`,
    `mediactl ${collection} ls --sort name --limit 5`,
    `mediactl ${collection} ls --all --jsonl`,
    `mediactl ${collection} ls --status ready --html sheet.html`,
    `mediactl ${collection} ls --follow --jsonl`,
  );
  addListOptions(command, collection).action(
    run(async (context, words, flags) => {
      if (flags.follow) {
        const { runFollow } = await import('./follow.ts');
        return runFollow(context, { collection, words, since: flags.since }, flags);
      }
      if (flags.since !== undefined) throw usageError('--since needs --follow', 'add --follow --jsonl');
      return runList(context, await parseListRequest(context, { collection, words }, flags));
    }),
  );
}

/** A folder or glob finds assets of every type, so that only a list of assets accepts it. */
export function wordsArgument(collection: Collection = 'assets') {
  const words = 'words in name or description';
  return collection === 'assets'
    ? withSuggestions(new Argument('[words...]', `${words}; or a folder or glob, such as /Campaigns`), 'folders')
    : new Argument('[words...]', words);
}

function addListOptions(command: Command, collection: Collection) {
  const described = command
    .description(
      `Lists ${collection}, newest first. ${dateHelp} What no option filters, --jq does: --all --jq '.[] | select(.height > .width).name' lists upright videos, and select((.description // "") == "") what has no description.`,
    )
    .addArgument(wordsArgument(collection));
  const filtered = withFilters(described, collection, 'list')
    .addOption(sortOption)
    .option('--limit <number>', `maximum number of assets (${pageSize})`)
    .option('--all', 'list all assets')
    .option('--offset <number>', 'skip this many assets')
    .option('--count', 'print only the number of assets')
    .option('--html <file>', 'write a contact sheet, a web page with thumbnails')
    .option('--follow', 'print what becomes new, ready or failed; sees no edits or deletions')
    .option('--since <cursor>', 'follow from this cursor or time on');
  const withRecursive = () => filtered.option('-r, --recursive', 'include the folders below the folder');
  return collection === 'assets' ? withRecursive() : (filtered as unknown as ReturnType<typeof withRecursive>);
}

export type ListRequest = {
  collection: Collection;
  filters: AssetFilters;
  /** Folder as entered: the title of a contact sheet and, with `recursive`, where the list begins. */
  folder?: string | undefined;
  recursive?: true | undefined;
  /** Glob or address of assets, such as `/Campaigns/*.mov`. */
  pattern?: string | undefined;
  /** Maximum number of assets; undefined for all, `page` for the first page and a footer if there are more. */
  limit: number | 'page' | undefined;
  offset: number;
  count?: true | undefined;
  html?: string | undefined;
  words: readonly string[];
};

/** @throws CodedError `usage` (exit 2) if options conflict or are invalid, `not_found` (exit 3) for the folder */
export async function parseListRequest(
  context: Context,
  { collection, words: typed }: { collection: Collection; words: readonly string[] },
  flags: Partial<FlagsOf<typeof addListOptions>>,
): Promise<ListRequest> {
  const { all, limit, count, html, recursive } = flags;
  assertNoFieldList(context, typed);
  const { path, words } = splitPath(typed);
  if (path !== undefined && collection === 'videos')
    throw usageError('videos ls does not accept a folder', `mediactl ls ${quoteForShell(path)} --type video`);
  const isPattern = path !== undefined && (isGlob(path) || !(await isFolder(context, path)));
  const folder = isPattern ? undefined : path;
  if (path === undefined) rejectWorkspaceFlag(context, `${collection} ls`);
  if (words.length > 0 && words.every((word) => word.trim() === ''))
    throw usageError('the word to search for is empty');
  const assertOne = (one: boolean, other: unknown, both: string) => {
    if (one && other !== undefined) throw usageError(`${both} cannot be used together`, 'use one of them');
  };
  assertOne(Boolean(all), limit, '--all and --limit');
  assertOne(Boolean(count), html, '--count and --html');
  const filters = await parseFilters(context, {
    ...flags,
    ...(words.length > 0 && { search: words.join(' ') }),
    folder: recursive ? undefined : folder,
  });
  if (recursive && folder === undefined)
    throw usageError('--recursive needs a folder', 'mediactl ls /FOLDER -r; ls --all lists the whole library');
  return {
    collection,
    filters,
    folder,
    recursive,
    pattern: isPattern ? path : undefined,
    count,
    html,
    words,
    limit: limit === undefined ? (all ? undefined : 'page') : parseCount('--limit', limit, 1),
    offset: parseCount('--offset', flags.offset ?? '0'),
  };
}

export async function runList(context: Context, request: ListRequest): Promise<Result> {
  const { collection, filters, folder, recursive, html, words, pattern } = request;
  if (request.count && pattern !== undefined)
    return { kind: 'raw', text: String((await listMatches(context, pattern, filters)).length) };
  if (request.count) {
    const folders = recursive && (await collectFolderUids(context, folder as string));
    const counted = folders?.map((parent) => ({ ...filters, parent })) ?? [filters];
    let total = 0;
    for (const each of counted) total += await countAssets(context, collection, each);
    if (folder === undefined && !(await (await context.library()).workspaceInUse.isOnlyOne()))
      context.terminal.info('all workspaces');
    return { kind: 'raw', text: String(total) };
  }
  const find = () => findListing(context, request);
  if (html !== undefined) {
    const { titleOf, writeSheet } = await import('./sheet.ts');
    const title = titleOf(filters, folder ?? pattern, collection === 'assets' ? 'Assets' : 'Videos');
    return writeSheet(context, { path: html, title }, find);
  }
  const { pages: found, footer, isEmpty, pathOf, scope } = await find();
  const inFolder = folder && !recursive ? ` in ${folder}; -r includes the folders below it` : '';
  const search = isEmpty ? await describeSearch(context, words, collection) : searchText(words);
  const empty = describeNone(collection, filters, `${inFolder}${search}`);
  const isSearch = words.length > 0 || hasFilters({ ...filters, parent: undefined, ordering: undefined });
  // A terminal shows this text in place of the table.
  if (isEmpty && isSearch && !context.isHumanOutput) context.terminal.info(empty);
  const below = await foldersToShow(context, request);
  const isOneFolder = folder !== undefined && !recursive;
  let depth: string | undefined;
  const pages = isOneFolder ? withFolders(context, filters, below.rows, found, (note) => (depth = note)) : found;
  const more = () => [footer, below.footer, depth, describeScope(scope)].filter(Boolean).join('; ') || undefined;
  return { ...assetList(context, pages, empty, { pathOf, isOneFolder }), more };
}

/** Tells of the list of one folder that it may have what is in the folders below, too, where the service does not show it. */
async function* withFolders(
  context: Context,
  { parent = 'root' }: AssetFilters,
  folders: AssetRecord[],
  pages: AssetListing['pages'],
  tell: (note: string) => void,
): AsyncGenerator<AssetRecord[]> {
  const { folderReader } = await context.library();
  if (folders.length > 0) yield folders;
  for await (const page of pages) {
    yield page;
    const includesBelow = folderReader.includesBelow(parent, page);
    if (includesBelow) tell('with subfolders');
    if (includesBelow === undefined && context.isHumanOutput)
      tell('perhaps with subfolders: the service does not show the folder of each asset');
  }
}

const pageSize = 20;

/** Maximum number of folders to show before the assets of a folder. */
const maxFoldersShown = 100;

/**
 * Returns the folders in the folder that a user lists on a terminal, as rows whose names end with a slash. There are none
 * for a program, whose rows are assets, or with filters, which folders do not have.
 */
async function foldersToShow(
  context: Context,
  { folder, recursive, offset, filters, words }: ListRequest,
): Promise<{ rows: AssetRecord[]; footer?: string }> {
  const isFiltered = words.length > 0 || hasFilters({ ...filters, parent: undefined, ordering: undefined });
  const isShown = context.isHumanOutput && context.settings.outputOptions.fields === undefined;
  if (!isShown || folder === undefined || recursive || offset > 0 || isFiltered) return { rows: [] };
  const { tree } = await fetchFolderTree(context);
  const folders = tree.childrenOf(filters.parent ?? 'root');
  const rows = folders.slice(0, maxFoldersShown).map(({ name, folder: { created_at } }) => {
    return { uid: '', name: `${name}/`, type: 'folder', created_at };
  });
  const left = folders.length - rows.length;
  return left > 0 ? { rows, footer: `${left} more folders: mediactl folders ls ${quoteForShell(folder)}` } : { rows };
}

/**
 * Lists the assets of a request, also of several folders, without those that are known to be in another workspace. Warns of
 * an ignored filter.
 */
export async function findListing(context: Context, request: ListRequest): Promise<AssetListing> {
  const found = await fetchListing(context, request);
  const isInFolder = request.folder !== undefined || request.pattern !== undefined;
  const scope = new ListScope((await context.library()).workspaceInUse, isInFolder ? 'folder' : 'list');
  return { ...found, scope, pages: scope.keep(withIgnoredFilterWarning(context, request.filters, found.pages)) };
}

async function fetchListing(
  context: Context,
  { collection, filters, folder, recursive, limit, offset, pattern }: ListRequest,
): Promise<Omit<AssetListing, 'scope'>> {
  const folders = recursive ? await collectFolderUids(context, folder as string) : undefined;
  const { folderReader: reader } = await context.library();
  const count = limit === 'page' ? pageSize : limit;
  if (folders || pattern !== undefined) {
    const end = count === undefined ? undefined : count + offset;
    // Fetches one extra asset to find out whether there are more.
    const parents = new Map<string, string>();
    const found = folders
      ? await listAssetsInFolders(reader, filters, folders, { limit: end && end + 1, parents })
      : await listMatches(context, pattern as string, filters);
    if (found.length === 0 && pattern !== undefined && !hasFilters({ ...filters, ordering: undefined }))
      throw (await import('../../library/asset-paths.ts')).noAssetAt(pattern, undefined);
    const items = found.slice(offset, end);
    const hasMore = limit === 'page' && offset + items.length < found.length;
    const footer = hasMore ? `${items.length} shown; --all for all` : undefined;
    const listing = { pages: [items], footer, isEmpty: items.length === 0 };
    return folders
      ? { ...listing, pathOf: await createRelativePaths(context, folders[0] as string, parents) }
      : listing;
  }
  if (limit !== 'page') return { pages: reader.list(filters, { limit, offset }, collection), footer: undefined };
  const page = await reader.page(filters, pageSize, offset, collection);
  const items = itemsOf<AssetRecord>(page).slice(0, pageSize);
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
): AsyncGenerator<AssetRecord[]> {
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

/** Returns true if a path is a folder. The top level counts as one. */
async function isFolder(context: Context, path: string): Promise<boolean> {
  if (isRootPath(path)) return true;
  const { tree } = await fetchFolderTree(context);
  if (isUid(path) && !tree.find(path))
    throw new CodedError(`no folder has the uid ${path}`, { code: 'not_found', hint: `mediactl get ${path}` });
  return isUid(path) || tree.findByPath(withoutFolderPrefix(path)).length > 0;
}

/** Rejects fields after `--json`, as the GitHub CLI has them, which would be searched for and not be found. */
function assertNoFieldList({ isMachineReadable }: Context, [word = '', ...others]: readonly string[]): void {
  if (others.length > 0 || !isMachineReadable) return;
  const fields = word.split(',');
  if (fields.length > 1 && fields.every((field) => knownFields.includes(field)))
    throw usageError(`'${word}' is a list of fields, not words to search for`, `--fields ${word}`);
  if (/^\.(\[|[a-z_])/.test(word))
    throw usageError(`'${word}' is a jq filter, not words to search for`, `--jq ${quoteForShell(word)}`);
}

/** Describes a search that found nothing. If the word is the name of a folder at the top level, says so. */
export async function describeSearch(
  context: Context,
  words: readonly string[],
  collection: Collection = 'assets',
): Promise<string> {
  const { findLine } = await import('../../reference/suggestions.lazy.ts');
  const expanded = `${collection} ls`;
  const line = findLine({ names: [collection === 'assets' ? 'ls' : expanded, expanded], words });
  if (line) return `${searchText(words)}; ${line.hint}`;
  const [word = '', ...others] = words;
  if (word === '' || others.length > 0 || word.includes('/')) return searchText(words);
  const tree = await fetchFolderTree(context, { mayPrompt: false }).then(
    (fetched) => fetched.tree,
    () => undefined, // only the hint needs the folders
  );
  const path = tree?.findByPath(word)[0]?.path ?? tree?.findOtherCase(word);
  if (path === undefined) return searchText(words);
  return `${searchText(words)}; in the folder: mediactl ls ${quoteForShell(path)}`;
}

/** Describes the search, and returns a hint if the only word looks like something else than a word to search for. */
function searchText(words: readonly string[]): string {
  if (words.length === 0) return '';
  const search = ` with "${escapeControls(words.join(' '))}" in their name or description`;
  const [word = '', ...others] = words;
  if (others.length > 0) return search;
  if (word.includes('/')) return `${search}; in a folder: mediactl ls ${quoteForShell(`/${word}`)}`;
  const valuesByOption: Record<string, readonly string[]> = {
    ...Object.fromEntries(filterRows.map((row) => [flagOf(row), row.values ?? []])),
    '--created-after': ['today', 'yesterday'],
    '--fields': knownFields,
  };
  const option = Object.keys(valuesByOption).find((each) => valuesByOption[each]?.includes(word));
  return option ? `${search}; did you mean ${option} ${word}?` : search;
}
