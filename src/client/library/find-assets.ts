import type { AssetFilters } from '../../contract/asset-filters.ts';
import { asText, normalizeName } from '../../contract/json-values.ts';
import type { AssetRecord } from '../../contract/types.ts';
import type { AssetsApi } from '../api/assets.ts';
import { usageError } from '../errors.ts';
import { assertFolderIsFlat, listFolders } from './filter-checks.ts';
import type { WorkspaceFolderTree } from './folder-tree.ts';
import { isGlob, withoutFolderPrefix } from './library-paths.ts';

/** Creates a matcher. A library has no hidden files, and all other special characters are parts of names. */
async function globMatcher(glob: string): Promise<(path: string) => boolean> {
  const { default: picomatch } = await import('picomatch');
  return picomatch(glob.replace(/[[\]()|+@!^$\\]/g, '\\$&'), { dot: true, nonegate: true, noextglob: true });
}

export type PathSearch = {
  filters?: AssetFilters;
  /** True if glob characters are part of the name. */
  isLiteral?: boolean;
  /** Called with the number of folders that are about to be listed, at one request each or more. */
  onFolderCount?(count: number): void;
};

/**
 * Finds assets by address, such as `/Campaigns/clip.mp4`, or by glob. If an asset's address equals the pattern, only
 * that address matches, and `isExact` is true.
 *
 * @returns the assets, and for a glob the folders between its fixed part and each asset, such as `day 1/cam a`
 * @throws CodedError `filter_ignored` (exit 6) if the service ignores the folder that it was asked for
 */
export async function findAssetsByPath(
  assets: AssetsApi,
  typed: string,
  tree: WorkspaceFolderTree,
  { filters = {}, isLiteral = false, onFolderCount }: PathSearch = {},
): Promise<{ found: AssetRecord[]; isExact: boolean; relativeDirs: ReadonlyMap<AssetRecord, string> }> {
  const pattern = namesIn(typed).join('/');
  const normalized = normalizeName(pattern);
  const hasGlob = isGlob(pattern) && !isLiteral;
  const matches = hasGlob ? await globMatcher(normalized) : () => false;
  const found: AssetRecord[] = [];
  const relativeDirs = new Map<AssetRecord, string>();
  const fixedLength = pattern.slice(0, pattern.search(/[^/]*[*?{]/)).length;
  /** Assets at this address, and those whose address differs in the Unicode form only. */
  const [exact, similar]: [AssetRecord[], AssetRecord[]] = [[], []];
  const collect = (folder: string, asset: AssetRecord) => {
    const path = `${folder}${asText(asset.name) ?? ''}`;
    if (path === pattern) exact.push(asset);
    else if (normalizeName(path) === normalized) similar.push(asset);
    else if (matches(normalizeName(path))) {
      found.push(asset);
      relativeDirs.set(asset, folder.slice(fixedLength, -1));
    }
  };
  const folders = await foldersMatching(tree, pattern, hasGlob);
  onFolderCount?.(folders.length);
  const name = hasGlob || filters.search !== undefined ? undefined : pattern.slice(pattern.lastIndexOf('/') + 1);
  let isFlat = false; // what a service lists of one folder, it lists of each
  for (const { path, parent } of folders) {
    // The service must not list assets of other folders, which could have a matching name.
    for await (const { page } of listFolders(assets, [parent], { filters, name }))
      for (const asset of page) collect(path, asset);
    const below = tree.childrenOf(parent);
    const matching = [...exact, ...similar, ...found];
    if (isFlat || matching.length === 0 || below.length === 0) continue;
    await assertFolderIsFlat(assets, { parent, findBelow: async () => below }, matching);
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

/** Maximum number of search hits to scan for a name, so that a search does not use up the rate limit. */
const maxSearchHits = 2_000;

/** Returns all assets with exactly this name, or else those whose name differs in the Unicode form only. */
export async function findByName(assets: AssetsApi, name: string): Promise<AssetRecord[]> {
  const similar: AssetRecord[] = [];
  let count = 0;
  for await (const page of assets.listNamed(name, {}, { limit: maxSearchHits + 1 })) {
    count += page.length;
    similar.push(...page.filter((asset) => normalizeName(asText(asset.name) ?? '') === normalizeName(name)));
  }
  const exact = similar.filter((asset) => asText(asset.name) === name);
  const found = exact.length > 0 ? exact : similar;
  // An unscanned asset may have the same name.
  if (count > maxSearchHits && found.length < 2)
    throw usageError(`more than ${maxSearchHits} assets match the search for ${name}`, 'give a uid');
  return found;
}
