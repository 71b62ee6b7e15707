import { carryOut, type Written, writeItem } from '../../client/bulk/carry-out.ts';
import type { BulkItem, BulkRun, RunPlan, RunStore, StoredItem } from '../../client/bulk/run-store.ts';
import { createCheckedWriter, type FolderAccess } from '../../client/bulk/undo.ts';
import { asMediactlError, endsTheRun } from '../../client/errors.ts';
import type { ItemResult } from '../../client/run-each.ts';
import { formatCount } from '../../contract/figures.ts';
import type { Collection } from '../../contract/paths.ts';
import { escapeControls } from '../../contract/sanitize.ts';
import { isUid } from '../../contract/uid.ts';
import type { Context } from '../context.ts';
import { createFolderLookup } from './folder-lookup.ts';
import { resolveWorkspaceUid } from './workspaces.ts';

/** A change of the library, which the history records. */
export type LibraryChange = Pick<RunPlan, 'command' | 'summary' | 'undoOf' | 'source'> & {
  items: readonly BulkItem[];
  /** Workspace of the folders in it. */
  workspace?: string | undefined;
};

/** Saves a change in the history, then carries it out. @returns one result per item */
export async function runChange<T>(
  context: Context,
  change: LibraryChange,
  write: (item: StoredItem) => Promise<T>,
): Promise<ItemResult<StoredItem, T>[]> {
  const [{ baseUrl, profile, workspace }, items] = [
    await context.account(),
    await addLocalPaths(context, change.items),
  ];
  const uid = workspace && isUid(workspace) ? workspace : null;
  const place = { service: baseUrl.origin, workspace: uid, profile: profile ?? null };
  const plan = { ...place, ...change, requestCount: items.length };
  const { store, run } = await createRun(context, plan, items);
  return carryOutRun(context, store, run, write);
}

type CreatedRun = { store: RunStore; run: { run: BulkRun; items: StoredItem[] } };

/** Saves a run. If the history cannot be written, warns that the change cannot be undone. */
async function createRun(context: Context, plan: RunPlan, items: readonly BulkItem[]): Promise<CreatedRun> {
  if (context.settings.history)
    try {
      const store = await context.runStore();
      return { store, run: await store.create(plan, items) };
    } catch (thrown) {
      warnOfHistory(context, thrown, 'this change cannot be undone');
    }
  const store = await context.runStore({ isPersistent: false });
  return { store, run: await store.create(plan, items) };
}

/** Warns that the history cannot be written. @throws any other error */
function warnOfHistory({ terminal }: Context, thrown: unknown, consequence: string): void {
  const { kind, message, explanation } = asMediactlError(thrown);
  if (kind !== 'state') throw thrown;
  terminal.warn(`the history cannot be written (${explanation.reason ?? message}): ${consequence}`);
}

/** Carries out the pending items of a run, and adds a note on how to continue or undo it. */
export async function carryOutRun<T>(
  context: Context,
  store: RunStore,
  { run, items }: CreatedRun['run'],
  write: (item: StoredItem) => Promise<T>,
): Promise<ItemResult<StoredItem, T>[]> {
  const updateReceipts = await createReceiptUpdate(context, items);
  const writeAndRecord = async (item: StoredItem) => {
    const written = await write(item);
    await updateReceipts(item);
    return written;
  };
  let hasNoError = true;
  const onRecordError = (error: unknown) => {
    if (hasNoError) warnOfHistory(context, error, 'the results of the remaining items are not recorded');
    hasNoError = false;
  };
  // Folders are changed one after the other, since one may be inside another.
  const hasFolders = items.some(({ kind }) => kind === 'folder');
  const options = { signal: context.signal, lanes: hasFolders ? 1 : undefined, onRecordError };
  const results = await carryOut(store, run, items, writeAndRecord, options);
  if (hasFolders) await (await context.library()).foldersChanged();
  const unverifiable = new Set(results.flatMap(({ value }) => (value as Written | undefined)?.unverifiable ?? []));
  if (unverifiable.size > 0)
    context.terminal.warn(
      `cannot verify the change: the service does not show ${[...unverifiable].map(escapeControls).join(', ')}`,
    );
  const count = results.filter(({ error }) => !error).length;
  const isStopped = results.some(({ error }) => error && endsTheRun(error));
  if (!store.isPersistent || items.length < 2) return results;
  const next = run.source ? 'run the same command again' : `mediactl history ${run.id} --resume`;
  if (isStopped)
    context.closingNotes.push(
      `stopped after ${formatCount(count)} of ${formatCount(results.length)}; to continue: ${next}`,
    );
  else if (context.isHumanOutput && count > 0 && items.some(({ after }) => after !== null))
    context.closingNotes.push(`to undo it: mediactl undo ${run.id}`);
  return results;
}

/** Carries out a change of one item, and returns what `write` returns. @throws its error */
export async function runSingleChange<T>(
  context: Context,
  { item, ...change }: Omit<LibraryChange, 'items'> & { item: BulkItem },
  write: (item: StoredItem) => Promise<T>,
): Promise<T> {
  const [outcome] = await runChange(context, { ...change, items: [item] }, write);
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
        `${error.message} (${error.explanation.reason}): the upload history does not have this change`,
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

/** Time in ms after which items are read again before they are written, since a question may stay open for long. */
const maxAgeMs = 10_000;

/**
 * Returns a function that writes items. An item that was read more than ten seconds ago is compared with the library
 * first, as `createCheckedWriter` does.
 *
 * @param readAt time before the items were read, in ms since the epoch
 */
export async function itemWriter(
  context: Context,
  readAt: number,
  { collection = 'assets', run }: { collection?: Collection; run?: Pick<BulkRun, 'workspace'> } = {},
): Promise<(item: StoredItem) => Promise<Written>> {
  const api = await context.api();
  const folders = folderAccess(context, run);
  const checked = createCheckedWriter(api, folders);
  return (item) =>
    context.clock.now() - readAt > maxAgeMs ? checked(item) : writeItem(api, { ...folders, collection }, item);
}

/** Returns access to the folders that a run has changed, by default those of the workspace in use. */
export function folderAccess(context: Context, run?: Pick<BulkRun, 'workspace'>): FolderAccess {
  const workspace = async () => run?.workspace ?? resolveWorkspaceUid(context);
  const fetchTree = async () => (await context.api()).folders.tree(await workspace());
  return { workspace, fetchTree, findFolder: createFolderLookup(context) };
}
