import { searchFor } from '../../client/api/assets.ts';
import type { WorkspaceFolderTree } from '../../client/api/folder-tree.ts';
import { assertFolderIsFlat, listFolders } from '../../client/library/filter-checks.ts';
import type { AssetFilters } from '../../contract/asset-filters.ts';
import { pluralize } from '../../contract/figures.ts';
import { asText, normalizeName } from '../../contract/json-values.ts';
import { quoteForShell } from '../../contract/sanitize.ts';
import type { Asset } from '../../contract/types.ts';
import type { Context } from '../context.ts';
import { fetchFolderTree, isGlob, isRootPath, withoutFolderPrefix } from './folders.ts';
import { NoAssetError } from './no-asset-error.ts';

/** Creates a matcher. A library has no hidden files, and all other special characters are parts of names. */
async function globMatcher(glob: string): Promise<(path: string) => boolean> {
  const { default: picomatch } = await import('picomatch');
  return picomatch(glob.replace(/[[\]()|+@!^$\\]/g, '\\$&'), { dot: true, nonegate: true, noextglob: true });
}

/** Maximum number of folders to list without a notice. Each folder costs a request. */
const maxFoldersWithoutNotice = 20;

/** Tells how many folders are about to be listed if there are many, since each costs a request. */
export function noticeFolderCount({ terminal }: Context, count: number): void {
  if (count > maxFoldersWithoutNotice)
    terminal.info(`listing ${pluralize(count, 'folder')}, at one request each or more`);
}

export type PathSearch = {
  filters?: AssetFilters;
  /** True if glob characters are part of the name. */
  isLiteral?: boolean;
  /** Returns the folder tree, which the caller can share between searches. */
  tree?: () => Promise<WorkspaceFolderTree>;
};

/**
 * Finds assets by address, such as `/Campaigns/clip.mp4`, or by glob. If an asset's address equals the pattern, only
 * that address matches, and `isExact` is true.
 *
 * @returns the assets, and for a glob the folders between its fixed part and each asset, such as `day 1/cam a`
 * @throws MediactlError `filter_ignored` (exit 6) if the service ignores the folder that it was asked for
 */
export async function findAssetsByPath(
  context: Context,
  typed: string,
  { filters = {}, isLiteral = false, tree }: PathSearch = {},
): Promise<{ found: Asset[]; isExact: boolean; relativeDirs: ReadonlyMap<Asset, string> }> {
  const pattern = namesIn(typed).join('/');
  const normalized = normalizeName(pattern);
  const hasGlob = isGlob(pattern) && !isLiteral;
  const matches = hasGlob ? await globMatcher(normalized) : () => false;
  const { assets } = await context.api();
  const found: Asset[] = [];
  const relativeDirs = new Map<Asset, string>();
  const fixedLength = pattern.slice(0, pattern.search(/[^/]*[*?{]/)).length;
  /** Assets at this address, and those whose address differs in the Unicode form only. */
  const [exact, similar]: [Asset[], Asset[]] = [[], []];
  const collect = (folder: string, asset: Asset) => {
    const path = `${folder}${asText(asset.name) ?? ''}`;
    if (path === pattern) exact.push(asset);
    else if (normalizeName(path) === normalized) similar.push(asset);
    else if (matches(normalizeName(path))) {
      found.push(asset);
      relativeDirs.set(asset, folder.slice(fixedLength, -1));
    }
  };
  const folderTree = tree ? await tree() : (await fetchFolderTree(context)).tree;
  const folders = await foldersMatching(folderTree, pattern, hasGlob);
  noticeFolderCount(context, folders.length);
  const name = pattern.slice(pattern.lastIndexOf('/') + 1);
  const scope = { ...filters, ...(hasGlob || filters.search !== undefined ? {} : searchFor(name)) };
  let isFlat = !hasGlob; // what a service lists of one folder, it lists of each
  for (const { path, parent } of folders) {
    // The service must not list assets of other folders, which could have a matching name.
    for await (const { page } of listFolders(assets, [parent], { filters: scope }))
      for (const asset of page) collect(path, asset);
    const below = folderTree.childrenOf(parent);
    if (isFlat || found.length === 0 || below.length === 0) continue;
    await assertFolderIsFlat(assets, { parent, findBelow: async () => below }, found);
    isFlat = true;
  }
  const literal = exact.length > 0 ? exact : similar;
  return literal.length > 0
    ? { found: literal, isExact: true, relativeDirs }
    : { found, isExact: !hasGlob, relativeDirs };
}

const namesIn = (path: string) => withoutFolderPrefix(path).split('/').filter(Boolean);

/** Returns the folders that can contain a match, with their path before a name, such as `Campaigns/`. */
async function foldersMatching(tree: WorkspaceFolderTree, pattern: string, hasGlob: boolean) {
  const directory = pattern.slice(0, Math.max(0, pattern.lastIndexOf('/')));
  // A folder whose name is the glob is meant literally.
  const literal = tree.findByPath(directory);
  const isDeep = hasGlob && pattern.includes('**');
  if (directory === '' && !isDeep) return [{ path: '', parent: 'root' }];
  if (literal.length > 0 && !isDeep)
    return literal.map(({ path, folder }) => ({ path: `${path.slice(1)}/`, parent: folder.uid }));
  if (!hasGlob) return [];
  const fixed = normalizeName(pattern.slice(0, pattern.search(/[^/]*[*?{]/)));
  const matches = isGlob(directory) ? await globMatcher(normalizeName(directory)) : () => false;
  const all = [
    { path: '', uid: 'root' },
    ...tree.all.map(({ path, folder }) => ({ path: path.slice(1), uid: folder.uid })),
  ];
  return all
    .filter(({ path }) => (isDeep ? normalizeName(`${path}/`).startsWith(fixed) : matches(normalizeName(path))))
    .map(({ path, uid }) => ({ path: path === '' ? '' : `${path}/`, parent: uid }));
}

/** Returns the error for an address without an asset. A folder at that path gets a hint of its own. */
export function noAssetAt(path: string, tree: WorkspaceFolderTree | undefined): NoAssetError {
  const isFolder = isRootPath(path) || (tree?.findByPath(withoutFolderPrefix(path)).length ?? 0) > 0;
  if (isFolder) {
    const hint = `mediactl ls ${quoteForShell(path)}`;
    const details = { folder: path };
    return new NoAssetError(path, `${path} is a folder, not an asset`, { code: 'usage', hint, details }, true);
  }
  return new NoAssetError(path, isGlob(path) ? `no asset matches ${path}` : `no asset or folder at ${path}`, {
    code: 'not_found',
    details: { id: path },
    hint: 'mediactl folders tree lists the folders',
  });
}
