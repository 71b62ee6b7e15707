import { useEffect, useRef, useState } from 'preact/hooks';
import type { Card, FolderView, Query, RequestBudget } from '../protocol.ts';
import { fetchFolderTree, onBudgetChange, setup, updateCard } from './api.ts';
import { Detail } from './detail.tsx';
import { type DropContents, readDrop, useDrops } from './drops.ts';
import { FileButton } from './file-button.tsx';
import { Filters } from './filters.tsx';
import { Folders } from './folders.tsx';
import { Grid } from './grid.tsx';
import { PagedList } from './paged-list.ts';
import { useRefresh, useRetry } from './refresh.ts';
import { StatusBar } from './status-bar.tsx';
import { findFolder } from './tree.ts';
import { ServerDownAlert, UploadTray } from './upload-tray.tsx';
import { useUploads } from './uploads.ts';
import { useView, withField } from './view.ts';

export function App() {
  const [view, navigate] = useView();
  const { query, asset } = view;
  const [, redraw] = useState(0);
  const [budget, setBudget] = useState<RequestBudget>();
  const [tree, setTree] = useState<readonly FolderView[]>([]);
  const [notice, setNotice] = useState('');
  const [isDraggingOver, setDraggingOver] = useState(false);
  const [openPanel, setOpenPanel] = useState<'filters' | 'folders'>();
  const list = usePagedList(query, () => redraw((count) => count + 1));
  /** True if the current uploads might create folders, so that the tree must be refetched. */
  const createsFolders = useRef(false);
  useRetry(list);
  const { isPaused, refreshNow } = useRefresh(list, budget, () => {
    if (createsFolders.current) loadTree();
  });
  const uploads = useUploads({
    onUploaded: () => list.markStale(),
    onAllEnded: () => {
      refreshNow();
      createsFolders.current = false;
    },
  });

  const loadTree = () => fetchFolderTree().then(setTree, (error: Error) => setNotice(`No folders: ${error.message}`));
  useEffect(() => {
    onBudgetChange(setBudget);
    loadTree();
  }, []);
  useEffect(() => {
    const name = asset ? list.at(list.indexOf(asset))?.name : undefined;
    document.title = `${name ? `${name} · ` : ''}${setup.service}`;
  });

  const setQuery = (next: Query, how?: 'push' | 'replace') => navigate({ query: next, asset }, how);
  /** List index of the asset whose dialog was closed last, used to restore the focus. */
  const [closedIndex, setClosedIndex] = useState<number>();
  const open = (uid: string | null) => {
    if (!uid && asset) setClosedIndex(list.indexOf(asset));
    // Replaces the history entry, so that Back does not reopen a closed dialog.
    navigate({ query, asset: uid }, asset ? 'replace' : 'push');
  };
  /**
   * Moves an asset to a folder.
   * @throws PageError if the asset was not moved
   */
  const move = async (uid: string, folder: FolderView | null) => {
    list.replace(await updateCard(uid, { folder: folder?.uid ?? null }));
    setNotice(`Moved to ${folder?.path ?? 'the top level'}`);
    if (query.parent) await list.refresh(false);
  };
  const uploadFiles = ({ files, unreadable }: DropContents, folder: string | null) => {
    const nonEmpty = files.filter(({ file }) => file.size > 0);
    const empty = files.filter(({ file }) => file.size === 0).map(({ file }) => file.name);
    const skipped = [
      ...(empty.length > 0 ? [`empty: ${empty.join(', ')}`] : []),
      ...(unreadable.length > 0 ? [`cannot be read: ${unreadable.join(', ')}`] : []),
    ];
    if (skipped.length > 0) setNotice(`Left out, ${skipped.join('; ')}`);
    createsFolders.current ||= nonEmpty.some(({ relativeDir }) => relativeDir !== '');
    uploads.add(nonEmpty, folder);
  };
  const currentFolder = query.parent && query.parent !== 'root' ? query.parent : null;

  useDrops(setDraggingOver, (drop) => uploadFiles(drop, currentFolder));
  useShortcuts((key) => {
    if (key === '/') document.querySelector<HTMLInputElement>('input[type=search]')?.focus();
    if (key === 'Escape') setOpenPanel(undefined);
    return key === '/';
  });

  return (
    <div class="app">
      <header>
        <h1>{setup.service}</h1>
        <FileButton onFiles={(drop) => uploadFiles(drop, currentFolder)} />
        <Filters
          query={query}
          isOpen={openPanel === 'filters'}
          isFolderPanelOpen={openPanel === 'folders'}
          onChange={setQuery}
          onOpen={(which) => setOpenPanel(openPanel === which ? undefined : which)}
        />
      </header>
      {uploads.isServerDown && <ServerDownAlert states={uploads.states} />}
      <div class="middle">
        <Folders
          tree={tree}
          query={query}
          isOpen={openPanel === 'folders'}
          onSelect={(parent) => {
            setOpenPanel(undefined);
            setQuery(withField(query, 'parent', parent));
          }}
          onMove={(uid, folder) =>
            void move(uid, folder).catch((error: Error) => setNotice(`Not moved: ${error.message}`))
          }
          onFiles={(transfer, folder) => {
            setDraggingOver(false);
            void readDrop(transfer).then((drop) => uploadFiles(drop, folder));
          }}
        />
        <main>
          <h2 class="hidden">Assets</h2>
          <Grid list={list} query={query} onOpen={open} focusIndex={asset ? undefined : closedIndex} />
          {isDraggingOver && (
            <div class="drop">
              Drop to upload
              {currentFolder ? ` into ${findFolder(tree, currentFolder)?.path ?? ''}` : ', or onto a folder'}
            </div>
          )}
        </main>
      </div>
      <StatusBar list={list} budget={budget} serviceWait={uploads.serviceWait} isPaused={isPaused} notice={notice} />
      <UploadTray uploads={uploads} onOpen={open} />
      {asset && (
        <Detail
          key={asset}
          uid={asset}
          listCard={list.at(list.indexOf(asset))}
          tree={tree}
          onClose={() => open(null)}
          onChange={(card: Card) => list.replace(card)}
          onMove={(folder) => move(asset, folder)}
          onTrashed={() => {
            open(null);
            setNotice('Moved to the trash');
            void list.refresh(false);
          }}
          onStep={async (by) => {
            const at = list.indexOf(asset);
            const next = at < 0 ? undefined : await list.fetchCard(at + by);
            if (next) open(next.uid);
          }}
        />
      )}
    </div>
  );
}

/** Debounce delay of filter changes. */
const filterDebounceMs = 150;

/** Returns the list for a query, and closes the list of the previous query. */
function usePagedList(query: Query, onChange: () => void): PagedList {
  const key = JSON.stringify(query);
  const latest = useRef<{ key: string; list: PagedList } | undefined>(undefined);
  if (latest.current?.key !== key) {
    latest.current?.list.close();
    latest.current = {
      key,
      list: new PagedList(query, onChange, latest.current ? filterDebounceMs : 0),
    };
  }
  return latest.current.list;
}

/**
 * Handles keys that are pressed outside form fields.
 * @param onKey returns true if it handled the key
 */
function useShortcuts(onKey: (key: string) => boolean): void {
  useEffect(() => {
    const listen = (event: KeyboardEvent) => {
      const isInField = (event.target as HTMLElement).matches('input, textarea, select');
      const hasModifier = event.ctrlKey || event.metaKey || event.altKey;
      if (!isInField && !hasModifier && onKey(event.key)) event.preventDefault();
    };
    addEventListener('keydown', listen);
    return () => removeEventListener('keydown', listen);
  }, []);
}
