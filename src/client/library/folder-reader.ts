import { parentOf } from '../../contract/asset.ts';
import type { AssetFilters } from '../../contract/asset-filters.ts';
import type { Collection } from '../../contract/paths.ts';
import type { AssetRecord, PageEnvelope } from '../../contract/types.ts';
import { isSameUid, normalizeUid } from '../../contract/uid.ts';
import { asText } from '../../shared/json-values.ts';
import type { Api } from '../api/api.ts';
import { FolderLists } from '../api/folder-lists.ts';
import { itemsOf, type ListWindow, maxPageSize } from '../api/pagination.ts';
import { asCodedError } from '../errors.ts';
import { assertFiltersApplied, assertFilterWorks, filterIgnored } from './filter-checks.ts';
import type { FolderNode, WorkspaceFolderTree } from './folder-tree.ts';

type FolderReadOptions = {
  filters?: AssetFilters;
  /** True before a change, which refuses a list whose folders cannot be told apart. */
  isChange?: boolean | undefined;
  /** Verb for the words of an error. */
  verb?: string | undefined;
};

/**
 * Reads what is in folders (§4 `parent`). It is the only reader of folders: it verifies that the service applies the
 * filter, that an asset is directly in the folder, and that each is listed once. The uid of the top level is `root`.
 *
 * A service may list what is in the folders below, too, and its records may show no folder. An asset is then in the
 * deepest folder whose list has it.
 */
export class FolderReader {
  readonly #api: Api;
  readonly #fetchTree: () => Promise<WorkspaceFolderTree>;
  readonly #peekTree: () => WorkspaceFolderTree | undefined;
  /** True once the service is known to apply the filter. */
  #isApplied = false;
  /** True if the service lists only the direct children of a folder; undefined until a list shows that. */
  #isFlat: boolean | undefined;
  /** Folders of assets whose records do not show them, by uid, as a list has shown them last. */
  readonly #places = new Map<string, string>();

  /** @param peekTree returns the folders if they are fetched already */
  constructor(
    api: Api,
    fetchTree: () => Promise<WorkspaceFolderTree>,
    peekTree: () => WorkspaceFolderTree | undefined = () => undefined,
  ) {
    this.#api = api;
    this.#fetchTree = fetchTree;
    this.#peekTree = peekTree;
  }

