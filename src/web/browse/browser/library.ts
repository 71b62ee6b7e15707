import { useEffect, useRef, useState } from 'preact/hooks';
import { systemClock } from '../../../shared/clock.ts';
import { formatCount, pluralize } from '../../../shared/figures.ts';
import { backoff, pollUntil } from '../../../shared/retry.ts';
import { quoteForShell } from '../../../shared/sanitize.ts';
import { type Card, type FolderView, maxMoved, type Query, type RequestBudget } from '../protocol.ts';
import { fetchFolderTree, fetchWorkspace, listeners, moveAssets, setup, undoMove, updateCard } from './api.ts';
import type { Dragged, DropContents } from './drops.ts';
import { useDelay, useRedraw, whenVisible } from './hooks.ts';
import { type SetNotice, useNotice } from './notices.tsx';
import { PagedList } from './paged-list.ts';
import { clearSelection, selectedCount } from './selected.ts';
import { useUploads } from './uploads.ts';

/** Keeps the list, the folder tree and the uploads up to date, and the latest notice. */
export function useLibrary(query: Query) {
  const { list, lostCount } = usePagedList(query);
  const [budget, setBudget] = useState<RequestBudget>();
  const [tree, setTree] = useState<readonly FolderView[]>([]);
  const [workspace, setWorkspace] = useState<string>();
  const { setNotice, ...notices } = useNotice();
  useEffect(() => {
    if (lostCount > 0)
      setNotice(`The selection of ${pluralize(lostCount, 'asset')} is gone: it was of another list`, 'passing');
  }, [list]);
  const latest = useRef(list);
  latest.current = list;
  /** True if the current uploads might create folders, so that the tree must be refetched. */
  const createsFolders = useRef(false);
  const loadTree = () =>
    fetchFolderTree().then(setTree, (error: Error) => setNotice(`Cannot load folders: ${error.message}`));
  const { isPaused, refreshNow } = useRefresh(list, budget, () => {
    if (createsFolders.current) void loadTree();
  });
  const uploads = useUploads({
    onUploaded: () => list.markStale(),
    onAllEnded: () => {
      refreshNow();
      createsFolders.current = false;
    },
  });
  useEffect(() => {
    listeners.onBudget = setBudget;
    // One after the other, since a browser has six connections for all tabs, and each may have to wait.
    void loadTree()
      .then(fetchWorkspace)
      .then(
        ({ name }) => {
          setWorkspace(name ?? undefined);
          latest.current.askAgain();
        },
        () => {}, // the list says what is wrong
      );
  }, []);
  const upload = (drop: DropContents, folder: string | null) => {
    const { full, skipped } = sortDrop(drop);
    if (skipped.length > 0) setNotice(`Skipped ${skipped.join('; ')}`);
    createsFolders.current ||= full.some(({ relativeDir }) => relativeDir !== '');
    uploads.add(full, folder);
  };
  const onTrashed = () => {
    setNotice('Moved to the trash', 'passing');
    void list.refresh(false);
  };
  const moves = createMoves(list, query, setNotice);
  return { list, tree, workspace, uploads, budget, isPaused, ...notices, ...moves, upload, onTrashed };
}

/** Splits a drop into files to upload, and what is skipped, in words. */
function sortDrop({ files, unreadable, leftOut }: DropContents) {
  const { full = [], empty = [] } = Object.groupBy(files, ({ file }) => (file.size > 0 ? 'full' : 'empty'));
  const skipped = [
    ...(empty.length > 0 ? [`empty files: ${empty.map(({ file }) => file.name).join(', ')}`] : []),
    ...(unreadable.length > 0 ? [`unreadable: ${unreadable.join(', ')}`] : []),
    ...(leftOut.length > 0
      ? [`${pluralize(leftOut.length, 'file')} that other programs left, such as ${leftOut[0]}`]
      : []),
  ];
  return { full, skipped };
}

