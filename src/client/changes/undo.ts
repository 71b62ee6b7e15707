import type { SlugEdit } from '../../contract/slug.ts';
import type { AssetRecord } from '../../contract/types.ts';
import { normalizeUid } from '../../contract/uid.ts';
import { asText, type JsonObject } from '../../shared/json-values.ts';
import type { Api } from '../api/api.ts';
import { type FolderNode, folderValuesOf, type WorkspaceFolderTree } from '../library/folder-tree.ts';
import type { LeftItem } from './change-history.ts';
import { type ChangeItem, type StoredItem, writtenOf } from './change-item.ts';
import { type FolderAccess, fetchValues } from './present-values.ts';
import { applyTagEdit, differenceOf, inverseOf, isEmptyEdit } from './tag-change.ts';
import { changedMeanwhile, compareFields, fetchAssets } from './three-way.ts';

export type UndoPlan = {
  /** Old values to write, in the opposite order of the change. */
  items: ChangeItem[];
  /** Items that have neither the value that the change wrote nor the old one, or that cannot be read. */
  conflicts: LeftItem[];
  /** Items that the API cannot take back, or whose old value was not read. */
  irreversible: LeftItem[];
  /** Number of requests that were sent to read the items. */
  readCount: number;
};

type WrittenItem = { item: StoredItem; after: JsonObject | null; tags: SlugEdit | null };

/**
 * Plans to write back the old values of a change, wherever the library still has those that the change wrote. Reads
 * only what was, or may have been, written.
 */
export async function planUndo(
  api: Api,
  folders: FolderAccess,
  items: readonly StoredItem[],
  signal: AbortSignal,
): Promise<UndoPlan> {
  const plan: UndoPlan = { items: [], conflicts: [], irreversible: [], readCount: 0 };
  const groups = groupByUid(items);
  const isRead = (steps: readonly WrittenItem[]) => isReversible(steps) || isUnknownDeletion(steps);
  const toRead = [...groups.values()].filter(isRead).flat();
  const uids = new Set(toRead.flatMap(({ item }) => (item.kind === 'asset' ? [item.uid] : [])));
  const fields = [...new Set(toRead.flatMap(({ after }) => Object.keys(after ?? {})))];
  const hasTags = toRead.some(({ tags }) => !isEmptyEdit(tags));
  const isComplete = (asset: AssetRecord) =>
    Object.keys(api.assets.valuesOf(asset, fields)).length === fields.length &&
    (!hasTags || api.assets.tagsOf(asset) !== undefined);
  const found = new Map<string, AssetRecord>();
  const collect = (asset: AssetRecord) => void found.set(normalizeUid(asset.uid), asset);
  const { failures, requestCount } = await fetchAssets(api.assets, [...uids], { isComplete, signal }, collect);
  const tree = toRead.some(({ item }) => item.kind === 'folder') ? await folders.fetchTree() : undefined;
  plan.readCount = requestCount + (tree ? 1 : 0);
  for (const [key, steps] of [...groups].reverse()) {
    const last = (steps.at(-1) as WrittenItem).item;
    const now: PresentItem = { asset: found.get(key), folder: tree?.find(last.uid), tree };
    const failure = failures.get(key);
    if (isUnknownDeletion(steps) && (failure || now.asset || now.folder)) {
      if (failure) plan.conflicts.push({ item: last, reason: failure.message });
    } else if (!isReversible(steps)) plan.irreversible.push({ item: last, reason: describeIrreversible(last) });
    else if (!now.asset && !now.folder)
      plan.conflicts.push({ item: last, reason: failure?.message ?? 'it does not exist any more' });
    else await revert(api, folders, plan, steps, now);
  }
  return plan;
}

