import type { Collection } from '../../contract/paths.ts';
import type { AssetRecord } from '../../contract/types.ts';
import { isSameUid, normalizeUid } from '../../contract/uid.ts';
import { startAge } from '../../shared/clock.ts';
import { withoutUndefined } from '../../shared/json-values.ts';
import type { AssetsApi } from '../api/assets.ts';
import type { FolderChange } from '../api/folders.ts';
import { asCodedError, CodedError, ignoreNotFound } from '../errors.ts';
import { createFolderLookup, type LookupNotices } from '../library/folder-lookup.ts';
import { type FolderNode, fetchFolderTree, type WorkspaceFolderTree } from '../library/folder-tree.ts';
import { byUid, type SelectedAsset } from '../library/select-assets.ts';
import type { ItemResult } from '../run-each.ts';
import { folderPathsOf, hiddenFolderOf, withFolders } from './asset-folders.ts';
import {
  type CarryOutDeps,
  type ChangeHooks,
  carryOut,
  markedTogether,
  maxAgeMs,
  type WriteOptions,
} from './carry-out.ts';
import {
  type ChangeHistory,
  type ChangeLog,
  type ChangePlan,
  type CreateOptions,
  type LeftItem,
  noHistory,
  type OutcomeOf,
  type StoredChange,
} from './change-history.ts';
import type { ChangeItem, StoredItem } from './change-item.ts';
import { assertFolderChange } from './folder-rules.ts';
import { assetItem, countRequests, folderItem, isEnough, type WantedChange } from './items.ts';
import { assertDeletable, assertOwnPlaces } from './places.ts';
import { assertAsSeen, type FolderAccess, type SeenValues } from './present-values.ts';
import type { Written } from './read-back.ts';
import { stateErrorOf } from './receipt-update.ts';
import { effectOf, isEmptyEdit } from './tag-change.ts';
import { compareFields } from './three-way.ts';

/** How the history describes a change. */
export type ChangeLabel = Pick<ChangePlan, 'command' | 'summary'>;

type OneAssetLabel = ChangeLabel & Partial<Pick<WriteOptions, 'ageMs'>>;

/** A planned change of assets or folders, as the history records it. */
export type LibraryChange = ChangeLabel &
  Pick<ChangePlan, 'undoOf' | 'source'> &
  WriteOptions & {
    items: readonly ChangeItem[];
    /** Workspace of the folders in it. Default: the one in use. */
    workspace?: string | undefined;
    /** Items that it leaves as they are. */
    left?: readonly LeftItem[];
    /** Assets as they were read, by uid (`normalizeUid`), of which an interrupted change may have written something. */
    found?: ReadonlyMap<string, AssetRecord>;
  };

export type ChangeOutcome = {
  change: StoredChange;
  /** True if the history has it, so that it can be resumed and undone. */
  isRecorded: boolean;
  /** One per item. */
  results: ItemResult<StoredItem, Written>[];
};

export type WriterDeps = Omit<CarryOutDeps, 'folders'> & {
  /** Name of the profile, for the history. */
  profile: string | null;
  /** @throws CodedError `state_…` (exit 14) if the history cannot be opened */
  history(): Promise<ChangeHistory>;
  /** False to keep no history. */
  keepsHistory: boolean;
  /** Called with each change, once it was carried out. */
  onChange(outcome: ChangeOutcome): void;
  /** Returns what tells of the lookup of folders that records do not show. */
  lookupNotices(): Promise<Partial<LookupNotices>>;
};

/**
 * Changes assets and folders. Every entry point uses it. In this order it reads what the change depends on, saves it in
 * the history, compares what was read long ago, writes, verifies, updates
 * the receipts of deleted and moved assets, records the outcome, and drops cached folders (`carry-out.ts`). Creations of
 * folders (`folder-creation.ts`) and embed settings (`embed-changes.ts`) are not in the history.
 */
export class LibraryWriter {
  readonly #deps: WriterDeps;

  constructor(deps: WriterDeps) {
    this.#deps = deps;
  }

