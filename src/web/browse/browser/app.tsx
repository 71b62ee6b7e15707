import { useEffect, useRef, useState } from 'preact/hooks';
import { formatCount, formatTimeOfDay } from '../../../contract/figures.ts';
import type { FolderView, Query, RequestBudget } from '../protocol.ts';
import { fetchFolderTree, listeners, setup, updateCard } from './api.ts';
import { Button, FileButton } from './controls.tsx';
import { Detail } from './detail.tsx';
import { type DropContents, readDrop, useDrops } from './drops.ts';
import { Filters, type Panel } from './filters.tsx';
import { Folders, flattenTree } from './folders.tsx';
import { Grid } from './grid.tsx';
import { useRedraw, useWindowEvent } from './hooks.ts';
import { PagedList } from './paged-list.ts';
import { Places } from './places.tsx';
import { useRefresh } from './refresh.ts';
import { clearSelection, selectAll } from './selected.ts';
import { SelectionBar } from './selection-bar.tsx';
import { InterruptedUploads, ServerDownAlert, UploadTray } from './upload-tray.tsx';
import { useUploads } from './uploads.ts';
import { useView, withField } from './view.ts';

export function App() {
  const [{ query, asset }, navigate] = useView();
  const { list, tree, uploads, upload, move, ...library } = useLibrary(query);
  const [openPanel, setOpenPanel] = useState<Panel>();
  const [isDraggingOver, setDraggingOver] = useState(false);
  /** List index of the asset whose dialog was closed last, used to restore the focus. */
  const [closedIndex, setClosedIndex] = useState<number>();
  const folder = query.parent && query.parent !== 'root' ? query.parent : null;
  const target = isDraggingOver ? flattenTree(tree).find(({ uid }) => uid === folder) : undefined;
  const uploadHere = (drop: DropContents) => upload(drop, folder);
  useDrops(setDraggingOver, uploadHere);
  useShortcuts(() => setOpenPanel(undefined));
  useEffect(() => {
    const name = asset && list.at(list.indexOf(asset))?.name;
    document.title = `${name ? `${name} · ` : ''}${setup.service}`;
  });

  const setQuery = (next: Query, how?: 'push' | 'replace') => navigate({ query: next, asset }, how);
  const selectFolder = (parent: string | undefined) => {
    setOpenPanel(undefined);
    setQuery(withField(query, 'parent', parent));
  };
  const dropOnFolder = (transfer: DataTransfer, target: string | null) => {
    setDraggingOver(false);
    void readDrop(transfer).then((drop) => upload(drop, target));
  };
  const open = (uid: string | null) => {
    if (!uid && asset) setClosedIndex(list.indexOf(asset));
    // Replaces the history entry, so that Back does not reopen a closed dialog.
    navigate({ query, asset: uid }, asset ? 'replace' : 'push');
  };
  const togglePanel = (panel: Panel) => setOpenPanel(openPanel === panel ? undefined : panel);
  const folderEvents = { onSelect: selectFolder, onMove: library.moveDragged, onFiles: dropOnFolder };
  return (
    <div class="app">
      <header>
        <h1>
          {setup.service}
          <small>{[setup.profile, setup.workspace ?? 'all workspaces'].filter(Boolean).join(' · ')}</small>
        </h1>
        {!setup.pick && <FileButton onFiles={uploadHere} />}
        <Filters query={query} openPanel={openPanel} onChange={setQuery} onOpen={togglePanel} />
      </header>
      {uploads.isServerDown && <ServerDownAlert states={uploads.states} />}
      {setup.interruptedCount > 0 && !uploads.isServerDown && <InterruptedUploads />}
      <div class="middle">
        <Folders tree={tree} query={query} isOpen={openPanel === 'folders'} {...folderEvents} />
        <main>
          <h2 class="hidden">Assets</h2>
          <Places tree={tree} query={query} onSelect={selectFolder} onChange={setQuery} />
          <Grid
            list={list}
            query={query}
            onOpen={open}
            focusIndex={asset ? undefined : closedIndex}
            wait={uploads.serviceWait}
          />
          {isDraggingOver && (
            <div class="drop">
              Drop files to upload{target ? ` into ${target.path}` : ', or drop them onto a folder'}
            </div>
          )}
        </main>
      </div>
      <SelectionBar query={query} />
      <StatusBar list={list} serviceWait={uploads.serviceWait} {...library} />
      <UploadTray uploads={uploads} onOpen={open} />
      {asset && (
        <Detail key={asset} {...{ list, tree, onTrashed: library.onTrashed }} uid={asset} onOpen={open} onMove={move} />
      )}
    </div>
  );
}

