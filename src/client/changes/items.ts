import type { SlugEdit } from '../../contract/slug.ts';
import type { AssetRecord } from '../../contract/types.ts';
import { asText, type JsonObject } from '../../shared/json-values.ts';
import type { AssetsApi } from '../api/assets.ts';
import type { ApiRequest } from '../http/api-request.ts';
import { type FolderNode, folderValuesOf } from '../library/folder-tree.ts';
import type { SelectedAsset } from '../library/select-assets.ts';
import type { ChangeItem } from './change-item.ts';
import { type TagChange, tagFieldsOf, toTagEdit } from './tag-change.ts';

/** A change of assets. What is absent stays as it is. */
export type WantedChange = {
  /** Fields of a PATCH, by their names. */
  fields?: JsonObject | undefined;
  tags?: TagChange | undefined;
  /** Uid of a folder; null for the top level. */
  folder?: string | null | undefined;
};

/**
 * Returns true if what a change depends on was read: tags, which are written as a whole (assumption A08), and the record
 * of an asset to move, which shows the name of the folder field (A09, A20).
 */
export const isEnough = (
  assets: AssetsApi,
  record: AssetRecord | undefined,
  { tags, folder }: WantedChange,
): boolean =>
  record ? tags === undefined || assets.tagsOf(record) !== undefined : tags === undefined && folder === undefined;

const toItem = (item: Omit<ChangeItem, keyof Pick<ChangeItem, 'localPath'> | symbol>) => item as ChangeItem;

/**
 * Returns the change of a selected asset, with the values that it starts from if its record was read.
 *
 * @param change null to move it to the trash
 * @param hidden values of fields that the record does not show
 * @throws CodedError `tags_unknown` (exit 6) if the change depends on tags that are not shown
 */
export function assetItem(
  assets: AssetsApi,
  { uid, record }: SelectedAsset,
  change: WantedChange | null,
  hidden: JsonObject = {},
): ChangeItem {
  const name = asText(record?.name) ?? null;
  if (change === null) {
    const before = record ? { ...assets.editorialValues(record), ...hidden } : null;
    return toItem({ kind: 'asset', uid, name, before, after: null });
  }
  const { fields, folder } = change;
  const { set, edit } = toTagEdit(assets, { uid, record }, change.tags);
  const after = {
    ...fields,
    ...(set && assets.tagFields(set)),
    ...(folder !== undefined && assets.folderFields(record ?? { uid }, folder)),
  };
  const read = ['name', ...Object.keys(assets.folderFields(record ?? { uid }, null)), ...Object.keys(after)];
  const shownTags = edit && record ? assets.tagFields(assets.tagsOf(record) ?? []) : {};
  const before = record ? { ...assets.valuesOf(record, read), ...shownTags, ...hidden } : null;
  return toItem({ kind: 'asset', uid, name, before, after, record, tags: edit ?? null });
}

/** Returns the change of a folder. @param after fields after the change; null to delete it */
export const folderItem = (node: FolderNode, after: JsonObject | null): ChangeItem =>
  toItem({ kind: 'folder', uid: node.folder.uid, name: node.path, before: folderValuesOf(node), after });

/** Returns the fields of the PATCH that writes an item. @param tags tags that the asset has now */
export const patchOf = (
  assets: AssetsApi,
  { after, tags }: { after: JsonObject; tags?: SlugEdit | null | undefined },
  present: readonly string[],
): JsonObject => ({ ...after, ...tagFieldsOf(assets, tags, present) });

/** Returns the requests that would carry out changes of assets, for a dry run. */
export const requestsOf = (assets: AssetsApi, items: readonly ChangeItem[]): ApiRequest[] =>
  items.map((item) => {
    const { uid, before, after } = item;
    if (!after) return assets.deleteRequest(uid);
    return assets.updateRequest(uid, patchOf(assets, { ...item, after }, assets.tagsIn(before ?? {}) ?? []));
  });

/**
 * Returns how many requests changes take at most, without retries. An asset is read once more if it was read before, and
 * then written; a folder is found, looked into, written and found again. For moves, the folders are read twice.
 */
export const countRequests = (assets: AssetsApi, items: readonly ChangeItem[]): number => {
  const isMove = ({ kind, after }: ChangeItem) => kind === 'asset' && after && assets.folderIn(after) !== undefined;
  const ofFolders = items.some(isMove) ? 2 : 0;
  return items.reduce((count, { kind, before }) => count + (kind === 'folder' ? 4 : before ? 2 : 1), ofFolders);
};
