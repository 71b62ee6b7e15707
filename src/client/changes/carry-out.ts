import { isDeepStrictEqual } from 'node:util';
import type { Collection } from '../../contract/paths.ts';
import { normalizeUid } from '../../contract/uid.ts';
import type { Clock } from '../../shared/clock.ts';
import type { JsonObject } from '../../shared/json-values.ts';
import type { Api } from '../api/api.ts';
import type { FolderChange } from '../api/folders.ts';
import { writesOf } from '../api/writes.ts';
import { asCodedError, CodedError, endsTheRun } from '../errors.ts';
import { isListRefused, lookInto } from '../library/folder-reader.ts';
import type { WorkspaceFolderTree } from '../library/folder-tree.ts';
import type { Library } from '../library/library.ts';
import { runEach } from '../run-each.ts';
import type { Receipts } from '../upload/store/receipts.ts';
import type { ChangeLog, StoredChange } from './change-history.ts';
import type { ChangeNotice, ItemState, Sent, StoredItem } from './change-item.ts';
import { assertFolderChange } from './folder-rules.ts';
import { changeFolder } from './folder-writes.ts';
import { patchOf } from './items.ts';
import { editLock, lookAndWrite } from './look-and-write.ts';
import { type AcceptedContent, assertDeletable } from './places.ts';
import { asPlanned, type FolderAccess, readUnchanged, readUnwritten, type Unwritten } from './present-values.ts';
import { readBack, type WriteResult, type Written } from './read-back.ts';
import { createReceiptUpdate, stateErrorOf } from './receipt-update.ts';
import { effectOf, isEmptyEdit, joinEdits } from './tag-change.ts';

export type WriteOptions = {
  collection?: Collection | undefined;
  /**
   * Returns how long ago the items were read, in ms. Items that were read more than two seconds ago, before a question
   * for example, are read again, and written only where the library still has their old values. So are items that had to
   * wait, and items with tags, since all tags of an asset are written at once.
   */
  ageMs: () => number;
  /** Content with which folders are deleted. Default: none, so that the folder is looked into. */
  acceptsContent?: AcceptedContent | undefined;
  /** True if an asset that does not exist any more counts as deleted. */
  acceptsMissing?: boolean | undefined;
};

/** Functions that a caller adds to the write of each item. */
export type ChangeHooks = {
  /** Throws if an item must not be written any more. Called right before each attempt to write it. @returns `skip` if it is done */
  beforeItem?(item: StoredItem): Promise<'skip' | undefined>;
  /** Called for each item that was written, before its outcome is recorded. */
  afterItem?(item: StoredItem): Promise<unknown>;
  /** Converts the error of an item to one in the caller's words. It may end the run. */
  toError?(error: CodedError, item: StoredItem): CodedError;
};

export type CarryOutDeps = {
  library: Library;
  clock: Clock;
  /** Returns the receipts; undefined if nothing was ever uploaded from here. */
  receipts(): Promise<Receipts | undefined>;
  folders: FolderAccess;
  onNotice(notice: ChangeNotice): void;
};

/** Age from which values that were read are read again. */
export const maxAgeMs = 2_000;

/**
 * Number of items that are marked at once, durably, before the first of them is written. A process that is killed leaves
 * as many items whose outcome is unknown.
 */
export const markedTogether = 16;

/**
 * Carries out items of a change, several at a time, with all that belongs to a write, and records the outcome of each.
 * Before an item is written, the history says that it may have been (`unknown`), until its outcome is recorded.
 *
 * @param saved the first `markedCount` items are marked already
 * @returns one result per item
 * @throws CodedError `locked` (exit 6) if another process carries it out
 */
