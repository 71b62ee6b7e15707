import type { JsonObject } from '../../contract/json-values.ts';
import type { Collection } from '../../contract/paths.ts';
import type { Asset } from '../../contract/types.ts';
import type { Api } from '../api/api.ts';
import type { FolderNode, WorkspaceFolderTree } from '../api/folder-tree.ts';
import type { FolderChange } from '../api/folders.ts';
import { writesOf } from '../api/writes.ts';
import { asMediactlError, endsTheRun, type MediactlError } from '../errors.ts';
import type { SelectedAsset } from '../library/select-assets.ts';
import { type ItemResult, runEach } from '../run-each.ts';
import { assetItem } from './items.ts';
import type { BulkItem, BulkRun, ItemState, RunStore, StoredItem } from './run-store.ts';

/** Result of the write of an item: the asset or folder afterwards, and fields that the service does not show. */
export type Written = { asset?: Asset | undefined; folder?: FolderNode; unverifiable?: readonly string[] };

export type CarryOutOptions = {
  signal: AbortSignal;
  lanes?: number | undefined;
  /** Called if an outcome cannot be recorded. The run continues, and its items stay pending. */
  onRecordError(error: unknown): void;
};

/**
 * Carries out items of a run, several at a time, and records the outcome of each. An item whose outcome is unknown
 * stays pending.
 *
 * @returns one result per item
 * @throws MediactlError `locked` (exit 6) if another process carries it out
 */
export async function carryOut<T>(
  store: RunStore,
  { id }: BulkRun,
  items: readonly StoredItem[],
  write: (item: StoredItem) => Promise<T>,
  { onRecordError, ...options }: CarryOutOptions,
): Promise<ItemResult<StoredItem, T>[]> {
  const record = (item: StoredItem, state: ItemState, error?: MediactlError) =>
    store.setItemState(id, item, state, error?.message).catch(onRecordError);
  const release = await store.lock(id);
  try {
    await store.setState(id, 'running');
    const results = await runEach(
      items,
      async (item) => {
        try {
          const written = await write(item);
          await record(item, 'done');
          return written;
        } catch (thrown) {
          const error = asMediactlError(thrown);
          if (!endsTheRun(error)) await record(item, isConflict(error) ? 'conflict' : 'failed', error);
          throw error;
        }
      },
      options,
    );
    // Items after an error that ends the run were not attempted, and have that error, too.
    if (!results.some(({ error }) => error && endsTheRun(error)))
      await store.setState(id, 'finished').catch(onRecordError);
    return results;
  } finally {
    await release();
  }
}

const isConflict = ({ explanation }: MediactlError) => explanation.code === 'changed_meanwhile';

/** Where the items of a run are: the endpoints of its assets, and the workspace of its folders. */
export type ItemPlace = {
  collection?: Collection;
  workspace(): Promise<string>;
  /** Folders of the workspace, if they were read already. */
  tree?: WorkspaceFolderTree;
};

/** Writes fields of an asset, or moves it to the trash if they are null. */
export const writeAsset = (api: Api, asset: SelectedAsset, after: JsonObject | null): Promise<Written> =>
  writeItem(api, { workspace: async () => '' }, assetItem(api.assets, asset, after));

/** Writes an item, whatever its present state. */
export async function writeItem(api: Api, place: ItemPlace, item: BulkItem): Promise<Written> {
  const { kind, uid, name, before, after } = item;
  const { [place.collection ?? 'assets']: assets, folders } = writesOf(api);
  if (kind === 'asset') {
    if (after) return assets.write({ uid, name, ...before }, after);
    await assets.delete(uid);
    return {};
  }
  const workspace = await place.workspace();
  if (!after) {
    await folders.delete(workspace, uid);
    return {};
  }
  const tree = place.tree ?? (await folders.tree(workspace));
  return { folder: (await folders.change(workspace, uid, tree, after as FolderChange)).node };
}
