import { asText, type JsonObject } from '../../contract/json-values.ts';
import type { AssetRecord } from '../../contract/types.ts';
import { normalizeUid } from '../../contract/uid.ts';
import type { Api } from '../api/api.ts';
import { CodedError } from '../errors.ts';
import { type FolderNode, folderValuesOf, type WorkspaceFolderTree } from '../library/folder-tree.ts';
import type { ChangeItem, StoredItem } from './change-history.ts';
import { changedMeanwhile, compareFields, fetchAssets, getIfExists } from './three-way.ts';

/** Returns the folder of an asset whose record does not show it: its uid, null at the top level, undefined if unknown. */
export type FolderLookup = (asset: AssetRecord) => Promise<string | null | undefined>;

/** The workspace whose folders a change concerns. */
export type FolderAccess = {
  workspace(): Promise<string>;
  fetchTree(): Promise<WorkspaceFolderTree>;
  /** Returns the folders as they were last read, for the names of their fields. */
  latestTree(): Promise<WorkspaceFolderTree>;
  /** Returns the folder of an asset whose record does not show it; undefined if it is not known. */
  findFolder: FolderLookup;
};

/** Returns the values of fields now, also of the folder if the record does not show it. */
async function fetchValues({ assets }: Api, folders: FolderAccess, asset: AssetRecord, fields: readonly string[]) {
  const values = assets.valuesOf(asset, fields);
  const hidden = fields.find((field) => !(field in values) && assets.folderIn({ [field]: null }) === null);
  const folder = hidden === undefined ? undefined : await folders.findFolder(asset);
  return hidden === undefined || folder === undefined ? values : { ...values, [hidden]: folder };
}

/** Fields of an item that still have to be written, after it was read again. */
type Unwritten = {
  /** Fields that still have their old value; null to delete the item; undefined if nothing is to write. */
  after: JsonObject | null | undefined;
  /** The asset, if nothing is to write. */
  present?: AssetRecord | undefined;
  /** The error `changed_meanwhile`, if others have changed other fields. */
  conflict?: CodedError | undefined;
};

/**
 * Reads an item again, and returns what is still to write of it.
 *
 * @throws CodedError `not_found` if it does not exist any more; `changed_meanwhile` if it is to be deleted and others
 *   have changed it
 */
export async function readUnwritten(
  api: Api,
  folders: FolderAccess,
  { kind, uid, name, before, after }: StoredItem,
): Promise<Unwritten> {
  const label = name ?? uid;
  const asset = kind === 'asset' ? await getIfExists(api.assets, uid) : undefined;
  const folder = kind === 'folder' ? (await folders.fetchTree()).find(uid) : undefined;
  if (!asset && !folder) {
    if (after) throw new CodedError(`${label} does not exist any more`, { code: 'not_found' });
    return { after: undefined };
  }
  if (before === null) return { after };
  const present = folder
    ? folderValuesOf(folder)
    : await fetchValues(api, folders, asset as AssetRecord, Object.keys(before));
  if (after === null) {
    const changed = api.assets.findDifferences(before, present);
    if (changed.length > 0) throw changedMeanwhile(label, present);
    const { items } = folder ? await api.assets.page({ parent: uid }, 1, 0) : { items: [] };
    if (folder && items.length + folder.children.length > 0) throw changedMeanwhile(label, { content: 'not empty' });
    return { after };
  }
  const { toWrite, conflicts } = compareFields(api.assets, present, before, after);
  const conflict = Object.keys(conflicts).length > 0 ? changedMeanwhile(label, conflicts) : undefined;
  return Object.keys(toWrite).length > 0
    ? { after: toWrite, conflict }
    : { after: undefined, present: asset, conflict };
}

/** Item that an undo does not write, and the reason. */
export type SkippedItem = { item: ChangeItem; reason: string };

export type UndoPlan = {
  /** Old values to write, in the opposite order of the change. */
  items: ChangeItem[];
  /** Items whose value is neither the one that the change wrote nor the old one. */
  conflicts: SkippedItem[];
  /** Items that the API cannot take back, or whose old value was not read. */
  irreversible: SkippedItem[];
};