export async function carryOut(
  deps: CarryOutDeps,
  store: ChangeLog,
  { change, items, markedCount = 0 }: { change: StoredChange; items: readonly StoredItem[]; markedCount?: number },
  options: WriteOptions,
  hooks: ChangeHooks = {},
): Promise<WriteResult[]> {
  const { library, onNotice } = deps;
  const { ageMs } = options;
  const updateReceipts = await createReceiptUpdate(deps, items);
  const checkTarget = createTargetCheck(deps, change, options);
  let isReported = false;
  const notRecorded = (thrown: unknown) => {
    if (!isReported) onNotice({ kind: 'results_not_recorded', error: stateErrorOf(thrown) });
    isReported = true;
  };
  const record = (item: StoredItem, state: ItemState, error?: CodedError) =>
    store.setItemState(change.id, [item], state, error?.message).catch(notRecorded);
  const marks = createMarks(store, change, items, markedCount);
  const isStale = (item: StoredItem) => ageMs() > maxAgeMs || !isEmptyEdit(item.tags);
  const run: ItemRun = { deps, store, change, options, hooks, marks, updateReceipts, checkTarget, isStale, record };
  // Folders are changed one after the other, since one may be inside another.
  const hasFolders = items.some(({ kind }) => kind === 'folder');
  const release = await store.lock(change.id);
  try {
    await store.setState(change.id, 'running');
    const lanes = hasFolders ? 1 : undefined;
    const written = await runEach(items, (item) => carryOutItem(run, item), {
      signal: library.signal,
      lanes,
    });
    if (hasFolders) await library.foldersChanged(0, await deps.folders.remembered());
    await marks.removeUnused().catch(notRecorded);
    // Items after an error that ends the run were not attempted, and have that error, too.
    if (!written.some(({ error }) => error && endsTheRun(error)))
      await store.setState(change.id, 'finished').catch(notRecorded);
    const results = await readBack({ ...deps, collection: options.collection }, written);
    for (const [at, { item, error }] of results.entries())
      if (error && !written[at]?.error) {
        await updateReceipts(item, 'not done');
        await record(item, item.kind === 'folder' ? 'failed' : 'unknown', error);
      }
    const fields = [...new Set(results.flatMap(({ value }) => value?.unverifiable ?? []))];
    if (fields.length > 0) onNotice({ kind: 'unverifiable', fields });
    return results;
  } finally {
    await release();
  }
}

type ItemRun = {
  deps: CarryOutDeps;
  store: ChangeLog;
  change: StoredChange;
  options: WriteOptions;
  hooks: ChangeHooks;
  marks: ReturnType<typeof createMarks>;
  updateReceipts: Awaited<ReturnType<typeof createReceiptUpdate>>;
  checkTarget: ReturnType<typeof createTargetCheck>;
  /** Returns true if the values that were read of an item are to be read again before it is written. */
  isStale(item: StoredItem): boolean;
  record(item: StoredItem, state: ItemState, error?: CodedError): Promise<void>;
};

/** Writes one item with all that belongs to it, and records its outcome. @throws CodedError as the hooks word it */
async function carryOutItem(run: ItemRun, item: StoredItem): Promise<Written> {
  const { deps, store, change, options, hooks, marks, updateReceipts, checkTarget, record } = run;
  const attempt: Attempt = { isRead: false, isSent: false };
  const send = async (sent: Sent | null) => {
    attempt.isRead = true;
    if (item.after === null) await updateReceipts(item, 'sent');
    if (sent) await store.setSent(change.id, item, sent);
    attempt.isSent = true;
  };
  const write = async (api: Api, mustLook: boolean): Promise<Written> => {
    attempt.isSent = false;
    if ((await hooks.beforeItem?.(item)) === 'skip') return {};
    const isStale = mustLook || run.isStale(item);
    return writeUnchanged(deps, options, item, { api, mustLook, isStale, send, checkTarget });
  };
  try {
    await marks.set(item);
    const written = await lookAndWrite(deps.library, editLock(item.uid), write);
    await updateReceipts(item, 'done');
    await hooks.afterItem?.(item);
    await record(item, 'done');
    return written;
  } catch (thrown) {
    const failure = asCodedError(thrown);
    const error = hooks.toError?.(failure, item) ?? failure;
    const state = stateAfter(failure, attempt, item);
    const isGone = failure.kind === 'notFound';
    if (item.after === null) await updateReceipts(item, isGone || state === 'unknown' ? 'gone' : 'kept');
    else if (isGone) await updateReceipts(item, 'gone');
    // An error that ends the run is not the error of this item, which a resume retries.
    if (!endsTheRun(error)) await record(item, state, error);
    else if (state !== 'unknown') await record(item, 'pending');
    throw error;
  }
}

/** How far an attempt to write an item came: the library was read, and the request was sent. */
type Attempt = { isRead: boolean; isSent: boolean };

