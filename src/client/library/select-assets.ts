import { parentOf } from '../../contract/asset.ts';
import type { AssetFilters } from '../../contract/asset-filters.ts';
import type { Collection } from '../../contract/paths.ts';
import type { AssetRecord } from '../../contract/types.ts';
import { isUid, normalizeUid } from '../../contract/uid.ts';
import { type CodedError, usageError } from '../errors.ts';
import { isGlob } from '../glob.ts';
import { findAssetsByPath, findByName } from './find-assets.ts';
import type { FolderNode, WorkspaceFolderTree } from './folder-tree.ts';
import type { Library } from './library.ts';
import { descendantsOf, isLibraryPath } from './library-paths.ts';
import { doubtAbout, type SelectionPurpose, type WorkspaceDoubt } from './workspace-doubt.ts';
import type { FoundBy } from './workspace-in-use.ts';

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
   * All leave out assets of other workspaces, which may cost a request for each that was not named by uid. Assets of which
   * the workspace is not known are asked about before a `change`, and before a URL of them is handed out (`share`); a
   * `read` says so. A `read` by filters sends no request for this.
   */
  purpose: SelectionPurpose;
  /**
   * Uids, names, paths and globs, and what `expand` knows. Undefined if only the filters count, none of which stands for
   * all assets: only a user who sees the whole list can mean that.
   */
  ids: readonly string[] | undefined;
  filters?: AssetFilters;
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
  /** Number of assets of which the workspace is not known. */
  unknownCount: number;
};

/** An id without an asset. `tree` is given for a path; `isElsewhere` is true if another workspace has that name. */
type MissingAsset = { id: string; tree?: WorkspaceFolderTree | undefined; isElsewhere?: boolean };

type FinderNotices = {
  /** Called with the number of folders that are about to be listed, at one request each or more. */
  onFolderCount?(count: number): void;
  /** Called with the number of assets that are about to be fetched to see their workspace, at one request each. */
  onFetch?(count: number): void;
  /** Called with the number of assets that were left out, since they are in other workspaces. */
  onLeftOut?(count: number): void;
  /**
   * Asks whether assets may be changed, or a URL of them be handed out, whose workspace is not known. Says so for a read.
   *
   * @throws CodedError if the answer is no, or it may not ask
   */
  onUnknown?(doubt: WorkspaceDoubt): Promise<void>;
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
  onUnknown(doubt: WorkspaceDoubt): Promise<void>;
  /** Called for a glob that is not the name of an asset. @throws CodedError if one asset is needed */
  onGlob?(id: string): void;
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
  const { assets, isNamed } = isByFilters(request) ? await selector.byFilters() : await selector.byIds();
  if (assets.length === 0 && request.ids?.includes('-'))
    throw usageError(
      'no ids on stdin',
      'give one uid per line, or JSON lines',
      'the command before the pipe printed none',
    );
  return { assets: await selector.accept(assets), isNamed, unknownCount: selector.unknownCount };
}

const isByFilters = ({ filters, ids }: SelectionRequest) => ids === undefined || hasFilters(filters);

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

/**
 * Selects all that is in folders and in those below them, to read it, whatever its name.
 *
 * @param tops folders, or that it is the top level
 */
export async function selectInFolders(
  library: Library,
  tops: readonly FolderNode[] | 'top',
  ports: Pick<SelectionPorts, 'onFolderCount' | 'onLeftOut' | 'onUnknown'>,
): Promise<Pick<AssetSelection, 'assets' | 'unknownCount'>> {
  const finder = new Finder(library, { collection: 'assets', purpose: 'read', ids: [] }, ports);
  return { assets: await finder.accept(await finder.inFolders(tops)), unknownCount: finder.unknownCount };
}

/** Selects assets that a list shows, to change them. */
export async function selectFound(
  library: Library,
  found: readonly AssetRecord[],
  { foundBy, ports }: { foundBy: FoundBy; ports: SelectionPorts },
): Promise<SelectedAsset[]> {
  const selector = new Selector(library, { collection: 'assets', purpose: 'change', ids: [] }, ports);
  return selector.accept(await selector.listed(found, foundBy));
}

/** Reports whether any filter is set. */
export const hasFilters = (filters: AssetFilters = {}): boolean =>
  Object.values(filters).some((value) => value !== undefined);

