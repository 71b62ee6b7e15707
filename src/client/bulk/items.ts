import { asText, type JsonObject } from '../../contract/json-values.ts';
import type { AssetsApi } from '../api/assets.ts';
import { type FolderNode, folderValuesOf } from '../api/folder-tree.ts';
import type { SelectedAsset } from '../library/select-assets.ts';
import type { BulkItem } from './run-store.ts';

const toItem = (item: Pick<BulkItem, 'kind' | 'uid' | 'name' | 'before' | 'after'>) => item as BulkItem;

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
): BulkItem {
  const fields = record ? Object.keys(after ?? { name: '', ...assets.folderFields(record, null) }) : [];
  const before = record ? { ...assets.valuesOf(record, fields), ...hidden } : null;
  return toItem({ kind: 'asset', uid, name: asText(record?.name) ?? null, before, after });
}

/** Returns the change of a folder. @param after fields after the change; null to delete it */
export const folderItem = (node: FolderNode, after: JsonObject | null): BulkItem =>
  toItem({ kind: 'folder', uid: node.folder.uid, name: node.path, before: folderValuesOf(node), after });