/** Returns the state of an item after an error. Only the refusal of a write proves that it changed nothing. */
function stateAfter(error: CodedError, { isRead, isSent }: Attempt, { state, after }: StoredItem): ItemState {
  if (isConflict(error) && (after === null || state !== 'unknown' || isRead)) return 'conflict';
  // What a killed process may have written stays unknown until the library was read. An asset that is gone does not tell.
  if (state === 'unknown' && !isRead) return 'unknown';
  const { status = 0, wasAccepted = false } = error.explanation;
  const isRefused = status >= 400 && status < 500 && status !== 408 && !wasAccepted;
  return (isSent && !isRefused) || state === 'unknown' ? 'unknown' : 'failed';
}

/** Marks items, many at once, before they are written. */
function createMarks(store: ChangeLog, change: StoredChange, items: readonly StoredItem[], markedCount: number) {
  const positions = new Map(items.map((item, at) => [item, at]));
  const begun = new Set<StoredItem>();
  let marked = markedCount;
  let saved: Promise<unknown> = Promise.resolve();
  return {
    /** @throws CodedError `state_…` (exit 14), which ends the run: what the history does not know is not written */
    async set(item: StoredItem): Promise<void> {
      while ((positions.get(item) ?? 0) >= marked) {
        const next = items.slice(marked, marked + markedTogether);
        marked += next.length;
        saved = saved.then(() => store.setItemState(change.id, next, 'unknown', null, true));
      }
      await saved.catch((thrown) => {
        throw stateErrorOf(thrown).with({ endsRun: true });
      });
      begun.add(item);
    },
    /** Removes the marks of items that were not begun. */
    async removeUnused(): Promise<void> {
      const isUnused = (item: StoredItem) => !begun.has(item) && item.state === 'pending';
      const unused = items.slice(0, marked).filter(isUnused);
      if (unused.length > 0) await store.setItemState(change.id, unused, 'pending');
    },
  };
}

/** Returns the conflict if the folder to move an item to is not what it was when the change was planned. */
type TargetCheck = (
  item: StoredItem,
  toWrite: JsonObject,
  { api, mustLook }: Pick<WriteSteps, 'api' | 'mustLook'>,
) => Promise<CodedError | undefined>;

/**
 * Returns a function that checks that the folder to which an asset is moved is still at the path that it had when the
 * change was planned, if that is long ago, or that it exists, if it had none. Fetches the folders once, and after each
 * wait.
 */
function createTargetCheck(
  { folders }: CarryOutDeps,
  { folderPaths }: StoredChange,
  { ageMs }: WriteOptions,
): TargetCheck {
  let tree: Promise<WorkspaceFolderTree | undefined> | undefined;
  return async ({ kind, uid, name }, toWrite, { api, mustLook }) => {
    const target = kind === 'asset' ? api.assets.folderIn(toWrite) : undefined;
    if (!target) return undefined;
    const planned = folderPaths[normalizeUid(target)];
    if (planned !== undefined && !tree && !mustLook && ageMs() <= maxAgeMs) return undefined;
    if (mustLook) tree = undefined;
    tree ??= folders.fetchTree(api).catch((thrown) => {
      if (!isListRefused(thrown)) throw thrown;
      return undefined; // the service decides
    });
    const latest = await tree;
    const now = latest?.find(target)?.path;
    if (!latest || (now !== undefined && now === (planned ?? now))) return undefined;
    return new CodedError(`${name ?? uid} was not moved`, {
      code: 'changed_meanwhile',
      reason: now === undefined ? `folder ${planned ?? target} was deleted` : `folder ${planned} is now ${now}`,
    });
  };
}

type WriteSteps = {
  /** Sends the last look and the write. */
  api: Api;
  /** True if something else happened since the item was read: a wait, or a write of another process. */
  mustLook: boolean;
  /** True to read the item again, and to write only what others have not changed since. */
  isStale: boolean;
  /** Called right before the request, with what is sent if that is not all. */
  send(sent: Sent | null): Promise<void>;
  checkTarget: TargetCheck;
};