/** Keeps the list, the folder tree and the uploads up to date, and the latest message for the status bar. */
function useLibrary(query: Query) {
  const list = usePagedList(query);
  const [budget, setBudget] = useState<RequestBudget>();
  const [tree, setTree] = useState<readonly FolderView[]>([]);
  const [notice, setNotice] = useState('');
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
    void loadTree();
  }, []);

  const upload = ({ files, unreadable }: DropContents, folder: string | null) => {
    const { full = [], empty = [] } = Object.groupBy(files, ({ file }) => (file.size > 0 ? 'full' : 'empty'));
    const skipped = [
      ...(empty.length > 0 ? [`empty files: ${empty.map(({ file }) => file.name).join(', ')}`] : []),
      ...(unreadable.length > 0 ? [`unreadable: ${unreadable.join(', ')}`] : []),
    ];
    if (skipped.length > 0) setNotice(`Skipped ${skipped.join('; ')}`);
    createsFolders.current ||= full.some(({ relativeDir }) => relativeDir !== '');
    uploads.add(full, folder);
  };
  /** @throws PageError if the asset was not moved */
  const move = async (uid: string, folder: FolderView | null) => {
    list.replace(await updateCard(uid, { folder: folder?.uid ?? null }));
    setNotice(`Moved to ${folder?.path ?? 'the top level'}`);
    if (query.parent) void list.refresh(false);
  };
  const moveDragged = (uid: string, folder: FolderView | null) =>
    void move(uid, folder).catch((error: Error) => setNotice(`Not moved: ${error.message}`));
  const onTrashed = () => {
    setNotice('Moved to the trash');
    void list.refresh(false);
  };
  return { list, tree, uploads, budget, isPaused, notice, upload, move, moveDragged, onTrashed };
}

const filterDebounceMs = 150;

/** Returns the list for a query, and closes the list of the previous query. */
function usePagedList(query: Query): PagedList {
  const redraw = useRedraw();
  const key = JSON.stringify(query);
  const latest = useRef<{ key: string; list: PagedList } | undefined>(undefined);
  const { current } = latest;
  if (current?.key === key) return current.list;
  current?.list.close();
  const list = new PagedList(query, redraw, current ? filterDebounceMs : 0);
  clearSelection(); // it was of the previous list
  latest.current = { key, list };
  return list;
}

/** Handles keys that are pressed outside form fields: / goes to the search, Ctrl-A selects all, Escape nothing. */
function useShortcuts(closePanel: () => void): void {
  useWindowEvent('keydown', (event) => {
    const isInField = (event.target as HTMLElement).matches('input, textarea, select');
    if (isInField || event.altKey || document.querySelector('dialog[open]')) return;
    const isModified = event.ctrlKey || event.metaKey;
    // Taken on the window, since the text of the page would be selected otherwise.
    if (isModified ? event.key === 'a' : event.key === '/') event.preventDefault();
    if (isModified && event.key === 'a') selectAll();
    if (isModified) return;
    if (event.key === 'Escape') {
      closePanel();
      clearSelection();
    }
    if (event.key === '/') document.querySelector<HTMLInputElement>('input[type=search]')?.focus();
  });
}

type StatusBarProps = {
  list: PagedList;
  budget: RequestBudget | undefined;
  serviceWait: { why: string; until: number } | undefined;
  isPaused: boolean;
  notice: string;
};

function StatusBar({ list, budget, serviceWait, isPaused, notice }: StatusBarProps) {
  const { length, problem } = list;
  return (
    <footer>
      <span role="status">{lengthText(list)}</span>
      {budget && <span>{budgetText(budget)}</span>}
      {isPaused && <span>auto-refresh paused to save requests</span>}
      {serviceWait && (
        <span class="waiting">{`${serviceWait.why}: waiting until ${formatTimeOfDay(serviceWait.until)}`}</span>
      )}
      {problem && length !== undefined && (
        <span role="alert" class="problem">
          {[problem.message, problem.hint].filter(Boolean).join('; ')}{' '}
          <Button text="Try again" onClick={() => list.retry()} />
        </span>
      )}
      <span role="status">{notice}</span>
    </footer>
  );
}

function lengthText({ length, hasExactLength, problem }: PagedList): string {
  if (length === undefined) return problem ? '' : 'Loading';
  return hasExactLength ? `${formatCount(length)} asset${length === 1 ? '' : 's'}` : 'number of assets unknown';
}

function budgetText({ limit, left, resetAt }: RequestBudget): string {
  if (Date.now() >= resetAt) return `${formatCount(limit)} requests remaining`;
  const [some, all] = [formatCount(Math.max(0, left)), formatCount(limit)];
  return `${some} of ${all} requests remaining, resets at ${formatTimeOfDay(resetAt)}`;
}