/** Plans to write back the old values of a change, wherever the library still has those that the change wrote. */
export async function planUndo(
  api: Api,
  folders: FolderAccess,
  items: readonly StoredItem[],
  signal: AbortSignal,
): Promise<UndoPlan> {
  const plan: UndoPlan = { items: [], conflicts: [], irreversible: [] };
  const written = mergeByUid(items.filter(({ state, after }) => after !== null || state === 'done'));
  const isReversible = ({ before, after }: ChangeItem) =>
    before !== null && after !== null && Object.keys(after).every((field) => field in before);
  const reversible = written.filter(isReversible).reverse();
  const uids = reversible.flatMap(({ kind, uid }) => (kind === 'asset' ? [uid] : []));
  const fields = [...new Set(reversible.flatMap(({ after }) => Object.keys(after ?? {})))];
  const isComplete = (asset: AssetRecord) => Object.keys(api.assets.valuesOf(asset, fields)).length === fields.length;
  const found = new Map<string, AssetRecord>();
  const collect = (asset: AssetRecord) => void found.set(normalizeUid(asset.uid), asset);
  const failures = await fetchAssets(api.assets, uids, { isComplete, signal }, collect);
  const hasFolders = reversible.some(({ kind }) => kind === 'folder');
  const tree = hasFolders ? await folders.fetchTree() : undefined;
  for (const item of written.filter((each) => !isReversible(each))) {
    const from = item.localPath ? `; it was uploaded from ${item.localPath}` : '';
    const deleted = item.kind === 'asset' ? `in the trash, from which the API cannot restore it${from}` : 'deleted';
    plan.irreversible.push({ item, reason: item.after === null ? deleted : 'its old value is unknown' });
  }
  for (const item of reversible) {
    const { uid, before, after } = item as ChangeItem & { before: JsonObject; after: JsonObject };
    const [asset, folder] = [found.get(normalizeUid(uid)), item.kind === 'folder' ? tree?.find(uid) : undefined];
    // A write that failed, or a conflict, has most likely changed nothing.
    const isWritten = item.state === 'done' || item.state === 'pending';
    const leave = (reason: string) => isWritten && plan.conflicts.push({ item, reason });
    if (!asset && !folder) {
      leave(failures.get(normalizeUid(uid))?.message ?? 'it does not exist any more');
      continue;
    }
    const present = folder
      ? folderValuesOf(folder)
      : await fetchValues(api, folders, asset as AssetRecord, Object.keys(after));
    const wanted = Object.fromEntries(Object.keys(after).map((field) => [field, before[field]]));
    const { toWrite, conflicts } = compareFields(api.assets, present, after, wanted);
    const { reason } = changedMeanwhile('', conflicts).explanation;
    if (Object.keys(conflicts).length > 0) leave(`changed meanwhile: ${reason}`);
    if (Object.keys(toWrite).length === 0) continue;
    if (folder && hasTwin(tree, folder, { ...present, ...toWrite })) {
      leave('another folder has its old path');
      continue;
    }
    const name = folder?.path ?? asText(asset?.name) ?? item.name;
    plan.items.push({ ...item, name, before: pick(present, toWrite), after: toWrite });
  }
  return plan;
}

/** Merges the changes of an asset that was changed twice, in the order of the items. */
function mergeByUid(items: readonly StoredItem[]): StoredItem[] {
  const merged = new Map<string, StoredItem>();
  for (const item of items) {
    const earlier = merged.get(item.uid);
    const { before = null, after = null } = earlier ?? {};
    const isChain = before && after && item.before && item.after;
    const both = isChain && { before: { ...item.before, ...before }, after: { ...after, ...item.after } };
    merged.set(item.uid, { ...item, ...both });
  }
  return [...merged.values()];
}

/** Returns true if another folder has the name and the parent that a folder is to get. */
function hasTwin(tree: WorkspaceFolderTree | undefined, folder: FolderNode, { name, parent }: JsonObject): boolean {
  const siblings = tree?.childrenOf(asText(parent) ?? 'root') ?? [];
  return siblings.some((each) => each !== folder && each.name === name);
}

const pick = (values: JsonObject, like: JsonObject): JsonObject =>
  Object.fromEntries(Object.keys(like).map((field) => [field, values[field]]));