async function writeUnchanged(
  deps: CarryOutDeps,
  { collection, acceptsMissing = false, acceptsContent }: WriteOptions,
  item: StoredItem,
  { api, mustLook, isStale, send, checkTarget }: WriteSteps,
): Promise<Written> {
  if (mustLook) deps.folders.remember(undefined);
  // An item that was not read has nothing to be compared with, unless it may be written already.
  const isRead = isStale && (item.before !== null || item.state === 'unknown');
  if (item.after === null) {
    const present = isRead ? await readUnchanged(api, deps.folders, item) : undefined;
    if (present && !present.asset && !present.folder) return { isReadBack: true };
    if (item.kind === 'folder' && acceptsContent !== 'any') {
      const content = present?.folder?.children.length ? 'assets' : await lookInto(api, item.uid);
      assertDeletable(item.name ?? item.uid, content, acceptsContent);
    }
    await send(null);
    return deleteItem(api, deps.folders, item, collection).catch((error): Written => {
      if (!acceptsMissing || asCodedError(error).kind !== 'notFound') throw error;
      return { isReadBack: true };
    });
  }
  const isNothing = ({ toWrite, tags }: Unwritten) =>
    Object.keys(toWrite).length === 0 && isEmptyEdit(item.tags && effectOf(item.tags, tags));
  const planned = asPlanned(api, item);
  const unwritten = isRead || isNothing(planned) ? await readUnwritten(api, deps.folders, item) : planned;
  const moved = await checkTarget(item, unwritten.toWrite, { api, mustLook });
  if (moved) {
    const isKept = ([field, value]: [string, unknown]) => api.assets.folderIn({ [field]: value }) === undefined;
    unwritten.toWrite = Object.fromEntries(Object.entries(unwritten.toWrite).filter(isKept));
    unwritten.conflict ??= moved;
  }
  const { toWrite, tags, conflict, present } = unwritten;
  await send(sentOf(item, unwritten, mustLook));
  const written = isNothing(unwritten)
    ? { asset: present }
    : await writeItem(api, deps.folders, item, { toWrite, tags }, collection);
  if (conflict) throw conflict;
  return written;
}

/** Returns what is sent of an item, or may have been in an earlier attempt; null if that is certain to be what was planned. */
function sentOf(item: StoredItem, { toWrite, done, tags, conflict }: Unwritten, isAgain: boolean): Sent | null {
  const { sent: earlier, state, tags: edit = null } = item;
  const planned: Sent = { after: item.after ?? {}, tags: edit };
  const now: Sent = { after: toWrite, tags: edit && effectOf(edit, tags) };
  const sent = state === 'unknown' ? addToSent(earlier ?? planned, now, done) : now;
  return !conflict && !earlier && !isAgain && isDeepStrictEqual(sent, planned) ? null : sent;
}

/** Adds what is sent now to what an earlier attempt with an unknown outcome may have written, as far as it is there. */
function addToSent(earlier: Sent, now: Sent, done: readonly string[]): Sent {
  const there = Object.entries(earlier.after).filter(([field]) => done.includes(field));
  return {
    after: { ...Object.fromEntries(there), ...now.after },
    tags: now.tags && joinEdits(earlier.tags, now.tags),
  };
}

/** Sends the request that sets fields and tags of an item, and verifies the result. */
async function writeItem(
  api: Api,
  folders: FolderAccess,
  { kind, uid, name, tags }: StoredItem,
  { toWrite, tags: presentTags }: Pick<Unwritten, 'toWrite' | 'tags'>,
  collection: Collection = 'assets',
): Promise<Written> {
  if (kind === 'asset') {
    const { [collection]: assets } = writesOf(api);
    return assets.update(uid, patchOf(assets, { after: toWrite, tags }, presentTags));
  }
  const workspace = await folders.workspace();
  const latest = await folders.latestTree();
  const present = latest.find(uid);
  const { parent } = toWrite as FolderChange;
  if (typeof parent === 'string' && !latest.find(parent))
    throw new CodedError(`${name ?? uid} was not moved`, {
      code: 'changed_meanwhile',
      reason: `folder ${parent} was deleted`,
    });
  if (present) assertFolderChange(latest, present, toWrite as FolderChange);
  folders.remember(undefined);
  const { node, tree } = await changeFolder(api, workspace, uid, latest, toWrite as FolderChange);
  folders.remember(tree);
  return { folder: node };
}

async function deleteItem(
  api: Api,
  folders: FolderAccess,
  { kind, uid }: StoredItem,
  collection: Collection = 'assets',
): Promise<Written> {
  const { [collection]: assets, folders: folderWrites } = writesOf(api);
  folders.remember(undefined);
  if (kind === 'asset') await assets.delete(uid);
  else await folderWrites.delete(await folders.workspace(), uid);
  return {};
}

const isConflict = ({ explanation }: CodedError) => explanation.code === 'changed_meanwhile';
