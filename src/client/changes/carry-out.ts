import type { Clock } from '../../contract/clock.ts';
import type { JsonObject } from '../../contract/json-values.ts';
import type { Collection } from '../../contract/paths.ts';
import type { AssetRecord } from '../../contract/types.ts';
import type { FolderChange } from '../api/folders.ts';
import { writesOf } from '../api/writes.ts';
import { asCodedError, type CodedError, endsTheRun } from '../errors.ts';
import type { FolderNode } from '../library/folder-tree.ts';
import type { Library } from '../library/library.ts';
import { type ItemResult, runEach } from '../run-each.ts';
import type { Receipts } from '../upload/store/receipts.ts';
import type { ChangeItem, ChangeLog, ItemState, StoredChange, StoredItem } from './change-history.ts';
import { changeFolder, findRemainingFolders } from './folder-writes.ts';
import { type FolderAccess, readUnwritten } from './undo.ts';

/** Result of the write of an item: the asset or folder afterwards, and fields that the service does not show. */
export type Written = {
  asset?: AssetRecord | undefined;
  folder?: FolderNode | undefined;
  unverifiable?: readonly string[];
};

export type WriteOptions = {
  collection?: Collection | undefined;
  /**
   * Time in ms since the epoch before the items were read. Items that were read more than ten seconds ago, before a
   * question for example, are read again, and written only where the library still has their old values.
   */
  readAt?: number | undefined;
  /** True if an asset that does not exist any more counts as deleted. */
  acceptsMissing?: boolean | undefined;
};

/** Functions that a caller adds to the write of each item. */
export type ChangeHooks = {
  /** Throws if an item must not be written any more. Called with the lock of the change held. @returns `skip` if it is done */
  beforeItem?(item: StoredItem): Promise<'skip' | undefined>;
  /** Called for each item that was written, before its outcome is recorded. */
  afterItem?(item: StoredItem): Promise<unknown>;
  /** Converts the error of an item to one in the caller's words. It may end the run. */
  toError?(error: CodedError, item: StoredItem): CodedError;
};

/** A problem that did not stop a change. */
export type ChangeNotice =
  | { kind: 'cannot_undo' | 'results_not_recorded' | 'receipts_not_updated'; error: CodedError }
  | { kind: 'unverifiable'; fields: readonly string[] };

export type CarryOutDeps = {
  library: Library;
  clock: Clock;
  /** Returns the receipts; undefined if nothing was ever uploaded from here. */
  receipts(): Promise<Receipts | undefined>;
  folders: FolderAccess;
  onNotice(notice: ChangeNotice): void;
};

type Results = ItemResult<StoredItem, Written>[];

const maxAgeMs = 10_000;

/**
 * Carries out items of a change, several at a time, with all that belongs to a write, and records the outcome of each. An
 * item whose outcome is unknown stays pending.
 *
 * @returns one result per item
 * @throws CodedError `locked` (exit 6) if another process carries it out
 */
export async function carryOut(
  deps: CarryOutDeps,
  store: ChangeLog,
  { change, items }: { change: StoredChange; items: readonly StoredItem[] },
  options: WriteOptions,
  hooks: ChangeHooks = {},
): Promise<Results> {
  const { library, onNotice } = deps;
  const updateReceipts = await createReceiptUpdate(deps, items);
  let isReported = false;
  const notRecorded = (thrown: unknown) => {
    if (!isReported) onNotice({ kind: 'results_not_recorded', error: stateErrorOf(thrown) });
    isReported = true;
  };
  const record = (item: StoredItem, state: ItemState, error?: CodedError) =>
    store.setItemState(change.id, item, state, error?.message).catch(notRecorded);
  const carryOutItem = async (item: StoredItem): Promise<Written> => {
    try {
      const isDone = (await hooks.beforeItem?.(item)) === 'skip';
      const written = isDone ? {} : await writeUnchanged(deps, options, item);
      await updateReceipts(item);
      await hooks.afterItem?.(item);
      await record(item, 'done');
      return written;
    } catch (thrown) {
      const failure = asCodedError(thrown);
      const error = hooks.toError?.(failure, item) ?? failure;
      if (!endsTheRun(error)) await record(item, isConflict(error) ? 'conflict' : 'failed', error);
      throw error;
    }
  };
  // Folders are changed one after the other, since one may be inside another.
  const hasFolders = items.some(({ kind }) => kind === 'folder');
  const release = await store.lock(change.id);
  try {
    await store.setState(change.id, 'running');
    const lanes = hasFolders ? 1 : undefined;
    const written = await runEach(items, carryOutItem, { signal: library.signal, lanes });
    if (hasFolders) await library.foldersChanged();
    // Items after an error that ends the run were not attempted, and have that error, too.
    if (!written.some(({ error }) => error && endsTheRun(error)))
      await store.setState(change.id, 'finished').catch(notRecorded);
    const results = await checkDeletedFolders(deps, written);
    for (const [at, { item, error }] of results.entries())
      if (error && !written[at]?.error) await record(item, 'failed', error);
    const fields = [...new Set(results.flatMap(({ value }) => value?.unverifiable ?? []))];
    if (fields.length > 0) onNotice({ kind: 'unverifiable', fields });
    return results;
  } finally {
    await release();
  }
}

