import type { AssetRecord } from '../../contract/types.ts';
import type { JsonObject } from '../../shared/json-values.ts';
import type { Api } from '../api/api.ts';
import type { AssetsApi } from '../api/assets.ts';
import { CodedError, ignoreNotFound } from '../errors.ts';
import type { FolderLookup } from '../library/folder-lookup.ts';
import { type FolderNode, folderValuesOf, type WorkspaceFolderTree } from '../library/folder-tree.ts';
import type { FetchedTree } from '../library/library.ts';
import type { StoredItem } from './change-item.ts';
import { isEmptyEdit, tagsUnknown } from './tag-change.ts';
import { changedMeanwhile, compareFields } from './three-way.ts';

/** The workspace whose folders a change concerns. */
export type FolderAccess = {
  workspace(): Promise<string>;
  /** @param api client that sends the requests, if it is not that of the library */
  fetchTree(api?: Api): Promise<WorkspaceFolderTree>;
  /** Returns the folders as they were last read, for the names of their fields. */
  latestTree(): Promise<WorkspaceFolderTree>;
  /** Remembers the folders as they are after a change of one; undefined after another write. */
  remember(tree: WorkspaceFolderTree | undefined): void;
  /** Returns the workspace and its folders as they were remembered; undefined if they were not. */
  remembered(): Promise<FetchedTree | undefined>;
  /** Returns the folder of an asset whose record does not show it; undefined if it is not known. */
  findFolder: FolderLookup;
};

/** Returns the values of fields now, also of the folder if the record does not show it. */
export async function fetchValues(
  { assets }: Api,
  folders: FolderAccess,
  asset: AssetRecord,
  fields: readonly string[],
): Promise<JsonObject> {
  const values = assets.valuesOf(asset, fields);
  const hidden = fields.find((field) => !(field in values) && assets.folderIn({ [field]: null }) === null);
  const folder = hidden === undefined ? undefined : await folders.findFolder(asset);
  return hidden === undefined || folder === undefined ? values : { ...values, [hidden]: folder };
}

/** What is still to write of an item. */
export type Unwritten = {
  /** Fields that still have their old value. */
  toWrite: JsonObject;
  /** Names of the fields that have their new value already. */
  done: readonly string[];
  /** Tags that the asset has. */
  tags: readonly string[];
  /** The asset as it is, if it was read. */
  present?: AssetRecord | undefined;
  /** The error `changed_meanwhile`, if others have changed fields. */
  conflict?: CodedError | undefined;
};

/** Returns what is to write of an item that was read just now. */
export const asPlanned = ({ assets }: Api, { before, after }: StoredItem): Unwritten => ({
  toWrite: after ?? {},
  done: [],
  tags: assets.tagsIn(before ?? {}) ?? [],
});

/**
 * Reads an item again, and returns what is still to write of it.
 *
 * @throws CodedError `not_found` if it was deleted; `tags_unknown` (exit 6) if it does not show the tags to change
 */
export async function readUnwritten(api: Api, folders: FolderAccess, item: StoredItem): Promise<Unwritten> {
  const { name, uid, before, after } = item;
  const { asset, folder } = await readItem(api, folders, item);
  if (!asset && !folder) throw new CodedError(`${name ?? uid} does not exist any more`, { code: 'not_found' });
  const shownTags = asset && api.assets.tagsOf(asset);
  if (!isEmptyEdit(item.tags) && !shownTags) throw tagsUnknown(uid);
  const tags = shownTags ?? [];
  if (before === null) return { toWrite: after ?? {}, done: [], tags };
  const shown: JsonObject = folder
    ? folderValuesOf(folder)
    : api.assets.valuesOf(asset as AssetRecord, Object.keys(after ?? {}));
  // A value that the service showed neither then nor now cannot be compared.
  const isComparable = ([field]: [string, unknown]) => field in before || field in shown;
  const wanted = Object.fromEntries(Object.entries(after ?? {}).filter(isComparable));
  const values = asset ? await fetchValues(api, folders, asset, Object.keys(wanted)) : shown;
  const { toWrite, done, conflicts } = compareFields(api.assets, values, before, wanted);
  const conflict = Object.keys(conflicts).length > 0 ? changedMeanwhile(item, conflicts) : undefined;
  const hidden = Object.fromEntries(Object.entries(after ?? {}).filter((entry) => !isComparable(entry)));
  return { toWrite: { ...toWrite, ...hidden }, done, tags, present: asset, conflict };
}

/**
 * Returns an item that is to be deleted as it is now, without fields if it does not exist any more.
 *
 * @throws CodedError `changed_meanwhile` if others have changed it
 */
export async function readUnchanged(api: Api, folders: FolderAccess, item: StoredItem): Promise<ItemNow> {
  const { before } = item;
  const { asset, folder } = await readItem(api, folders, item);
  if ((!asset && !folder) || before === null) return { asset, folder };
  const values: JsonObject = folder
    ? folderValuesOf(folder)
    : await fetchValues(api, folders, asset as AssetRecord, Object.keys(before));
  const shown = Object.fromEntries(Object.entries(before).filter(([field]) => field in values));
  const changed = api.assets.findDifferences(shown, values);
  if (changed.length > 0)
    throw changedMeanwhile(item, Object.fromEntries(changed.map((field) => [field, values[field]])));
  return { asset, folder };
}

type ItemNow = { asset?: AssetRecord | undefined; folder?: FolderNode | undefined };

async function readItem(
  api: Api,
  folders: FolderAccess,
  { kind, uid }: Pick<StoredItem, 'kind' | 'uid'>,
): Promise<ItemNow> {
  if (kind === 'asset') return { asset: await api.assets.get(uid).catch(ignoreNotFound) };
  return { folder: (await folders.fetchTree(api)).find(uid) };
}

/** Values of an asset on which a change was decided: texts, tags, and the uid of its folder. */
export type SeenValues = { name?: string; description?: string; tags?: string[]; folder?: string | null };

/** @throws CodedError `changed_meanwhile` with the present value, if a field has another one than was seen */
export function assertAsSeen(assets: AssetsApi, { tags, folder, ...texts }: SeenValues, present: JsonObject): void {
  const fields = {
    ...texts,
    ...(tags && assets.tagFields(tags)),
    ...(folder !== undefined && assets.folderFields({ uid: '', ...present }, folder)),
  };
  const shown = Object.fromEntries(Object.entries(fields).filter(([field]) => field in present));
  const [field] = assets.findDifferences(shown, present);
  if (field === undefined) return;
  const now = present[field];
  throw new CodedError(`the ${field} was changed meanwhile`, {
    code: 'changed_meanwhile',
    reason: `it is ${JSON.stringify(now)} now`,
    details: { present: now },
  });
}