/** Finds assets in the workspace in use, and counts those that it leaves out or of which it does not know the workspace. */
class Finder {
  protected readonly library: Library;
  protected readonly request: SelectionRequest;
  protected leftOut = 0;
  protected readonly unknown = new Map<string, AssetRecord>();
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
    const { api, folderReader } = this.library;
    if (!isLibraryPath(id)) return this.#ownOf(await findByName(api[collection], id), 'list', { isExact: true });
    const { tree } = await this.library.folders();
    const filters = collection === 'videos' ? { type: 'video' } : {};
    const { onFolderCount } = this.#notices;
    const isChange = this.request.purpose === 'change';
    const search = { isLiteral, isChange, filters, ...(onFolderCount && { onFolderCount }) };
    // The list of videos has no filter by folder.
    const { found, isExact, relativeDirs } = await findAssetsByPath(folderReader, id, tree, search);
    const dirs = new Map([...relativeDirs].map(([asset, directory]) => [asset.uid, directory]));
    return this.#ownOf(found, 'folder', { isExact, tree, relativeDirs: dirs });
  }

  /** Finds all that is in folders, and in those below them. */
  async inFolders(tops: readonly FolderNode[] | 'top'): Promise<SelectedAsset[]> {
    const { tree } = await this.library.folders();
    const dirs = new Map<string, string>(tops === 'top' ? [['root', '']] : []);
    const add = (from: string, nodes: readonly FolderNode[]) => {
      for (const { folder, path } of nodes) dirs.set(folder.uid, path.slice(from.length + 1));
    };
    if (tops === 'top') add('', tree.all);
    else for (const top of tops) add(top.path, [top, ...descendantsOf(top)]);
    this.#notices.onFolderCount?.(dirs.size);
    const found: AssetRecord[] = [];
    const places = new Map<string, string>();
    for await (const { parent, page } of this.library.folderReader.listEach([...dirs.keys()])) {
      found.push(...page);
      for (const { uid } of page) places.set(uid, dirs.get(parent) ?? '');
    }
    const own = await this.keep(found, { foundBy: 'folder' });
    return own.map((record) => select({ uid: record.uid, record, relativeDir: places.get(record.uid) }));
  }

  /** Tells what was left out, and asks about assets of which the workspace is not known. @returns the same assets */
  async accept(assets: readonly SelectedAsset[]): Promise<SelectedAsset[]> {
    if (this.leftOut > 0) this.#notices.onLeftOut?.(this.leftOut);
    const unknown = assets.flatMap(({ uid }) => this.unknown.get(uid) ?? []);
    if (unknown.length > 0) {
      const how = { purpose: this.request.purpose, isByFilters: isByFilters(this.request) };
      await this.#notices.onUnknown?.(await doubtAbout(this.library, unknown, how));
    }
    return [...assets];
  }

  async #ownOf(
    all: readonly AssetRecord[],
    foundBy: FoundBy,
    rest: Pick<Found, 'isExact' | 'tree' | 'relativeDirs'>,
  ): Promise<Found> {
    const found = await this.keep(all, { foundBy });
    const fetched = new Map(found.filter((asset) => !all.includes(asset)).map((asset) => [asset.uid, asset]));
    return { ...rest, found, fetched, isElsewhere: all.length > found.length };
  }

  /** Number of assets whose workspace is not known, of those that were found. */
  get unknownCount(): number {
    return this.unknown.size;
  }

  /** Leaves out assets of other workspaces, and notes those of which the workspace is not known. */
  protected async keep(
    found: readonly AssetRecord[],
    { foundBy, isFromList }: { foundBy?: FoundBy; isFromList?: boolean } = {},
  ): Promise<AssetRecord[]> {
    const { workspaceInUse, signal } = this.library;
    const { own, unknown, others } = await workspaceInUse.classify(found, {
      ...{ signal, foundBy, isFromList },
      certainty: this.request.purpose === 'change' ? 'sure' : 'read',
      ownFolders: () => this.#ownFolders(found),
      onFetch: this.request.purpose === 'change' ? this.#notices.onFetch : undefined,
    });
    for (const asset of unknown) this.unknown.set(asset.uid, asset);
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

  async byFilters(): Promise<Chosen> {
    const { collection, filters = {}, maxCount, verb, purpose } = this.request;
    const { folderReader } = this.library;
    const list = async (limit?: number) => {
      const found: AssetRecord[] = [];
      for await (const page of folderReader.list(filters, { limit }, collection)) found.push(...page);
      return folderReader.matching(filters, found, { isChange: purpose === 'change', verb, collection });
    };
    // One asset more than the limit proves that it is exceeded, so the rest is not fetched, unless assets are left out.
    let found = await list(maxCount === undefined ? undefined : maxCount + 1);
    const how = { foundBy: await this.#foundByFilters(), isFromList: this.request.purpose === 'read' };
    let own = await this.keep(found, how);
    if (maxCount !== undefined && found.length > maxCount && own.length <= maxCount) {
      this.leftOut = 0;
      found = await list();
      own = await this.keep(found, how);
    }
    return { assets: own.map((record) => byUid(record.uid, record)), isNamed: false };
  }

  /** Returns `folder` for the filter `parent` with a folder of the workspace in use: what it lists is there (§4). */
  async #foundByFilters(): Promise<FoundBy> {
    const { parent } = this.request.filters ?? {};
    if (parent === undefined) return 'list';
    if (parent === 'root') return 'folder';
    return (await this.library.folders()).tree.find(parent) ? 'folder' : 'list';
  }

  async byIds(): Promise<Chosen> {
    const chosen = new Map<string, SelectedAsset>();
    const add = (asset: SelectedAsset) => chosen.set(asset.uid, asset);
    let isNamed = true;
    const { ids = [] } = this.request;
    if (ids.length === 0) add(await this.any());
    for (const id of ids) {
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

  async listed(found: readonly AssetRecord[], foundBy: FoundBy): Promise<SelectedAsset[]> {
    return (await this.keep(found, { foundBy })).map((record) => byUid(record.uid, record));
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
    return byUid(uid, await this.library.api[this.request.collection].get(uid));
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

type Chosen = Omit<AssetSelection, 'unknownCount'>;

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