  /**
   * Plans a change of assets: reads the records that it depends on, or all if the history is to have the old values.
   *
   * @param change null to move them to the trash
   * @returns the assets with these records, and an item each
   */
  async plan(
    assets: readonly SelectedAsset[],
    change: WantedChange | null,
    { collection = 'assets', keepsOldValues = false }: { collection?: Collection; keepsOldValues?: boolean } = {},
  ): Promise<{ assets: SelectedAsset[]; items: ChangeItem[] }> {
    const { [collection]: api } = this.#deps.library.api;
    const shows = (record: AssetRecord) => {
      const fields = Object.keys(change?.fields ?? {});
      return Object.keys(api.valuesOf(record, fields)).length === fields.length;
    };
    const isKnown = ({ record }: SelectedAsset) =>
      (!keepsOldValues || (record !== undefined && shows(record))) &&
      (change === null || isEnough(api, record, change));
    const known: SelectedAsset[] = [];
    for (const asset of assets) known.push(isKnown(asset) ? asset : byUid(asset.uid, await this.#read(api, asset.uid)));
    const items = known.map((asset) => assetItem(api, asset, change, hiddenFolderOf(this.#deps.library, asset)));
    await this.#assertOwnPlaces(items);
    return { assets: known, items };
  }

  /** Reads an asset. A receipt of one that is gone is forgotten, so that its file is uploaded again. */
  #read(api: AssetsApi, uid: string): Promise<AssetRecord> {
    return api.get(uid).catch(async (thrown) => {
      if (asCodedError(thrown).kind === 'notFound')
        await (await this.#deps.receipts().catch(() => undefined))?.forgetAsset(uid).catch(stateErrorOf);
      throw thrown;
    });
  }

  /**
   * Records that an interrupted change of the same source was decided again, and that nothing of it is left to write.
   * Does nothing if there is none.
   */
  async settle(change: LibraryChange): Promise<void> {
    if (!this.#deps.keepsHistory) return;
    const place = await this.#placeOf(change);
    const history = await this.#deps.history();
    if (await history.hasInterrupted({ ...change, ...place, requestCount: 0 })) await this.change(change);
  }

  async #placeOf({ workspace, items }: LibraryChange): Promise<Pick<ChangePlan, 'service' | 'workspace' | 'profile'>> {
    const { library, profile } = this.#deps;
    const service = library.api.transport.baseUrl.origin;
    return { service, workspace: workspace ?? (await this.#workspaceOf(items)), profile };
  }

  /** Saves a planned change in the history, then carries it out. */
  async change(change: LibraryChange, hooks: ChangeHooks = {}): Promise<ChangeOutcome> {
    const { items: planned, collection, ageMs, acceptsMissing, acceptsContent, left, found, ...label } = change;
    await this.#assertOwnPlaces(planned);
    const { library, keepsHistory } = this.#deps;
    const place = await this.#placeOf(change);
    const folders = this.folderAccess(place);
    const items = keepsHistory ? await withFolders(library.api, folders, planned) : planned;
    const folderPaths = await folderPathsOf(library, folders, items);
    const plan = { ...label, ...place, folderPaths, requestCount: countRequests(library.api.assets, items) };
    const details = { left, markedCount: markedTogether, outcomeOf: found && this.#outcomeIn(found) };
    const { store, saved } = await this.#save(plan, await this.#addLocalPaths(items), details);
    const options = { collection, ageMs, acceptsMissing, acceptsContent };
    return this.#carryOut(store, { ...saved, markedCount: markedTogether }, options, hooks);
  }

  /**
   * Continues a change of the history. Each item is read first, since its write may have happened.
   *
   * @param read items of which `readUnread` has read the values, which are recorded now that the user has agreed
   */
  async resume(
    change: StoredChange,
    items: readonly StoredItem[],
    read: readonly StoredItem[] = [],
  ): Promise<ChangeOutcome> {
    const store = await this.#deps.history();
    const { assets } = this.#deps.library.api;
    for (const item of read) {
      // What the change itself may have written is no old value.
      const { done } = compareFields(assets, item.before ?? {}, {}, item.after ?? {});
      const isOld = ([field]: [string, unknown]) => item.state !== 'unknown' || !done.includes(field);
      const before = Object.fromEntries(Object.entries(item.before ?? {}).filter(isOld));
      await store.setRead(change.id, { ...item, before });
    }
    return this.#carryOut(store, { change, items }, { ageMs: () => Number.POSITIVE_INFINITY });
  }

  /**
   * Reads the items of an interrupted change that were planned without reading them.
   *
   * @returns all items; those that do not exist any more as they were
   */
  async readUnread(items: readonly StoredItem[]): Promise<StoredItem[]> {
    const { assets } = this.#deps.library.api;
    const read: StoredItem[] = [];
    for (const item of items) {
      const isUnread = item.kind === 'asset' && item.before === null;
      const record = isUnread ? await assets.get(item.uid).catch(ignoreNotFound) : undefined;
      const { name, before } = record
        ? assetItem(assets, byUid(item.uid, record), item.after && { fields: item.after })
        : item;
      read.push({ ...item, name, before });
    }
    return read;
  }

  /**
   * Plans and carries out a change of one asset.
   *
   * @param label how the history describes it, and how long ago the asset was read, if it was
   * @param seen values on which the change was decided: if the asset has others, nothing is written
   * @returns the asset after the change, and its name before, if that was read
   * @throws the error of the write
   */
  async edit(
    asset: SelectedAsset,
    change: WantedChange,
    label: OneAssetLabel,
    seen: SeenValues = {},
  ): Promise<{ asset: AssetRecord; name: string | null; unverifiable: readonly string[] }> {
    const { items, written } = await this.#changeAsSeen(asset, change, label, seen);
    const { asset: changed = { uid: asset.uid }, unverifiable = [] } = written;
    return { asset: changed, name: items[0]?.name ?? null, unverifiable };
  }

  /** Moves one asset to the trash. Its parameters are those of `edit`. @throws the error of the write */
  async trash(asset: SelectedAsset, label: OneAssetLabel, seen: SeenValues = {}): Promise<void> {
    await this.#changeAsSeen(asset, null, label, seen);
  }

  async #changeAsSeen(asset: SelectedAsset, change: WantedChange | null, label: OneAssetLabel, seen: SeenValues) {
    const { ageMs = startAge(this.#deps.clock) } = label;
    const keepsOldValues = Object.keys(seen).length > 0 || this.#deps.keepsHistory;
    const { items } = await this.plan([asset], change, { keepsOldValues });
    assertAsSeen(this.#deps.library.api.assets, seen, items[0]?.before ?? {});
    return { items, written: await this.#changeOne({ ...label, ageMs, items }) };
  }

  /**
   * Renames or moves a folder of the workspace in use.
   *
   * @returns the folder after the change
   * @throws the errors of `assertFolderChange`, and of the write
   */
  async changeFolder(node: FolderNode, change: FolderChange, label: ChangeLabel): Promise<FolderNode> {
    const { workspace, tree, ageMs } = await this.#deps.library.folders();
    assertFolderChange(tree, node, change);
    const items = [folderItem(node, withoutUndefined(change))];
    const { folder = node } = await this.#changeOne({ ...label, workspace, ageMs, items });
    return folder;
  }

  /**
   * Renames and moves folders of the workspace in use, one after the other, as one change.
   *
   * @param changes an undefined value stays
   * @param options how the history describes it, and how long ago the folders were read
   * @returns one result per change, with the errors of `changeFolder`
   */
  async changeFolders(
    changes: readonly ({ uid: string } & FolderChange)[],
    options: ChangeLabel & Pick<LibraryChange, 'source' | 'ageMs'>,
  ): Promise<{ error: CodedError | undefined }[]> {
    const { workspace, tree } = await this.#deps.library.folders();
    const items = changes.map(({ uid, ...change }) => {
      const node = tree.find(uid);
      return node && folderItem(node, withoutUndefined(change));
    });
    const found = items.filter((item) => item !== undefined);
    const { results } = found.length > 0 ? await this.change({ ...options, workspace, items: found }) : { results: [] };
    const byItem = new Map(found.map((item, at) => [item, results[at]]));
    const gone = new CodedError('the folder does not exist any more', { code: 'not_found' });
    return items.map((item) => (item ? { error: byItem.get(item)?.error } : { error: gone }));
  }

  /**
   * Deletes a folder of the workspace in use.
   *
   * @param isRecursive true to delete it with its content, false if it must be empty
   * @throws the errors of `assertDeletable`
   */
  async deleteFolder(node: FolderNode, isRecursive: boolean, label: ChangeLabel): Promise<void> {
    const { workspace, ageMs } = await this.#deps.library.folders();
    const acceptsContent = isRecursive ? 'any' : undefined;
    if (!isRecursive && node.children.length > 0) assertDeletable(node.path, 'assets', undefined);
    await this.#changeOne({ ...label, workspace, ageMs, acceptsContent, items: [folderItem(node, null)] });
  }

  async #assertOwnPlaces(items: readonly ChangeItem[]): Promise<void> {
    const { library } = this.#deps;
    const findTree = async () => {
      const fetched = await library.folders({ mayAsk: false }).catch(() => library.signal.throwIfAborted());
      return fetched?.tree;
    };
    await assertOwnPlaces(library, items, findTree);
  }

  /** Returns access to the folders of a change, by default those of the workspace in use. */
  folderAccess(change?: Pick<StoredChange, 'workspace'>): FolderAccess {
    const { library, lookupNotices } = this.#deps;
    const findFolder = createFolderLookup(library, lookupNotices);
    const workspace = async () => change?.workspace ?? library.workspace();
    let latest: { tree: WorkspaceFolderTree; ageMs: () => number } | undefined;
    const remember = (tree: WorkspaceFolderTree | undefined) => {
      latest = tree && { tree, ageMs: startAge(this.#deps.clock) };
    };
    const fetchTree = async (api = library.api) => {
      if (!latest || latest.ageMs() > maxAgeMs) remember(await fetchFolderTree(api, await workspace()));
      return (latest as NonNullable<typeof latest>).tree;
    };
    const isOther = async () => change?.workspace && !isSameUid(change.workspace, await library.workspace());
    const latestTree = async () => {
      if (latest) return latest.tree;
      return (await isOther()) ? fetchTree() : (await library.folders()).tree;
    };
    const remembered = async () =>
      latest && !(await isOther()) ? { workspace: await workspace(), ...latest } : undefined;
    return { workspace, fetchTree, latestTree, remember, remembered, findFolder };
  }

  async #changeOne(change: LibraryChange): Promise<Written> {
    const [result] = (await this.change(change)).results;
    if (result?.error) throw result.error;
    return result?.value ?? {};
  }

  async #carryOut(
    store: ChangeLog,
    saved: { change: StoredChange; items: readonly StoredItem[]; markedCount?: number },
    options: WriteOptions,
    hooks?: ChangeHooks,
  ): Promise<ChangeOutcome> {
    const { change } = saved;
    const deps = { ...this.#deps, folders: this.folderAccess(change) };
    const results = await carryOut(deps, store, saved, options, hooks);
    const outcome = { change, isRecorded: store.isPersistent, results };
    deps.onChange(outcome);
    return outcome;
  }

  /** Returns the uid of the workspace of all items; null if they are in several, or if that is not known without a request. */
  async #workspaceOf(items: readonly ChangeItem[]): Promise<string | null> {
    const { workspaceInUse } = this.#deps.library;
    const assets = items.flatMap(({ kind, uid, record }) => (kind === 'asset' ? [record ?? { uid }] : []));
    const found = new Set(await Promise.all(assets.map((asset) => workspaceInUse.workspaceOf(asset))));
    if (found.size > 1) return null;
    // If no record shows its workspace, the change belongs to the workspace in use, if there is one.
    return [...found][0] ?? (await workspaceInUse.uidIfKnown('free')) ?? null;
  }

  /** Saves a change. If the history cannot be written, it is made all the same. */
  async #save(plan: ChangePlan, items: readonly ChangeItem[], details: CreateOptions) {
    const { library, clock, history, keepsHistory, onNotice } = this.#deps;
    if (keepsHistory)
      try {
        const store: ChangeLog = await history();
        return { store, saved: await store.create(plan, items, details) };
      } catch (thrown) {
        library.signal.throwIfAborted();
        onNotice({ kind: 'cannot_undo', error: stateErrorOf(thrown) });
      }
    const store = noHistory(clock);
    return { store, saved: await store.create(plan, items) };
  }

  /** Returns a function that compares what a change may have written with assets as they were read. */
  #outcomeIn(found: ReadonlyMap<string, AssetRecord>): OutcomeOf {
    const { assets } = this.#deps.library.api;
    return ({ kind, uid, before, after, tags }) => {
      const asset = kind === 'asset' ? found.get(normalizeUid(uid)) : undefined;
      if (!asset || !after) return undefined;
      const present = assets.valuesOf(asset, Object.keys(after));
      const { done, toWrite, conflicts } = compareFields(assets, present, before ?? {}, after);
      if (Object.keys(conflicts).length > 0) return undefined;
      const shownTags = assets.tagsOf(asset);
      if (!isEmptyEdit(tags) && !shownTags) return undefined;
      const isTagged = !tags || isEmptyEdit(effectOf(tags, shownTags ?? []));
      if (Object.keys(toWrite).length === 0 && isTagged) return 'done';
      return done.length === 0 && !(tags && isTagged) ? 'pending' : undefined;
    };
  }

  /** Adds the local file of each asset to delete, if this machine uploaded it, since its receipt is deleted, too. */
  async #addLocalPaths(items: readonly ChangeItem[]): Promise<ChangeItem[]> {
    const isDeleted = ({ kind, after }: ChangeItem) => kind === 'asset' && after === null;
    const receipts = items.some(isDeleted) ? await this.#deps.receipts().catch(() => undefined) : undefined;
    const withPaths: ChangeItem[] = [];
    for (const item of items) {
      const receipt = isDeleted(item) ? await receipts?.findByAsset(item.uid) : undefined;
      withPaths.push(receipt ? { ...item, localPath: receipt.realPath } : item);
    }
    return withPaths;
  }
}
