import { asText, type JsonObject } from '../../contract/json-values.ts';
import type { SlugEdit } from '../../contract/slug.ts';
import type { AssetsApi } from '../api/assets.ts';
import type { ApiRequest } from '../http/api-request.ts';
import { type FolderNode, folderValuesOf } from '../library/folder-tree.ts';
import type { SelectedAsset } from '../library/select-assets.ts';
import type { ChangeItem } from './change-history.ts';

/** A complete new set of tags, or slugs to add and remove. */
export type TagChange = { set: readonly string[] } | SlugEdit;

/** A change of assets. What is absent stays as it is. */
export type WantedChange = {
  /** Fields of a PATCH, by their names. */
  fields?: JsonObject | undefined;
  tags?: TagChange | undefined;
  /** Uid of a folder; null for the top level. */
  folder?: string | null | undefined;
};

/**
 * Returns true if the fields to write depend on the asset's record: tags are written as a whole (assumption A08), and
 * the folder field has the name that the record shows (A09, A20).
 */
export const needsRecord = ({ tags, folder }: WantedChange): boolean =>
  (tags !== undefined && !('set' in tags)) || folder !== undefined;

/** Returns the PATCH fields of a change. @throws CodedError `tags_unknown` if they depend on tags that are not shown */
export function fieldsOf(
  assets: AssetsApi,
  { uid, record = { uid } }: Pick<SelectedAsset, 'uid' | 'record'>,
  { fields, tags, folder }: WantedChange,
): JsonObject {
  return {
    ...fields,
    ...(tags && ('set' in tags ? assets.tagFields(tags.set) : assets.tagEditFields(record, tags))),
    ...(folder !== undefined && assets.folderFields(record, folder)),
  };
}

const toItem = (item: Pick<ChangeItem, 'kind' | 'uid' | 'name' | 'before' | 'after'>) => item as ChangeItem;

/**
 * Returns the change of a selected asset, with the values that it starts from if its record was read.
 *
 * @param after fields after the change; null to move it to the trash
 * @param hidden values of fields that the record does not show
 */
export function assetItem(
  assets: AssetsApi,
  { uid, record }: SelectedAsset,
  after: JsonObject | null,
  hidden: JsonObject = {},
): ChangeItem {
  const fields = record ? Object.keys(after ?? { name: '', ...assets.folderFields(record, null) }) : [];
  const before = record ? { ...assets.valuesOf(record, fields), ...hidden } : null;
  return toItem({ kind: 'asset', uid, name: asText(record?.name) ?? null, before, after });
}

/** Returns the change of a folder. @param after fields after the change; null to delete it */
export const folderItem = (node: FolderNode, after: JsonObject | null): ChangeItem =>
  toItem({ kind: 'folder', uid: node.folder.uid, name: node.path, before: folderValuesOf(node), after });

/** Returns the requests that would carry out changes of assets, for a dry run. */
export const requestsOf = (assets: AssetsApi, items: readonly ChangeItem[]): ApiRequest[] =>
  items.map(({ uid, after }) => (after ? assets.updateRequest(uid, after) : assets.deleteRequest(uid)));
