import { useEffect, useLayoutEffect, useState } from 'preact/hooks';
import { formatCount } from '../../../shared/figures.ts';
import type { FolderView, Query } from '../protocol.ts';
import { setup } from './api.ts';
import { Button, FileButton, SearchField } from './controls.tsx';
import { CopyView } from './copy-view.tsx';
import { Detail } from './detail.tsx';
import { type DropContents, readDrop, useDrops } from './drops.ts';
import { Filters } from './filters.tsx';
import { findFolder } from './folders.tsx';
import { Grid } from './grid.tsx';
import { useKeptFocus, useWindowEvent } from './hooks.ts';
import { useLibrary } from './library.ts';
import { Notices } from './notices.tsx';
import type { PagedList } from './paged-list.ts';
import { Crumbs, Surroundings } from './places.tsx';
import { clearSelection, isPickEnded, selectAll } from './selected.ts';
import { SelectionBar } from './selection-bar.tsx';
import { SideBar } from './side-bar.tsx';
import { InterruptedUploads, ServerDownAlert, UploadTray } from './upload-tray.tsx';
import type { useUploads } from './uploads.ts';
import { useView, withField } from './view.ts';

export function App() {
  const [{ query, asset }, navigate] = useView();
  const { list, tree, workspace, uploads, budget, upload, move, ...library } = useLibrary(query);
  /** True if a small screen shows the side bar. */
  const [isSideOpen, setSideOpen] = useState(false);
  const [isDraggingOver, setDraggingOver] = useState(false);
  /** List index of the asset whose dialog was closed last, used to restore the focus. */
  const [closedIndex, setClosedIndex] = useState<number>();
  const { parent } = query;
  const folder = parent && parent !== 'root' ? parent : null;
  const uploadHere = (drop: DropContents) => upload(drop, folder);
  useDrops(setDraggingOver, uploadHere);
  useShortcuts(list, () => setSideOpen(false));
  useSideFocus(isSideOpen);
  useKeptFocus();
  useTitle(asset ? list.at(list.indexOf(asset))?.name : undefined);
  const setQuery = (next: Query, how?: 'push' | 'replace') => {
    setSideOpen(false);
    navigate({ query: next, asset }, how);
  };
  const selectFolder = (next: string | undefined) => setQuery(withField(query, 'parent', next));
  const dropOnFolder = (transfer: DataTransfer, target: string | null) => {
    setDraggingOver(false);
    void readDrop(transfer).then((drop) => upload(drop, target));
  };
  const open = (uid: string | null) => {
    if (!uid && asset) setClosedIndex(list.indexOf(asset));
    // Replaces the history entry, so that Back does not reopen a closed dialog.
    navigate({ query, asset: uid }, asset ? 'replace' : 'push');
  };
  const setView = useSearchKey(query, setQuery);
  const folderEvents = { onSelect: selectFolder, onMove: library.moveDragged, onFiles: dropOnFolder };
  const place = { tree, query, onSelect: selectFolder };
  return (
    <div class="app">
      <SideBar {...{ list, tree, query, budget, workspace, isSideOpen }} onView={setView.all} {...folderEvents} />
      <div class="content">
        <Header {...{ ...place, list, isSideOpen, setSideOpen, setQuery, setView, onFiles: uploadHere }} />
        <Alerts uploads={uploads} />
        <main>
          <h1 class="hidden">Assets</h1>
          <Surroundings {...place} />
          <Grid
            {...{ list, query, onFiles: uploadHere, onOpen: open, wait: uploads.serviceWait }}
            focusIndex={asset ? undefined : closedIndex}
          />
          {isDraggingOver && <DropTarget folder={findFolder(tree, folder)} />}
          <div class="float">
            {!isPickEnded.value && <Notices list={list} serviceWait={uploads.serviceWait} {...library} />}
            <UploadTray uploads={uploads} onOpen={open} />
            <SelectionBar {...{ list, query, tree }} />
          </div>
        </main>
      </div>
      {asset && (
        <Detail key={asset} {...{ list, tree, onTrashed: library.onTrashed }} uid={asset} onOpen={open} onMove={move} />
      )}
    </div>
  );
}

const useTitle = (name: string | undefined) =>
  useEffect(() => {
    document.title = `${name ? `${name} · ` : ''}${setup.service}`;
  });

/** Returns a function that sets all filters at once, and the key of the search field, whose text it drops. */
function useSearchKey(query: Query, setQuery: (next: Query) => void) {
  const [key, setKey] = useState(0);
  const { ordering } = query;
  const all = (filters: Query) => {
    setKey(key + 1); // another field also drops the text whose delay has not ended
    setQuery({ ...filters, ...(ordering && { ordering }) });
  };
  return { key, all };
}

const DropTarget = ({ folder }: { folder: FolderView | undefined }) => (
  <div class="drop">Drop files to upload{folder ? ` into ${folder.path}` : ', or drop them onto a folder'}</div>
);

function Alerts({ uploads }: { uploads: ReturnType<typeof useUploads> }) {
  if (uploads.isServerDown) return isPickEnded.value ? null : <ServerDownAlert states={uploads.states} />;
  return setup.interruptedCount > 0 ? <InterruptedUploads /> : null;
}

type HeaderProps = {
  list: PagedList;
  tree: readonly FolderView[];
  query: Query;
  isSideOpen: boolean;
  setSideOpen(isOpen: boolean): void;
  onSelect(parent: string | undefined): void;
  setQuery(next: Query, how?: 'push' | 'replace'): void;
  setView: ReturnType<typeof useSearchKey>;
  onFiles(drop: DropContents): void;
};

/** Shows where the list is from, its search and filters, and the buttons to upload. */
function Header({ list, tree, query, isSideOpen, setSideOpen, onSelect, setQuery, setView, onFiles }: HeaderProps) {
  const { parent, search } = query;
  return (
    <header>
      <Button
        class="opener"
        icon="menu"
        label="Places"
        aria-expanded={isSideOpen}
        onClick={() => setSideOpen(!isSideOpen)}
      />
      <Crumbs {...{ tree, query, onSelect }} />
      <SearchField
        key={setView.key}
        label="Search"
        placeholder={parent ? 'Search this folder' : 'Search all assets'}
        value={search}
        // Further typing replaces the history entry, so that Back returns to the state before the search.
        onChange={(text) => setQuery(withField(query, 'search', text), search ? 'replace' : 'push')}
      />
      <CopyView tree={tree} query={query} />
      {!setup.pick && (
        <>
          <FileButton text="Upload folder" isFolder onFiles={onFiles} />
          <FileButton text="Upload" onFiles={onFiles} />
        </>
      )}
      <Filters
        query={query}
        count={lengthText(list)}
        onChange={setQuery}
        onClear={() => setView.all(parent ? { parent } : {})}
      />
    </header>
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

/** Handles keys that are pressed outside form fields: / goes to the search, Ctrl-A selects all, Escape nothing. */
function useShortcuts(list: PagedList, closePanel: () => void): void {
  useWindowEvent('keydown', (event) => {
    const isInField = (event.target as HTMLElement).matches('input, textarea, select');
    if (isInField || event.altKey || document.querySelector('dialog[open]')) return;
    const isModified = event.ctrlKey || event.metaKey;
    // Taken on the window, since the text of the page would be selected otherwise.
    if (isModified ? event.key === 'a' : event.key === '/') event.preventDefault();
    if (isModified && event.key === 'a') selectAll(list);
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
