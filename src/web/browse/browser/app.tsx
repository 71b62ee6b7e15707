import { useEffect, useRef, useState } from 'preact/hooks';
import type { FolderView, Query, RequestBudget } from '../protocol.ts';
import { fetchFolderTree, listeners, setup, updateCard } from './api.ts';
import { FileButton } from './controls.tsx';
import { Detail } from './detail.tsx';
import { type DropContents, readDrop, useDrops } from './drops.ts';
import { Filters, type Panel } from './filters.tsx';
import { Folders, flattenTree } from './folders.tsx';
import { Grid } from './grid.tsx';
import { useRedraw, useWindowEvent } from './hooks.ts';
import { PagedList } from './paged-list.ts';
import { useRefresh } from './refresh.ts';
import { StatusBar } from './status-bar.tsx';
import { ServerDownAlert, UploadTray } from './upload-tray.tsx';
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
  const uploadHere = (drop: DropContents) => upload(drop, folder);
  useDrops(setDraggingOver, uploadHere);
  useShortcuts(() => setOpenPanel(undefined));
  useTitle(asset && list.at(list.indexOf(asset))?.name);

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
        <h1>{setup.service}</h1>
        <FileButton onFiles={uploadHere} />
        <Filters query={query} openPanel={openPanel} onChange={setQuery} onOpen={togglePanel} />
      </header>
      {uploads.isServerDown && <ServerDownAlert states={uploads.states} />}
      <div class="middle">
        <Folders tree={tree} query={query} isOpen={openPanel === 'folders'} {...folderEvents} />
        <main>
          <h2 class="hidden">Assets</h2>
          <Grid list={list} query={query} onOpen={open} focusIndex={asset ? undefined : closedIndex} />
          {isDraggingOver && <DropTarget folder={flattenTree(tree).find(({ uid }) => uid === folder)} />}
        </main>
      </div>
      <StatusBar list={list} serviceWait={uploads.serviceWait} {...library} />
      <UploadTray uploads={uploads} onOpen={open} />
      {asset && (
        <Detail key={asset} {...{ list, tree, onTrashed: library.onTrashed }} uid={asset} onOpen={open} onMove={move} />
      )}
    </div>
  );
}

const DropTarget = ({ folder }: { folder: FolderView | undefined }) => (
  <div class="drop">Drop to upload{folder ? ` into ${folder.path}` : ', or onto a folder'}</div>
);

/** Keeps the list, the folder tree and the uploads up to date, and the latest message for the status bar. */
function useLibrary(query: Query) {
  const list = usePagedList(query);
  const [budget, setBudget] = useState<RequestBudget>();
  const [tree, setTree] = useState<readonly FolderView[]>([]);
  const [notice, setNotice] = useState('');
  /** True if the current uploads might create folders, so that the tree must be refetched. */
  const createsFolders = useRef(false);
  const loadTree = () => fetchFolderTree().then(setTree, (error: Error) => setNotice(`No folders: ${error.message}`));
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
      ...(empty.length > 0 ? [`empty: ${empty.map(({ file }) => file.name).join(', ')}`] : []),
      ...(unreadable.length > 0 ? [`cannot be read: ${unreadable.join(', ')}`] : []),
    ];
    if (skipped.length > 0) setNotice(`Left out, ${skipped.join('; ')}`);
    createsFolders.current ||= full.some(({ relativeDir }) => relativeDir !== '');
    uploads.add(full, folder);
  };
  /**
   * Moves an asset to a folder.
   * @throws PageError if the asset was not moved
   */
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

/** Debounce delay of filter changes. */
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
  latest.current = { key, list };
  return list;
}

/** Handles keys that are pressed outside form fields: / goes to the search, Escape closes a panel. */
function useShortcuts(closePanel: () => void): void {
  useWindowEvent('keydown', (event) => {
    const isInField = (event.target as HTMLElement).matches('input, textarea, select');
    if (isInField || event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === 'Escape') closePanel();
    if (event.key !== '/') return;
    event.preventDefault();
    document.querySelector<HTMLInputElement>('input[type=search]')?.focus();
  });
}

function useTitle(name: string | null | undefined): void {
  useEffect(() => {
    document.title = `${name ? `${name} · ` : ''}${setup.service}`;
  });
}
