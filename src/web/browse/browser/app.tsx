import { useEffect, useRef, useState } from 'preact/hooks';
import type { Budget, Card, FolderView, Query } from '../protocol.ts';
import { changeCard, folderTree, setup, whenBudgetChanges } from './api.ts';
import { Detail } from './detail.tsx';
import { type Drop, filesOf, useDrops } from './drops.ts';
import { FileButton } from './file-button.tsx';
import { Filters } from './filters.tsx';
import { Folders } from './folders.tsx';
import { Foot } from './foot.tsx';
import { Grid } from './grid.tsx';
import { useRefresh, useRetry } from './refresh.ts';
import { Shelf } from './shelf.ts';
import { Gone, Tray } from './tray.tsx';
import { folderIn } from './tree.ts';
import { useUploads } from './uploads.ts';
import { useView, withField } from './view.ts';

export function App() {
  const [view, go] = useView();
  const { query, asset } = view;
  const [, redraw] = useState(0);
  const [budget, setBudget] = useState<Budget>();
  const [tree, setTree] = useState<readonly FolderView[]>([]);
  const [said, say] = useState('');
  const [isOver, setOver] = useState(false);
  const [opened, setOpened] = useState<'filters' | 'folders'>();
  const shelf = useShelf(query, () => redraw((count) => count + 1));
  /** True if the current uploads may create folders: the tree is then refetched. */
  const makesFolders = useRef(false);
  useRetry(shelf);
  const { isResting, lookNow } = useRefresh(shelf, budget, () => {
    if (makesFolders.current) readTree();
  });
  const uploads = useUploads({
    onUploaded: () => shelf.expectNews(),
    onAllEnded: () => {
      lookNow();
      makesFolders.current = false;
    },
  });

  const readTree = () =>
    folderTree().then(setTree, (error: Error) => say(`No folders: ${error.message}`));
  useEffect(() => {
    whenBudgetChanges(setBudget);
    readTree();
  }, []);
  useEffect(() => {
    const name = asset ? shelf.at(shelf.indexOf(asset))?.name : undefined;
    document.title = `${name ? `${name} · ` : ''}${setup.service}`;
  });

  const where = (next: Query, how?: 'push' | 'replace') => go({ query: next, asset }, how);
  /** List index of the asset whose dialog was closed last, to restore the focus. */
  const [closedAt, setClosedAt] = useState<number>();
  const open = (uid: string | null) => {
    if (!uid && asset) setClosedAt(shelf.indexOf(asset));
    // Replaces the history entry, so that Back does not reopen a closed dialog.
    go({ query, asset: uid }, asset ? 'replace' : 'push');
  };
  /** Moves an asset to a folder. @throws PageError if it was not moved */
  const move = async (uid: string, folder: FolderView | null) => {
    shelf.replace(await changeCard(uid, { folder: folder?.uid ?? null }));
    say(`Moved to ${folder?.path ?? 'the top level'}`);
    if (query.parent) await shelf.refresh(false);
  };
  const takeFiles = ({ files, unreadable }: Drop, folder: string | null) => {
    const whole = files.filter(({ file }) => file.size > 0);
    const empty = files.filter(({ file }) => file.size === 0).map(({ file }) => file.name);
    const left = [
      ...(empty.length > 0 ? [`empty: ${empty.join(', ')}`] : []),
      ...(unreadable.length > 0 ? [`cannot be read: ${unreadable.join(', ')}`] : []),
    ];
    if (left.length > 0) say(`Left out, ${left.join('; ')}`);
    makesFolders.current ||= whole.some(({ below }) => below !== '');
    uploads.add(whole, folder);
  };
  const here = query.parent && query.parent !== 'root' ? query.parent : null;

  useDrops(setOver, (drop) => takeFiles(drop, here));
  useKeys((key) => {
    if (key === '/') document.querySelector<HTMLInputElement>('input[type=search]')?.focus();
    if (key === 'Escape') setOpened(undefined);
    return key === '/';
  });

  return (
    <div class="app">
      <header>
        <h1>{setup.service}</h1>
        <FileButton onFiles={(drop) => takeFiles(drop, here)} />
        <Filters
          query={query}
          isOpen={opened === 'filters'}
          hasFolders={opened === 'folders'}
          onChange={where}
          onOpen={(which) => setOpened(opened === which ? undefined : which)}
        />
      </header>
      {uploads.isGone && <Gone states={uploads.states} />}
      <div class="middle">
        <Folders
          tree={tree}
          query={query}
          isOpen={opened === 'folders'}
          onChoose={(parent) => {
            setOpened(undefined);
            where(withField(query, 'parent', parent));
          }}
          onMove={(uid, folder) =>
            void move(uid, folder).catch((error: Error) => say(`Not moved: ${error.message}`))
          }
          onFiles={(transfer, folder) => {
            setOver(false);
            void filesOf(transfer).then((drop) => takeFiles(drop, folder));
          }}
        />
        <main>
          <h2 class="hidden">Assets</h2>
          <Grid shelf={shelf} query={query} onOpen={open} goesTo={asset ? undefined : closedAt} />
          {isOver && (
            <div class="drop">
              Drop to upload
              {here ? ` into ${folderIn(tree, here)?.path ?? ''}` : ', or onto a folder'}
            </div>
          )}
        </main>
      </div>
      <Foot
        shelf={shelf}
        budget={budget}
        waiting={uploads.waiting}
        isResting={isResting}
        said={said}
      />
      <Tray uploads={uploads} onOpen={open} />
      {asset && (
        <Detail
          key={asset}
          uid={asset}
          known={shelf.at(shelf.indexOf(asset))}
          tree={tree}
          onClose={() => open(null)}
          onChange={(card: Card) => shelf.replace(card)}
          onMove={(folder) => move(asset, folder)}
          onTrashed={() => {
            open(null);
            say('Moved to the trash');
            void shelf.refresh(false);
          }}
          onStep={async (by) => {
            const at = shelf.indexOf(asset);
            const next = at < 0 ? undefined : await shelf.reach(at + by);
            if (next) open(next.uid);
          }}
        />
      )}
    </div>
  );
}

/** Debounce of filter changes. */
const holdMs = 150;

/** Returns the list of a query; closes the previous one. */
function useShelf(query: Query, onChange: () => void): Shelf {
  const key = JSON.stringify(query);
  const kept = useRef<{ key: string; shelf: Shelf } | undefined>(undefined);
  if (kept.current?.key !== key) {
    kept.current?.shelf.close();
    kept.current = { key, shelf: new Shelf(query, onChange, kept.current ? holdMs : 0) };
  }
  return kept.current.shelf;
}

/** Handles keys pressed outside form fields. @param onKey returns true if it handled the key */
function useKeys(onKey: (key: string) => boolean): void {
  useEffect(() => {
    const listen = (event: KeyboardEvent) => {
      const isTyped = (event.target as HTMLElement).matches('input, textarea, select');
      const isCombined = event.ctrlKey || event.metaKey || event.altKey;
      if (!isTyped && !isCombined && onKey(event.key)) event.preventDefault();
    };
    addEventListener('keydown', listen);
    return () => removeEventListener('keydown', listen);
  }, []);
}
