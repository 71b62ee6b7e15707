import { parentOf } from '../../contract/asset.ts';
import type { AssetFilters } from '../../contract/asset-filters.ts';
import type { Collection } from '../../contract/paths.ts';
import type { AssetRecord, WorkspaceRecord } from '../../contract/types.ts';
import { isUid, normalizeUid } from '../../contract/uid.ts';
import { type CodedError, usageError } from '../errors.ts';
import { isGlob } from '../glob.ts';
import { assertFiltersApplied, assertFolderIsFlat } from './filter-checks.ts';
import { findAssetsByPath, findByName } from './find-assets.ts';
import type { WorkspaceFolderTree } from './folder-tree.ts';
import type { Library } from './library.ts';
import { isLibraryPath } from './library-paths.ts';

declare const selected: unique symbol;

/**
 * An asset that was selected: by its uid, or in the workspace in use. Only `byUid` and the functions of this file make
 * one, and a change takes nothing else.
 */
export type SelectedAsset = {
  readonly uid: string;
  /** Its API record, if it was read. */
  readonly record?: AssetRecord | undefined;
  /** Folders between the fixed part of a glob and the asset, such as `day 1/cam a`. */
  readonly relativeDir?: string | undefined;
  readonly [selected]: true;
};

/** Selects an asset by its uid, in any workspace. @param record its API record, if it was read */
export const byUid = (uid: string, record?: AssetRecord): SelectedAsset => select({ uid, record });

const select = (asset: Omit<SelectedAsset, typeof selected>) => asset as SelectedAsset;

/** Assets to find: those that ids stand for, or all that match filters. */
export type SelectionRequest = {
  collection: Collection;
  /**
   * `change` leaves out assets of other workspaces, which may cost a request for each that was not named by uid. `read`
   * leaves out those that a list shows to be in another workspace.
   */
  purpose: 'change' | 'read';
  /** Uids, names, paths and globs, and what `expand` knows. */
  ids: readonly string[];
  filters?: AssetFilters;
  /** True if no filter and no id stand for all assets, which only a user who sees the whole list can mean. */
  mayBeAll?: boolean;
  /** Number of assets above which the caller refuses: not all of those that match filters are listed then. */
  maxCount?: number | undefined;
  /** True if the caller needs the record of an asset that was named, as the service shows it by itself. */
  needsRecord?: boolean;
  /** Verb for the words of an error. */
  verb?: string;
};

export type AssetSelection = {
  assets: SelectedAsset[];
  /** True if each asset was named, false for filters and globs. */
  isNamed: boolean;
};

/** An id without an asset. `tree` is given for a path; `isElsewhere` is true if another workspace has that name. */
type MissingAsset = { id: string; tree?: WorkspaceFolderTree | undefined; isElsewhere?: boolean };

type FinderNotices = {
  /** Called with the number of folders that are about to be listed, at one request each or more. */
  onFolderCount?(count: number): void;
  /** Called with the number of assets that are about to be fetched to see their workspace, at one request each. */
  onFetch?(count: number): void;
};

/** Questions, abbreviations and error messages of an interface: the command line, the browse page or the package. */
export type SelectionPorts = FinderNotices & {
  /** Returns the uid that an abbreviation stands for, such as `@last`; undefined if an id is none. */
  expand(id: string): Promise<string | undefined>;
  /** Chooses one of several assets. @throws CodedError if it may not ask */
  choose(id: string, matches: readonly AssetRecord[]): Promise<AssetRecord>;
  /** Chooses any asset, since no id was given. @throws CodedError if it may not ask */
  chooseAny(): Promise<AssetRecord>;
  /** Reads the ids that `-` stands for. In these, `@last`, globs and abbreviations are taken as names. */
  readIds(): Promise<readonly string[]>;
  /** Returns the error for an id without an asset. */
  missing(asset: MissingAsset): CodedError;
  /**
   * Asks whether assets may be changed whose workspace the service does not show. They may be in any of `workspaces`.
   *
   * @throws CodedError if the answer is no, or it may not ask
   */
  acceptUnknown(count: number, workspaces: readonly WorkspaceRecord[]): Promise<void>;
  /** Called for a glob that is not the name of an asset. @throws CodedError if one asset is needed */
  onGlob?(id: string): void;
  /** Called with the number of assets that were left out, since they are in other workspaces. */
  onLeftOut?(count: number): void;
};

/**
 * Selects assets for every command and interface, so that all of them apply the same rules. Assets that were not named
 * by uid are in the workspace in use.
 *
 * @throws CodedError that `ports` words if an id stands for no asset; `filter_ignored` if a filter has no effect
 */
export async function selectAssets(
  library: Library,
  request: SelectionRequest,
  ports: SelectionPorts,
): Promise<AssetSelection> {
  const selector = new Selector(library, request, ports);
  const isByFilters = hasFilters(request.filters) || (request.mayBeAll && request.ids.length === 0);
  const { assets, isNamed } = isByFilters ? await selector.byFilters() : await selector.byIds();
  if (assets.length === 0 && request.ids.includes('-'))
    throw usageError('no ids on stdin', 'give one uid per line, or JSON lines');
  return { assets: await selector.accept(assets), isNamed };
}

