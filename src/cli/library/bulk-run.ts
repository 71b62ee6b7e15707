import { carryOut, writeItem } from '../../client/bulk/carry-out.ts';
import type { BulkItem, BulkRun, RunPlan, RunStore, StoredItem } from '../../client/bulk/run-store.ts';
import type { FolderAccess } from '../../client/bulk/undo.ts';
import { asMediactlError, endsTheRun } from '../../client/errors.ts';
import type { ItemResult } from '../../client/run-each.ts';
import { formatCount } from '../../contract/figures.ts';
import type { Collection } from '../../contract/paths.ts';
import type { Context } from '../context.ts';
import { fetchFolderTree } from './folders.ts';
import { resolveWorkspaceUid } from './workspaces.ts';

/** A change of the library, which the history records. */
export type LibraryChange = Pick<RunPlan, 'command' | 'summary' | 'undoOf' | 'source'> & {
  items: readonly BulkItem[];
  /** Workspace of the folders in it. */
  workspace?: string | undefined;
};

type WriteOptions<T> = { write: (item: StoredItem) => Promise<T>; lanes?: number };

/** Saves a change in the history, then carries it out. @returns one result per item */
export async function runChange<T>(
  context: Context,
  change: LibraryChange,
  options: WriteOptions<T>,
): Promise<ItemResult<StoredItem, T>[]> {
  const [{ baseUrl, profile, workspace }, items] = [
    await context.account(),
    await addLocalPaths(context, change.items),
  ];
  const place = { service: baseUrl.origin, workspace: workspace ?? null, profile: profile ?? null };
  const plan = { ...place, ...change, requestCount: items.length };
  const { store, run } = await createRun(context, plan, items);
  return carryOutRun(context, store, run, options);
}

type CreatedRun = { store: RunStore; run: { run: BulkRun; items: StoredItem[] } };

/** Saves a run. If the history cannot be written, warns that the change cannot be undone. */
async function createRun(context: Context, plan: RunPlan, items: readonly BulkItem[]): Promise<CreatedRun> {
  if (context.settings.history)
    try {
      const store = await context.runStore();
      return { store, run: await store.create(plan, items) };
    } catch (thrown) {
      const error = asMediactlError(thrown);
      if (error.kind !== 'state') throw error;
      const reason = error.explanation.reason ?? error.message;
      context.terminal.warn(`the history cannot be written (${reason}): this change cannot be undone`);
    }
  const store = await context.memoryRunStore();
  return { store, run: await store.create(plan, items) };
}

/** Carries out the pending items of a run, and tells how to continue or undo it. */
export async function carryOutRun<T>(
  context: Context,
  store: RunStore,
  { run, items }: CreatedRun['run'],
  { write, lanes }: WriteOptions<T>,
): Promise<ItemResult<StoredItem, T>[]> {
  const updateReceipts = await createReceiptUpdate(context, items);
  const writeAndRecord = async (item: StoredItem) => {
    const written = await write(item);
    await updateReceipts(item);
    return written;
  };
  const results = await carryOut(store, run, items, writeAndRecord, { signal: context.signal, lanes });
  const count = results.filter(({ error }) => !error).length;
  const isStopped = results.some(({ error }) => error && endsTheRun(error));
  if (!store.isPersistent || items.length < 2) return results;
  if (isStopped)
    context.terminal.info(
      `stopped after ${formatCount(count)} of ${formatCount(results.length)}; to continue: mediactl history ${run.id} --resume`,
    );
  else if (context.isHumanOutput && count > 0 && items.some(({ after }) => after !== null))
    context.terminal.info(`to undo it: mediactl undo ${run.id}`);
  return results;
}

/** Carries out a change of one item, and returns what `write` returns. @throws its error */
export async function runSingleChange<T>(
  context: Context,
  { item, ...change }: Omit<LibraryChange, 'items'> & { item: BulkItem },
  write: () => Promise<T>,
): Promise<T> {
  const [outcome] = await runChange(context, { ...change, items: [item] }, { write });
  if (outcome?.error) throw outcome.error;
  return outcome?.value as T;
}

/** Adds the local file of each asset to delete, if this machine uploaded it, since its receipt is deleted, too. */
async function addLocalPaths(context: Context, items: readonly BulkItem[]): Promise<BulkItem[]> {
  const isDeleted = ({ kind, after }: BulkItem) => kind === 'asset' && after === null;
  const receipts = items.some(isDeleted) ? await context.receiptsIfAny().catch(() => undefined) : undefined;
  const withPaths: BulkItem[] = [];
  for (const item of items) {
    const receipt = isDeleted(item) ? await receipts?.findByAsset(item.uid) : undefined;
    withPaths.push(receipt ? { ...item, localPath: receipt.path } : item);
  }
  return withPaths;
}

/** Returns a function that updates the receipt of an asset that was deleted or moved. Warns once if that fails. */
async function createReceiptUpdate(context: Context, items: readonly StoredItem[]) {
  const { assets } = await context.api();
  const hasReceipt = ({ kind, after }: BulkItem) =>
    kind === 'asset' && (after === null || assets.folderIn(after) !== undefined);
  let isReported = false;
  const failed = (thrown: unknown) => {
    const error = asMediactlError(thrown);
    if (error.kind !== 'state') throw thrown;
    if (!isReported)
      context.terminal.warn(
        `${error.message} (${error.explanation.reason}): the upload history still has the assets as they were`,
      );
    isReported = true;
  };
  const receipts = items.some(hasReceipt) ? await context.receiptsIfAny().catch(failed) : undefined;
  return async (item: StoredItem) => {
    if (!receipts || !hasReceipt(item)) return;
    const { uid, after } = item;
    const update = after === null ? receipts.forgetAsset(uid) : receipts.moveAsset(uid, assets.folderIn(after) ?? '');
    await update.catch(failed);
  };
}

/** Returns a function that writes an item, whatever its present state. */
export async function assetWriter(context: Context, collection: Collection = 'assets') {
  const { [collection]: assets, folders } = await context.api();
  const workspace = () => resolveWorkspaceUid(context);
  return (item: BulkItem) => writeItem({ assets, folders }, workspace, item);
}

/** Returns access to the folders of the workspace in use, whose tree is fetched again after each change. */
export const folderAccess = (context: Context): FolderAccess => ({
  workspace: () => resolveWorkspaceUid(context),
  tree: async () => (await fetchFolderTree(context)).tree,
});
