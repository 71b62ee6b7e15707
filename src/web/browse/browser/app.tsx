import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { formatCount } from '../../../contract/figures.ts';
import type { FolderView, Query, RequestBudget } from '../protocol.ts';
import { fetchFolderTree, fetchWorkspace, listeners, setup, updateCard } from './api.ts';
import { FileButton, SearchField } from './controls.tsx';
import { CopyView } from './copy-view.tsx';
import { Detail } from './detail.tsx';
import { type DropContents, readDrop, useDrops } from './drops.ts';
import { Filters } from './filters.tsx';
import { findFolder } from './folders.tsx';
import { Grid } from './grid.tsx';
import { useRedraw, useWindowEvent } from './hooks.ts';
import { Icon } from './icon.tsx';
import { Notices, useNotice } from './notices.tsx';
import { PagedList } from './paged-list.ts';
import { Crumbs, Surroundings } from './places.tsx';
import { useRefresh } from './refresh.ts';
import { clearSelection, isPickEnded, selectAll } from './selected.ts';
import { SelectionBar } from './selection-bar.tsx';
import { SideBar } from './side-bar.tsx';
import { InterruptedUploads, ServerDownAlert, UploadTray } from './upload-tray.tsx';
import { useUploads } from './uploads.ts';
import { useView, withField } from './view.ts';

export function App() {
  const [{ query, asset }, navigate] = useView();
  const { list, tree, workspace, uploads, budget, upload, move, ...library } = useLibrary(query);
  /** True if a small screen shows the side bar. */
  const [isSideOpen, setSideOpen] = useState(false);
  const [isDraggingOver, setDraggingOver] = useState(false);
  /** List index of the asset whose dialog was closed last, used to restore the focus. */
  const [closedIndex, setClosedIndex] = useState<number>();
  /** Key of the search field, of which another one also drops the text whose delay has not ended. */
  const [searchKey, setSearchKey] = useState(0);
  const isOver = isPickEnded.value;
  const { parent, ordering, search } = query;
  const folder = parent && parent !== 'root' ? parent : null;
  const target = isDraggingOver ? findFolder(tree, folder) : undefined;
  const uploadHere = (drop: DropContents) => upload(drop, folder);
  useDrops(setDraggingOver, uploadHere);
  useShortcuts(() => setSideOpen(false));
  useSideFocus(isSideOpen);
  useEffect(() => {
    const name = asset && list.at(list.indexOf(asset))?.name;
    document.title = `${name ? `${name} · ` : ''}${setup.service}`;
  });

  const setQuery = (next: Query, how?: 'push' | 'replace') => navigate({ query: next, asset }, how);
  const setFilters = (filters: Query) => {
    setSideOpen(false);
    setSearchKey(searchKey + 1);
    setQuery({ ...filters, ...(ordering && { ordering }) });
  };
  const selectFolder = (next: string | undefined) => {
    setSideOpen(false);
    setQuery(withField(query, 'parent', next));
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
  const folderEvents = { onSelect: selectFolder, onMove: library.moveDragged, onFiles: dropOnFolder };
  const place = { tree, query, onSelect: selectFolder };
  return (
    <div class="app">
      <SideBar {...{ tree, query, budget, workspace }} isOpen={isSideOpen} onView={setFilters} {...folderEvents} />
      <div class="content">
        <header>
          <button
            type="button"
            class="opener"
            aria-label="Places"
            aria-expanded={isSideOpen}
            onClick={() => setSideOpen(!isSideOpen)}
          >
            <Icon name="menu" />
          </button>
          <Crumbs {...place} />
          <SearchField
            key={searchKey}
            label="Search"
            placeholder={parent ? 'Search this folder' : 'Search all assets'}
            value={search}
            // Further typing replaces the history entry, so that Back returns to the state before the search.
            onChange={(text) => setQuery(withField(query, 'search', text), search ? 'replace' : 'push')}
          />
          <CopyView tree={tree} query={query} />
          {!setup.pick && (
            <>
              <FileButton text="Upload folder" isFolder onFiles={uploadHere} />
              <FileButton text="Upload" onFiles={uploadHere} />
            </>
          )}
          <Filters
            query={query}
            count={lengthText(list)}
            onChange={setQuery}
            onClear={() => setFilters(parent ? { parent } : {})}
          />
        </header>
        {uploads.isServerDown && !isOver && <ServerDownAlert states={uploads.states} />}
        {setup.interruptedCount > 0 && !uploads.isServerDown && <InterruptedUploads />}
        <main>
          <h1 class="hidden">Assets</h1>
          <Surroundings {...place} />
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
          <div class="float">
            {!isOver && <Notices list={list} serviceWait={uploads.serviceWait} {...library} />}
            <UploadTray uploads={uploads} onOpen={open} />
            <SelectionBar query={query} />
          </div>
        </main>
      </div>
      {asset && (
        <Detail key={asset} {...{ list, tree, onTrashed: library.onTrashed }} uid={asset} onOpen={open} onMove={move} />
      )}
    </div>
  );
}

/** Moves the focus into the side bar that a small screen shows, and back to its button. */
function useSideFocus(isSideOpen: boolean): void {
  useLayoutEffect(() => {
    const isWithin = document.activeElement?.closest('.sides');
    const target = isSideOpen ? '.place[tabindex="0"]' : isWithin && '.opener';
    if (target) document.querySelector<HTMLElement>(target)?.focus();
  }, [isSideOpen]);
}

/** Keeps the list, the folder tree and the uploads up to date, and the latest notice. */
function useLibrary(query: Query) {
  const list = usePagedList(query);
  const [budget, setBudget] = useState<RequestBudget>();
  const [tree, setTree] = useState<readonly FolderView[]>([]);
  const [workspace, setWorkspace] = useState<string>();
  const { notice, setNotice, hideNotice } = useNotice();
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
        ({ name }) => setWorkspace(name ?? 'all workspaces'),
        () => {}, // the list says what is wrong
      );
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
    setNotice(`Moved to ${folder?.path ?? 'the top level'}`, 'passing');
    if (query.parent) void list.refresh(false);
  };
  const moveDragged = (uid: string, folder: FolderView | null) =>
    void move(uid, folder).catch((error: Error) => setNotice(`Not moved: ${error.message}`));
  const onTrashed = () => {
    setNotice('Moved to the trash', 'passing');
    void list.refresh(false);
  };
  return { list, tree, workspace, uploads, budget, isPaused, notice, hideNotice, upload, move, moveDragged, onTrashed };
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

function lengthText({ length, hasExactLength, problem }: PagedList): string {
  if (length === undefined) return problem ? '' : 'Loading';
  return hasExactLength ? `${formatCount(length)} asset${length === 1 ? '' : 's'}` : 'number of assets unknown';
}
