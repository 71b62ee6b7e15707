import { parentOf } from '../../contract/asset.ts';
import { normalizeUid } from '../../contract/uid.ts';
import type { JsonObject } from '../../shared/json-values.ts';
import type { Api } from '../api/api.ts';
import type { Library } from '../library/library.ts';
import type { SelectedAsset } from '../library/select-assets.ts';
import type { ChangeItem } from './change-item.ts';
import type { FolderAccess } from './present-values.ts';

/* The folders of assets to move, as they were before: without them, a move could not be undone. */

/** Returns the folder of a selected asset as a list has just shown it, by the name of its field, if the record does not. */
export function hiddenFolderOf({ folderReader, api }: Library, { uid, record }: SelectedAsset): JsonObject {
  const folder = record && parentOf(record) === undefined ? folderReader.placeOf(uid) : undefined;
  return folder === undefined || !record ? {} : api.assets.folderFields(record, folder);
}

/** Adds the folder of each asset to move whose values do not have it. It is looked up in the lists of the folders. */
export async function withFolders(
  { assets }: Api,
  { findFolder }: Pick<FolderAccess, 'findFolder'>,
  items: readonly ChangeItem[],
): Promise<ChangeItem[]> {
  const complete: ChangeItem[] = [];
  for (const item of items) {
    const { uid, before } = item;
    const isHidden = isMove(assets, item) && before !== null && assets.folderIn(before) === undefined;
    const folder = isHidden ? await findFolder({ uid, ...before }) : undefined;
    const found = folder === undefined ? {} : assets.folderFields({ uid, ...before }, folder);
    complete.push(folder === undefined ? item : { ...item, before: { ...before, ...found } });
  }
  return complete;
}

const isMove = (assets: Api['assets'], { kind, after }: ChangeItem) =>
  kind === 'asset' && after !== null && assets.folderIn(after) !== undefined;

/** Returns the paths of the folders that moves name, by uid, as far as the folders can be read. */
export async function folderPathsOf(
  { api: { assets }, signal }: Library,
  { latestTree }: FolderAccess,
  items: readonly ChangeItem[],
): Promise<Record<string, string>> {
  const uidsIn = (values: JsonObject | null) => {
    const folder = values && assets.folderIn(values);
    return folder ? [folder] : [];
  };
  const uids = items
    .filter((item) => isMove(assets, item))
    .flatMap(({ before, after }) => [...uidsIn(before), ...uidsIn(after)]);
  if (uids.length === 0) return {};
  const tree = await latestTree().catch(() => signal.throwIfAborted());
  const paths = uids.flatMap((uid) => {
    const path = tree?.find(uid)?.path;
    return path === undefined ? [] : [[normalizeUid(uid), path] as const];
  });
  return Object.fromEntries(paths);
}
