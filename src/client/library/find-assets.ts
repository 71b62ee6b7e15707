import type { AssetFilters } from '../../contract/asset-filters.ts';
import type { AssetRecord } from '../../contract/types.ts';
import { compileGlobs } from '../../shared/glob.ts';
import { asText, normalizeName } from '../../shared/json-values.ts';
import type { AssetsApi } from '../api/assets.ts';
import { usageError } from '../errors.ts';
import { escapeGlob, expandBraces, isGlob, splitGlob } from '../glob.ts';
import type { FolderReader } from './folder-reader.ts';
import type { FolderNode, WorkspaceFolderTree } from './folder-tree.ts';
import { withoutFolderPrefix } from './library-paths.ts';

export type PathSearch = {
  filters?: AssetFilters;
  /** True if glob characters are part of the name. */
  isLiteral?: boolean;
  /** True before a change, which refuses what cannot be told apart. */
  isChange?: boolean;
  /** Called with the number of folders that are about to be listed, at one request each or more. */
  onFolderCount?(count: number): void;
};

/**
 * Finds assets by address, such as `/Campaigns/clip.mp4`, or by glob. If an asset's address equals the pattern, only
 * that address matches, and `isExact` is true. A name can contain slashes, so that an address that no folder explains is
 * looked up in the folders above, too.
 *
 * @returns the assets, and for a glob the folders between its fixed part and each asset, such as `day 1/cam a`
 * @throws CodedError `filter_ignored` (exit 6) if the service ignores the folder that it was asked for
 */
export async function findAssetsByPath(
  reader: FolderReader,
  typed: string,
  tree: WorkspaceFolderTree,
  { filters = {}, isLiteral = false, isChange, onFolderCount }: PathSearch = {},
): Promise<{ found: AssetRecord[]; isExact: boolean; relativeDirs: ReadonlyMap<AssetRecord, string> }> {
  const names = namesIn(typed);
  const pattern = names.join('/');
  const hasGlob = isGlob(pattern) && !isLiteral;
  const alternatives = hasGlob ? alternativesOf(tree, names) : [];
  const name = hasGlob || filters.search !== undefined ? undefined : names.at(-1);
  const collector = new Collector(pattern, alternatives);
  const collect = async (folders: readonly FolderToList[]) => {
    for (const folder of folders) {
      const accepts = (asset: AssetRecord) => collector.matches(folder, asset);
      for (const asset of await reader.find(folder.parent, accepts, { filters, name, isChange }))
        collector.add(folder, asset);
    }
  };
  const folders = hasGlob ? foldersOfGlobs(tree, alternatives) : foldersAt(tree, names.slice(0, -1));
  onFolderCount?.(folders.length);
  await collect(folders);
  const canHaveSlashes = !hasGlob && tree.findByPath(pattern).length === 0; // the address of a folder is explained
  for (let length = names.length - 2; length >= 0 && canHaveSlashes && collector.all.length === 0; length--)
    await collect(foldersAt(tree, names.slice(0, length)));
  const { literal, found, relativeDirs } = collector;
  return literal.length > 0
    ? { found: literal, isExact: true, relativeDirs }
    : { found, isExact: !hasGlob, relativeDirs };
}

/** Stands for a slash in the name of an asset, so that `*` matches it. No name has this character. */
const slashStandIn = '\uffff';

/** A folder to list: the path before a name in it, such as `Campaigns/`, and its uid. */
type FolderToList = { path: string; parent: string };

/** Collects the assets at an address, and those that match a glob. */
class Collector {
  readonly #pattern: string;
  readonly #normalized: string;
  readonly #matches: (path: string) => boolean;
  /** Number of folders at the start of all paths that match. */
  readonly #fixedCount: number;
  /** Assets at this address, and those whose address differs in the Unicode form only. */
  readonly #exact: AssetRecord[] = [];
  readonly #similar: AssetRecord[] = [];
  /** Assets that match the glob. */
  readonly found: AssetRecord[] = [];
  readonly relativeDirs = new Map<AssetRecord, string>();