/** Writes an item. If it was read long ago, writes only what others have not changed since. */
async function writeUnchanged(
  deps: CarryOutDeps,
  { collection, readAt = Number.POSITIVE_INFINITY, acceptsMissing = false }: WriteOptions,
  item: StoredItem,
): Promise<Written> {
  const write = (after: JsonObject | null) =>
    writeItem(deps, { ...item, after }, collection).catch((error): Written => {
      if (!acceptsMissing || after !== null || asCodedError(error).kind !== 'notFound') throw error;
      return {};
    });
  if (deps.clock.now() - readAt <= maxAgeMs) return write(item.after);
  const { after, present, conflict } = await readUnwritten(deps.library.api, deps.folders, item);
  const written = after === undefined ? { asset: present } : await write(after);
  if (conflict) throw conflict;
  return written;
}

/** Sends the request that writes an item, and verifies the result. */
async function writeItem(
  { library: { api }, folders }: CarryOutDeps,
  { kind, uid, name, before, after }: ChangeItem,
  collection: Collection = 'assets',
): Promise<Written> {
  const { [collection]: assets, folders: folderWrites } = writesOf(api);
  if (kind === 'asset') {
    if (after) return assets.write({ uid, name, ...before }, after);
    await assets.delete(uid);
    return {};
  }
  const workspace = await folders.workspace();
  if (after) {
    const { node } = await changeFolder(api, workspace, uid, await folders.latestTree(), after as FolderChange);
    return { folder: node };
  }
  await folderWrites.delete(workspace, uid);
  return {};
}

/** Verifies in the folder tree that deleted folders are gone, because no response shows it (assumption A04). */
async function checkDeletedFolders({ library, folders }: CarryOutDeps, results: Results): Promise<Results> {
  const isDeleted = ({ item, error }: Results[number]) => item.kind === 'folder' && item.after === null && !error;
  const uids = results.filter(isDeleted).map(({ item }) => item.uid);
  if (uids.length === 0) return results;
  const remaining = await findRemainingFolders(library.api, await folders.workspace(), uids);
  return results.map((result) => {
    const error = isDeleted(result) ? remaining.get(result.item.uid) : undefined;
    return error ? { ...result, value: undefined, error } : result;
  });
}

/** Returns a function that updates the receipt of an asset that was deleted or moved. Reports once if that fails. */
async function createReceiptUpdate(
  { library, receipts: open, onNotice }: CarryOutDeps,
  items: readonly StoredItem[],
): Promise<(item: StoredItem) => Promise<void>> {
  const { assets } = library.api;
  const hasReceipt = ({ kind, after }: ChangeItem) =>
    kind === 'asset' && (after === null || assets.folderIn(after) !== undefined);
  let isReported = false;
  const failed = (thrown: unknown) => {
    const error = stateErrorOf(thrown);
    if (!isReported) onNotice({ kind: 'receipts_not_updated', error });
    isReported = true;
  };
  const receipts = items.some(hasReceipt) ? await open().catch(failed) : undefined;
  return async (item) => {
    if (!receipts || !hasReceipt(item)) return;
    const { uid, after } = item;
    const update = after === null ? receipts.forgetAsset(uid) : receipts.moveAsset(uid, assets.folderIn(after) ?? '');
    await update.catch(failed);
  };
}

/** Returns an error of the state folder. @throws any other error */
export function stateErrorOf(thrown: unknown): CodedError {
  const error = asCodedError(thrown);
  if (error.kind !== 'state') throw thrown;
  return error;
}

const isConflict = ({ explanation }: CodedError) => explanation.code === 'changed_meanwhile';