export type OneRequest = Omit<SelectionRequest, 'ids' | 'filters'> & {
  id: string | undefined;
  /** True to expand neither globs nor abbreviations. */
  isLiteral?: boolean;
};

/** Selects the one asset that an id stands for; any if no id is given. */
export async function selectAsset(
  library: Library,
  { id, isLiteral, ...request }: OneRequest,
  ports: SelectionPorts,
): Promise<SelectedAsset> {
  const selector = new Selector(library, { ...request, ids: [] }, ports);
  const [asset] = await selector.accept([id === undefined ? await selector.any() : await selector.one(id, isLiteral)]);
  return asset as SelectedAsset;
}

/**
 * Returns the assets with a name or path in the workspace in use, without a question, and how many of them may be in
 * another one. Fetches those whose workspace a list does not show, as for a change.
 */
export async function findAssets(
  library: Library,
  id: string,
): Promise<{ found: AssetRecord[]; unknownCount: number }> {
  const finder = new Finder(library, { collection: 'assets', purpose: 'change', ids: [] }, {});
  const { found } = await finder.lookUp(id, false);
  return { found, unknownCount: finder.unknownCount };
}

/** Selects assets that a list shows, to change them. */
export async function selectFound(
  library: Library,
  found: readonly AssetRecord[],
  ports: SelectionPorts,
): Promise<SelectedAsset[]> {
  const selector = new Selector(library, { collection: 'assets', purpose: 'change', ids: [] }, ports);
  return selector.accept(await selector.listed(found));
}

/** Reports whether any filter is set. */
export const hasFilters = (filters: AssetFilters = {}): boolean =>
  Object.values(filters).some((value) => value !== undefined);

/** Finds assets in the workspace in use, and counts those that it leaves out or of which it does not know the workspace. */
class Finder {
  protected readonly library: Library;
  protected readonly request: SelectionRequest;
  protected leftOut = 0;
  protected readonly unknown = new Set<string>();
  readonly #notices: FinderNotices;

  constructor(library: Library, request: SelectionRequest, notices: FinderNotices) {
    this.library = library;
    this.request = request;
    this.#notices = notices;
    if (request.purpose === 'change') library.workspaceInUse.beforeChange();
  }

  /** Returns the assets with this name or path, or those that match a glob if none has the glob as its name. */
  async lookUp(id: string, isLiteral: boolean): Promise<Found> {
    // An empty id, for example from an unset shell variable, would match an asset without a name.
    if (id.trim() === '') throw usageError('an id is empty');
    const { collection } = this.request;
    const { api } = this.library;
    if (!isLibraryPath(id)) return this.#ownOf(await findByName(api[collection], id), { isExact: true });
    const { tree } = await this.library.folders();
    const filters = collection === 'videos' ? { type: 'video' } : {};
    const { onFolderCount } = this.#notices;
    const search = { isLiteral, filters, ...(onFolderCount && { onFolderCount }) };
    // The list of videos has no filter by folder.
    const { found, isExact, relativeDirs } = await findAssetsByPath(api.assets, id, tree, search);
    const dirs = new Map([...relativeDirs].map(([asset, directory]) => [asset.uid, directory]));
    return this.#ownOf(found, { isExact, tree, relativeDirs: dirs });
  }

  async #ownOf(all: readonly AssetRecord[], rest: Pick<Found, 'isExact' | 'tree' | 'relativeDirs'>): Promise<Found> {
    const found = await this.keep(all);
    const fetched = new Map(found.filter((asset) => !all.includes(asset)).map((asset) => [asset.uid, asset]));
    return { ...rest, found, fetched, isElsewhere: all.length > found.length };
  }

  /** Number of assets whose workspace is not known, of those that were found. */
  get unknownCount(): number {
    return this.unknown.size;
  }

  /** Leaves out assets of other workspaces, and notes those of which the workspace is not known. */
  protected async keep(found: readonly AssetRecord[]): Promise<AssetRecord[]> {
    const { workspaceInUse, signal } = this.library;
    if (this.request.purpose === 'read') {
      const own = await workspaceInUse.keepShown(found);
      this.leftOut += found.length - own.length;
      return own;
    }
    const ownFolders = () => this.#ownFolders(found);
    const { own, unknown, others } = await workspaceInUse.classify(found, {
      signal,
      ownFolders,
      onFetch: this.#notices.onFetch,
    });
    for (const { uid } of unknown) this.unknown.add(uid);
    this.leftOut += others.length;
    const order = new Map(found.map(({ uid }, at) => [uid, at]));
    return [...own, ...unknown].sort((one, other) => (order.get(one.uid) ?? 0) - (order.get(other.uid) ?? 0));
  }

  /** Returns the folders of the workspace in use, if that saves requests: an asset in one of them is in the workspace. */
  async #ownFolders(found: readonly AssetRecord[]): Promise<ReadonlySet<string>> {
    const inFolder = found.filter((asset) => parentOf(asset)).length;
    if (inFolder < 2) return new Set();
    const { tree } = await this.library.folders({ mayAsk: false });
    return new Set(tree.all.map(({ folder }) => normalizeUid(folder.uid)));
  }
}