function createMoves(list: PagedList, query: Query, setNotice: SetNotice) {
  const follow = async (work: ReturnType<typeof moveAssets>, done: (count: number) => string) => {
    try {
      const { change, count, problem } = await work;
      const undo = () => void follow(undoMove(change ?? ''), (n) => `Moved ${pluralize(n, 'asset')} back`);
      setNotice(
        problem ? `${done(count)}; not the others: ${problem}` : done(count),
        'lasting',
        change === null ? undefined : { label: 'Undo', run: undo },
      );
    } catch (error) {
      setNotice(`Not moved: ${(error as Error).message}`);
    }
    void list.refresh(false);
  };
  /** Moves what is dragged, or says which command moves so many. */
  const moveDragged = ({ uids, count }: Dragged, folder: FolderView | null) => {
    const path = folder?.path ?? '/';
    if (count <= maxMoved) {
      const only = uids.length === 1 && list.at(list.indexOf(uids[0] ?? ''))?.name;
      setNotice(`Moving to ${path} …`);
      return void follow(moveAssets(uids, folder?.uid ?? null), (moved) => {
        if (!only) clearSelection(); // they may be in the list no longer
        return `Moved ${only || pluralize(moved, 'asset')} to ${path}`;
      });
    }
    const command = `${setup.program} mv --pick ${quoteForShell(path)}`;
    const copy = () => void navigator.clipboard.writeText(command);
    const number = Number.isFinite(count) ? `${formatCount(count)} assets are` : 'That is';
    const words = `${number} more than a drag moves (${maxMoved}). In a terminal: ${command}`;
    setNotice(words, 'lasting', { label: 'Copy', run: copy });
  };
  /** @throws PageError if the asset was not moved */
  const move = async ({ uid, folder: shown }: Card, folder: FolderView | null) => {
    list.replace(await updateCard(uid, { folder: folder?.uid ?? null, from: { folder: shown } }));
    setNotice(`Moved to ${folder?.path ?? 'the top level'}`, 'passing');
    if (query.parent) void list.refresh(false);
  };
  return { move, moveDragged };
}

/** Delay of the first request of another view, in case it changes again. Typing has waited already. */
const viewDebounceMs = 150;

type OpenList = {
  list: PagedList;
  key: string;
  search: string | undefined;
  /** Number of assets that were selected in the previous list. */
  lostCount: number;
};

/** Returns the list for a query, and closes the list of the previous query. */
function usePagedList(query: Query): OpenList {
  const redraw = useRedraw();
  const key = JSON.stringify(query);
  const latest = useRef<OpenList | undefined>(undefined);
  const { current } = latest;
  if (current?.key === key) return current;
  current?.list.close();
  const { search } = query;
  const list = new PagedList(query, redraw, current && current.search === search ? viewDebounceMs : 0);
  const lostCount = selectedCount.peek() ?? 0;
  clearSelection(); // it was of the previous list
  latest.current = { list, key, search, lostCount };
  return latest.current;
}

const pollDelays = { minMs: 2_000, maxMs: 20_000 };
/** Minimum remaining share of the rate limit for polling, which keeps the rest for the user's requests. */
const minBudgetShare = 0.2;

/**
 * Polls the visible pages with backoff as long as changes are expected. Pauses in hidden tabs.
 * @param onPolled called after each poll, and by `refreshNow`
 * @returns `isPaused`, which is true if a low rate limit pauses polling, and a function that refreshes immediately
 */
function useRefresh(
  list: PagedList,
  budget: RequestBudget | undefined,
  onPolled: () => void,
): { isPaused: boolean; refreshNow(): void } {
  const isSpent = useIsSpent(budget);
  const [round, setRound] = useState(0);
  /** Number of polls, and the time of the last one. The count restarts after a pause. */
  const { current: polls } = useRef({ count: 0, at: 0 });
  const { expectsChanges } = list;
  useEffect(() => {
    if (!expectsChanges || isSpent) return;
    if (performance.now() - polls.at > 2 * pollDelays.maxMs) polls.count = 0;
    const stop = new AbortController();
    const intervalMs = () => backoff(polls.count, pollDelays);
    const poll = async () => {
      await whenVisible();
      stop.signal.throwIfAborted();
      await list.refresh(true);
      onPolled();
      polls.count++;
      polls.at = performance.now();
    };
    const first = systemClock.sleep(intervalMs(), stop.signal);
    first.then(() => pollUntil(stop.signal, poll, { intervalMs })).catch(() => {}); // ends by the signal
    return () => stop.abort();
  }, [list, expectsChanges, isSpent, round]);
  const refreshNow = () => {
    onPolled();
    polls.count = 0;
    // The service's list might lag behind, so a later poll has to find the change.
    void list.refresh(false).then(() => list.markStale());
    setRound((count) => count + 1);
  };
  return { isPaused: expectsChanges && isSpent, refreshNow };
}

/** Returns true if most of the rate limit is spent, until it resets. */
function useIsSpent(budget: RequestBudget | undefined): boolean {
  const redraw = useRedraw();
  const resetAt = budget && budget.left < budget.limit * minBudgetShare ? budget.resetAt : 0;
  const leftMs = resetAt - Date.now();
  useDelay(leftMs > 0 ? leftMs + 100 : undefined, redraw, [resetAt]);
  return leftMs > 0;
}