  /** @param alternatives globs that the pattern stands for; none if it is an address */
  constructor(pattern: string, alternatives: readonly string[]) {
    this.#pattern = pattern;
    this.#normalized = normalizeName(pattern);
    this.#matches = compileGlobs(alternatives.map(normalizeName));
    const bases = alternatives.map((glob) => splitGlob(glob).base.split('/').filter(Boolean));
    const [first = [], ...others] = bases;
    const differing = first.findIndex((name, at) => others.some((base) => base[at] !== name));
    this.#fixedCount = differing < 0 ? first.length : differing;
  }

  /** Returns true for an asset of a folder that is at the address, or matches the glob. */
  matches({ path: folder }: FolderToList, { name }: AssetRecord): boolean {
    const [text, normalized] = [asText(name) ?? '', normalizeName(folder + (asText(name) ?? ''))];
    if (normalized === this.#normalized) return true;
    return this.#matches(normalized) || this.#matches(normalizeName(folder + text.replaceAll('/', slashStandIn)));
  }

  add({ path: folder }: FolderToList, asset: AssetRecord): void {
    const path = folder + (asText(asset.name) ?? '');
    if (path === this.#pattern) this.#exact.push(asset);
    else if (normalizeName(path) === this.#normalized) this.#similar.push(asset);
    else {
      this.found.push(asset);
      this.relativeDirs.set(asset, folder.split('/').slice(this.#fixedCount, -1).join('/'));
    }
  }

  /** Assets at the address itself, even if it is a glob. */
  get literal(): AssetRecord[] {
    return this.#exact.length > 0 ? this.#exact : this.#similar;
  }

  get all(): AssetRecord[] {
    return [...this.#exact, ...this.#similar, ...this.found];
  }
}

const namesIn = (path: string) => withoutFolderPrefix(path).split('/').filter(Boolean);

const topLevel: FolderToList = { path: '', parent: 'root' };

/** Returns the folders at a path: none if it does not exist, and several if siblings share a name. */
const foldersAt = (tree: WorkspaceFolderTree, names: readonly string[]): FolderToList[] =>
  names.length === 0 ? [topLevel] : tree.findByPath(names.join('/')).map(toFolderToList);

const toFolderToList = ({ path, folder }: FolderNode): FolderToList => ({
  path: `${path.slice(1)}/`,
  parent: folder.uid,
});

/** Returns the globs without alternatives that a glob stands for. Folders whose name is the glob are meant literally. */
function alternativesOf(tree: WorkspaceFolderTree, names: readonly string[]): string[] {
  const alternatives = expandBraces(names.join('/'));
  const directory = names.slice(0, -1).join('/');
  const isDeep = alternatives.some((glob) => !Number.isFinite(splitGlob(glob).maxDepth));
  if (isDeep || directory === '' || tree.findByPath(directory).length === 0) return alternatives;
  return expandBraces(names.at(-1) ?? '').map((name) => `${escapeGlob(directory)}/${name}`);
}

/** Returns the folders that can contain a match of globs, which are results of `expandBraces`. */
function foldersOfGlobs(tree: WorkspaceFolderTree, alternatives: readonly string[]): FolderToList[] {
  const all = [topLevel, ...tree.all.map(toFolderToList)];
  const chosen = new Set<string>();
  for (const { base, rest, maxDepth } of alternatives.map(splitGlob)) {
    const fixed = normalizeName(base);
    const directory = rest.split('/').slice(0, -1).join('/');
    const matches = compileGlobs([directory]);
    for (const { path, parent } of all) {
      const normalized = normalizeName(path);
      if (!normalized.startsWith(fixed)) continue;
      const inside = normalized.slice(fixed.length, -1);
      if (!Number.isFinite(maxDepth) || (directory === '' ? normalized === fixed : matches(inside))) chosen.add(parent);
    }
  }
  return all.filter(({ parent }) => chosen.has(parent));
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