  #lists(collection: Collection = 'assets'): FolderLists {
    return this.#api.resource(FolderLists, collection);
  }

  /** Returns one page of a list as the service sends it, of a folder or of all. */
  page(
    filters: AssetFilters,
    limit: number,
    offset: number,
    collection?: Collection,
  ): Promise<PageEnvelope<AssetRecord>> {
    return this.#lists(collection).page(filters, limit, offset);
  }

  /** Yields the pages of a list as the service sends it, of a folder or of all. */
  list(filters: AssetFilters, window: ListWindow, collection?: Collection): AsyncGenerator<AssetRecord[]> {
    return this.#lists(collection).list(filters, window);
  }

  /**
   * Returns what a list has found by filters, without assets of folders below the one that is among the filters.
   *
   * @throws CodedError `filter_ignored` (exit 6) if the service has not applied a filter
   */
  async matching(
    filters: AssetFilters,
    found: readonly AssetRecord[],
    { isChange, verb, collection = 'assets' }: FolderReadOptions & { collection?: Collection } = {},
  ): Promise<AssetRecord[]> {
    const { parent, ...others } = filters;
    await assertFiltersApplied((...query) => this.page(...query, collection), others, found, verb);
    return parent === undefined ? [...found] : this.directly(parent, found, { isChange, verb });
  }

  /** Returns the assets that are directly in a folder, of those that the service lists there. @throws as `matching` */
  async directly(
    parent: string,
    found: readonly AssetRecord[],
    { isChange = false, verb }: FolderReadOptions = {},
  ): Promise<AssetRecord[]> {
    if (found.length === 0) return [];
    const hidden = found.filter((asset) => parentOf(asset) === undefined);
    if (hidden.length > 0) await this.#assertApplied(verb);
    const shown = new Set(await this.#shownIn(parent, found, { isChange, verb }));
    const below = hidden.length > 0 ? (await this.#fetchTree()).childrenOf(parent) : [];
    const deeper = below.length > 0 ? await this.#deeperOf(parent, below, hidden, { isChange, verb }) : new Set();
    const own = found.filter((asset) =>
      parentOf(asset) === undefined ? !deeper.has(normalizeUid(asset.uid)) : shown.has(asset),
    );
    this.#remember(parent, own);
    return own;
  }

  /** Returns the folder in which a list had an asset, null at the top level; undefined if none did. */
  placeOf(uid: string): string | null | undefined {
    const place = this.#places.get(normalizeUid(uid));
    return place === 'root' ? null : place;
  }

  #remember(parent: string, assets: readonly AssetRecord[]): void {
    for (const { uid } of assets) this.#places.set(normalizeUid(uid), parent);
  }

  /**
   * Yields what is in folders, page by page: each asset once, in the deepest of the folders whose list has it.
   *
   * @param parents a folder and all below it, so that what a list has of folders below is listed there, too
   * @param options `limit` is the maximum number of assets of each folder
   */
  async *listEach(
    parents: readonly string[],
    { filters = {}, limit, verb }: FolderReadOptions & { limit?: number | undefined } = {},
  ): AsyncGenerator<{ parent: string; page: AssetRecord[] }> {
    const tree = parents.length > 1 ? await this.#fetchTree() : undefined;
    const depthOf = (parent: string) => tree?.find(parent)?.path.split('/').length ?? 0;
    const listed = new Set<string>();
    const read = new Set(parents.map(normalizeUid));
    for (const parent of parents.toSorted((one, other) => depthOf(other) - depthOf(one)))
      for await (const page of this.list({ ...filters, parent }, { limit })) {
        if (page.some((asset) => parentOf(asset) === undefined)) await this.#assertApplied(verb);
        const own = page.filter((asset) => {
          const shown = parentOf(asset);
          if (shown === undefined || isIn(parent, shown)) return true;
          if (read.has(normalizeUid(shown ?? 'root'))) return false; // its own folder lists it, too
          throw filterIgnored('parent', `it lists ${asset.uid}, which does not match`, verb);
        });
        const fresh = own.filter(({ uid }) => !listed.has(normalizeUid(uid)));
        if (fresh.some((asset) => parentOf(asset) === undefined) && fresh.length < own.length) this.#isFlat = false;
        for (const { uid } of fresh) listed.add(normalizeUid(uid));
        this.#remember(parent, fresh);
        yield { parent, page: fresh };
      }
  }

  /**
   * Returns the assets of a folder that a test accepts.
   *
   * @param name a name that all of them have, so that a search may find them in a folder of many; what it does not find is
   *   looked for in the whole list, since a search need not find a name (assumption A30)
   */
  async find(
    parent: string,
    accepts: (asset: AssetRecord) => boolean,
    { filters = {}, name, ...options }: FolderReadOptions & { name?: string | undefined } = {},
  ): Promise<AssetRecord[]> {
    const inFolder = { ...filters, parent };
    const found: AssetRecord[] = [];
    let total: number | undefined;
    const onTotal = (shown: number | undefined) => {
      total = shown;
    };
    const pages = this.list(inFolder, { onTotal });
    let isFirst = true;
    for await (const page of pages) {
      found.push(...page.filter(accepts));
      const isSearchedFor = isFirst && name !== undefined && (total ?? maxPageSize) > page.length;
      isFirst = false;
      if (!isSearchedFor) continue;
      const listed = new Set(found.map(({ uid }) => uid));
      for await (const named of this.#lists().listNamed(name, inFolder, {}))
        found.push(...named.filter((asset) => accepts(asset) && !listed.has(asset.uid)));
      if (found.length > 0) break;
    }
    return this.directly(parent, found, options);
  }

  /** Returns those of the assets that a folder lists; undefined if it cannot be listed. */
  async findListed(parent: string, uids: readonly string[]): Promise<ReadonlySet<string> | undefined> {
    const missing = new Set(uids.map(normalizeUid));
    const listed = new Set<string>();
    try {
      for await (const page of this.list({ parent }, {})) {
        for (const uid of page.map((asset) => normalizeUid(asset.uid))) if (missing.delete(uid)) listed.add(uid);
        if (missing.size === 0) break;
      }
    } catch (thrown) {
      if (!isListRefused(thrown)) throw thrown;
      return undefined;
    }
    return listed;
  }

  /** Returns whether the list of a folder has what is below it, too; undefined if that is not known without a request. */
  includesBelow(parent: string, found: readonly AssetRecord[]): boolean | undefined {
    if (this.#isFlat || found.every((asset) => parentOf(asset) !== undefined)) return false;
    return this.#peekTree()?.childrenOf(parent).length === 0 ? false : this.#isFlat === false || undefined;
  }

  /** @throws CodedError `filter_ignored` (exit 6) if the service lists assets for a folder that does not exist */
  async #assertApplied(verb: string | undefined): Promise<void> {
    if (!this.#isApplied) await assertFilterWorks((...query) => this.page(...query), 'parent', verb);
    this.#isApplied = true;
  }

  async #shownIn(
    parent: string,
    found: readonly AssetRecord[],
    { isChange, verb }: FolderReadOptions,
  ): Promise<AssetRecord[]> {
    const others = found.filter((asset) => !isIn(parent, parentOf(asset) ?? null) && parentOf(asset) !== undefined);
    const tree = others.length > 0 && !isChange ? await this.#fetchTree() : undefined;
    for (const asset of others)
      if (!tree || !isBelow(tree, parentOf(asset), parent))
        throw filterIgnored('parent', `it lists ${asset.uid}, which does not match`, verb);
    return found.filter((asset) => !others.includes(asset));
  }

  /**
   * Returns the uids of listed assets that are in a folder below. Looks for an asset in one of the folders below first,
   * then for the same asset in the folder, unless it is known what the service lists.
   */
  async #deeperOf(
    parent: string,
    below: readonly FolderNode[],
    found: readonly AssetRecord[],
    { isChange, verb }: FolderReadOptions,
  ): Promise<ReadonlySet<string>> {
    const none = new Set<string>();
    if (this.#isFlat) return none;
    const probe = this.#isFlat === undefined || isChange ? await this.#findBelow(below) : undefined;
    if (this.#isFlat === undefined && !probe) return none;
    this.#isFlat ??= !(await this.#isListedAbove(parent, found, probe as FoundBelow));
    if (this.#isFlat) return none;
    if (isChange)
      throw filterIgnored('parent', `it lists ${probe?.asset.uid ?? 'assets'}, which is in a folder below`, verb);
    const deeper = new Set<string>();
    for (const { folder } of below)
      for await (const page of this.list({ parent: folder.uid }, {}))
        for (const { uid } of page) deeper.add(normalizeUid(uid));
    return deeper;
  }

  /** Returns an asset of one of the folders, and the folder. */
  async #findBelow(below: readonly FolderNode[]): Promise<FoundBelow | undefined> {
    for (const { folder } of below.slice(0, maxFoldersToProbe)) {
      const [asset] = itemsOf<AssetRecord>(await this.page({ parent: folder.uid }, 1, 0));
      if (asset) return { asset, folder: folder.uid };
    }
    return undefined;
  }

  /** Returns true if a folder lists an asset of a folder below. A search that finds nothing must find it below. */
  async #isListedAbove(parent: string, found: readonly AssetRecord[], { asset, folder }: FoundBelow): Promise<boolean> {
    const isSame = ({ uid }: AssetRecord) => isSameUid(uid, asset.uid);
    const searchIn = async (place: string) => {
      const pages = this.#lists().listNamed(asText(asset.name) ?? '', { parent: place }, {});
      for await (const page of pages) if (page.some(isSame)) return true;
      return false;
    };
    if (found.some(isSame) || (await searchIn(parent))) return true;
    if (await searchIn(folder)) return false;
    return (await this.findListed(parent, [asset.uid]))?.size === 1;
  }
}

type FoundBelow = { asset: AssetRecord; folder: string };

/** Content of a folder and its subfolders; `unknown` if the folder cannot be listed. */
export type FolderContent = 'empty' | 'assets' | 'unknown';

/** Looks for assets in a folder, with one request. */
export async function lookInto(api: Api, parent: string): Promise<FolderContent> {
  try {
    return itemsOf(await api.resource(FolderLists).page({ parent }, 1, 0)).length > 0 ? 'assets' : 'empty';
  } catch (thrown) {
    if (!isListRefused(thrown)) throw thrown;
    return 'unknown';
  }
}

/** Folders to look for an asset in, since each costs a request and may be empty. */
const maxFoldersToProbe = 5;

/** Compares the folder that a record shows, null at the top level, with the value of the filter. */
const isIn = (parent: string, shown: string | null) => isSameUid(shown ?? 'root', parent);

const isBelow = (tree: WorkspaceFolderTree, folder: string | null | undefined, parent: string): boolean => {
  for (let at = tree.find(folder ?? '')?.parent; at; at = at.parent) if (isSameUid(at.folder.uid, parent)) return true;
  return parent === 'root' && tree.find(folder ?? '') !== undefined;
};

/** Returns true if the service, or the workspace, does not allow to list the folder. */
export const isListRefused = (thrown: unknown): boolean =>
  ['usage', 'forbidden', 'rejected', 'notFound'].includes(asCodedError(thrown).kind);