/** Groups what was written by uid, in the order of the last write of each. */
function groupByUid(items: readonly StoredItem[]): Map<string, WrittenItem[]> {
  const groups = new Map<string, WrittenItem[]>();
  for (const item of items) {
    const written = writtenOf(item);
    if (!written) continue;
    const key = normalizeUid(item.uid);
    const earlier = groups.get(key) ?? [];
    groups.delete(key);
    groups.set(key, [...earlier, { item, after: written.after, tags: written.tags ?? null }]);
  }
  return groups;
}

const isReversible = (steps: readonly WrittenItem[]) =>
  steps.every(({ item: { before }, after }) => before && after && Object.keys(after).every((field) => field in before));

/** Returns true for an item of which only the library shows if it was deleted. */
const isUnknownDeletion = (steps: readonly WrittenItem[]) => {
  const { item, after } = steps.at(-1) as WrittenItem;
  return after === null && item.state === 'unknown';
};

function describeIrreversible({ kind, after, localPath }: ChangeItem): string {
  if (after !== null) return 'its old value is unknown';
  const from = localPath ? `; it was uploaded from ${localPath}` : '';
  return kind === 'asset' ? `in the trash, from which the API cannot restore it${from}` : 'deleted';
}

type PresentItem = {
  asset: AssetRecord | undefined;
  folder: FolderNode | undefined;
  tree: WorkspaceFolderTree | undefined;
};

/** Adds the old values of an item to the plan: those that it has after its writes were taken back, the last one first. */
async function revert(
  api: Api,
  folders: FolderAccess,
  plan: UndoPlan,
  steps: readonly WrittenItem[],
  { asset, folder, tree }: PresentItem,
): Promise<void> {
  const { item } = steps.at(-1) as WrittenItem;
  const fields = [...new Set(steps.flatMap(({ after }) => Object.keys(after ?? {})))];
  const present = folder ? folderValuesOf(folder) : await fetchValues(api, folders, asset as AssetRecord, fields);
  const shownTags = asset && api.assets.tagsOf(asset);
  const presentTags = shownTags ?? [];
  let wanted: JsonObject = present;
  let tags: readonly string[] = presentTags;
  const foreign: JsonObject = {};
  for (const { item: step, after, tags: edit } of steps.toReversed()) {
    const mine = Object.fromEntries(Object.entries(after ?? {}).filter(([field]) => !(field in foreign)));
    const old = Object.fromEntries(Object.keys(mine).map((field) => [field, step.before?.[field]]));
    const { toWrite, conflicts } = compareFields(api.assets, wanted, mine, old);
    Object.assign(foreign, conflicts);
    wanted = { ...wanted, ...toWrite };
    if (edit && shownTags) tags = applyTagEdit(tags, inverseOf(edit));
  }
  const after = Object.fromEntries(api.assets.findDifferences(wanted, present).map((field) => [field, wanted[field]]));
  const edit = differenceOf(presentTags, tags);
  const leave = (reason: string) => plan.conflicts.push({ item, reason });
  if (!shownTags && steps.some(({ tags: each }) => !isEmptyEdit(each))) leave('the service does not show its tags');
  if (Object.keys(foreign).length > 0)
    leave(`changed meanwhile: ${changedMeanwhile(item, foreign).explanation.reason ?? ''}`);
  if (Object.keys(after).length === 0 && isEmptyEdit(edit)) return;
  if (folder && hasTwin(tree, folder, { ...present, ...after })) {
    leave('another folder has its old path');
    return;
  }
  const name = folder?.path ?? asText(asset?.name) ?? item.name;
  const before = { ...present, ...(!isEmptyEdit(edit) && api.assets.tagFields(presentTags)) };
  plan.items.push({ ...item, name, before, after, tags: isEmptyEdit(edit) ? null : edit });
}

/** Returns true if another folder has the name and the parent that a folder is to get. */
function hasTwin(tree: WorkspaceFolderTree | undefined, folder: FolderNode, { name, parent }: JsonObject): boolean {
  const siblings = tree?.childrenOf(asText(parent) ?? 'root') ?? [];
  return siblings.some((each) => each !== folder && each.name === name);
}