class Selector extends Finder {
  readonly #ports: SelectionPorts;

  constructor(library: Library, request: SelectionRequest, ports: SelectionPorts) {
    super(library, request, ports);
    this.#ports = ports;
  }

  async byFilters(): Promise<AssetSelection> {
    const { collection, filters = {}, maxCount, verb } = this.request;
    const { [collection]: assets } = this.library.api;
    const list = async (limit?: number) => {
      const found: AssetRecord[] = [];
      for await (const page of assets.list(filters, { limit })) found.push(...page);
      await assertFiltersApplied(assets, filters, found, verb);
      return found;
    };
    // One asset more than the limit proves that it is exceeded, so the rest is not fetched, unless assets are left out.
    let found = await list(maxCount === undefined ? undefined : maxCount + 1);
    let own = await this.keep(found);
    if (maxCount !== undefined && found.length > maxCount && own.length <= maxCount) {
      this.leftOut = 0;
      found = await list();
      own = await this.keep(found);
    }
    const { parent } = filters;
    if (parent !== undefined) {
      const findBelow = async () => (await this.library.folders()).tree.childrenOf(parent);
      await assertFolderIsFlat(assets, { parent, findBelow }, found, verb);
    }
    return { assets: own.map((record) => byUid(record.uid, record)), isNamed: false };
  }

  async byIds(): Promise<AssetSelection> {
    const chosen = new Map<string, SelectedAsset>();
    const add = (asset: SelectedAsset) => chosen.set(asset.uid, asset);
    let isNamed = true;
    if (this.request.ids.length === 0) add(await this.any());
    for (const id of this.request.ids) {
      if (id === '-') for (const each of await this.#ports.readIds()) add(await this.one(each, true));
      else if (!isGlob(id)) add(await this.one(id));
      else {
        const { found, isExact, relativeDirs } = await this.#find(id, false);
        if (!isExact) this.#ports.onGlob?.(id);
        isNamed &&= isExact;
        for (const record of isExact ? [await this.#ports.choose(id, found)] : found)
          add(select({ uid: record.uid, record, relativeDir: relativeDirs?.get(record.uid) }));
      }
    }
    return { assets: [...chosen.values()], isNamed };
  }

  async listed(found: readonly AssetRecord[]): Promise<SelectedAsset[]> {
    return (await this.keep(found)).map((record) => byUid(record.uid, record));
  }

  async any(): Promise<SelectedAsset> {
    const chosen = await this.#ports.chooseAny();
    return byUid(chosen.uid, this.request.needsRecord ? undefined : chosen);
  }

  /** Selects the asset that an id stands for. @param isLiteral true to expand neither globs nor abbreviations */
  async one(id: string, isLiteral = false): Promise<SelectedAsset> {
    const expanded = isLiteral ? undefined : await this.#ports.expand(id);
    if (expanded !== undefined || isUid(id)) return byUid(expanded ?? id.toLowerCase());
    const { found, fetched } = await this.#find(id, isLiteral);
    const chosen = await this.#ports.choose(id, found);
    const { uid } = chosen;
    if (!this.request.needsRecord || fetched.has(uid)) return byUid(uid, fetched.get(uid) ?? chosen);
    const record = await this.library.api[this.request.collection].get(uid);
    if ((await this.library.workspaceInUse.keepShown([record])).length > 0) return byUid(uid, record);
    throw this.#ports.missing({ id, isElsewhere: true });
  }

  /** Tells what was left out, and asks about assets of which the workspace is not known. @returns the same assets */
  async accept(assets: readonly SelectedAsset[]): Promise<SelectedAsset[]> {
    if (this.leftOut > 0) this.#ports.onLeftOut?.(this.leftOut);
    const count = assets.filter(({ uid }) => this.unknown.has(uid)).length;
    if (count > 0) await this.#ports.acceptUnknown(count, await this.library.workspaceInUse.visible());
    return [...assets];
  }

  /** Returns the assets of an id. @throws the error of `missing` if there are none */
  async #find(id: string, isLiteral: boolean): Promise<Found> {
    const leftOut = this.leftOut;
    const found = await this.lookUp(id, isLiteral);
    if (found.found.length > 0) return found;
    this.leftOut = leftOut; // the error says so
    throw this.#ports.missing({ id, tree: found.tree, isElsewhere: found.isElsewhere });
  }
}

type Found = {
  found: AssetRecord[];
  isExact: boolean;
  /** Records that were fetched by themselves, by uid. */
  fetched: ReadonlyMap<string, AssetRecord>;
  /** True if others were left out, since they are in other workspaces. */
  isElsewhere: boolean;
  tree?: WorkspaceFolderTree | undefined;
  relativeDirs?: ReadonlyMap<string, string>;
};
