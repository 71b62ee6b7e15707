import type { FolderView, Query } from '../protocol.ts';
import { draggedUid } from './drops.ts';

type FoldersProps = {
  tree: readonly FolderView[];
  query: Query;
  isOpen: boolean;
  /** Called with the selected folder: undefined for all assets, `root` for the top level. */
  onSelect(parent: string | undefined): void;
  onMove(uid: string, folder: FolderView | null): void;
  onFiles(transfer: DataTransfer, folder: string | null): void;
};

export function Folders(props: FoldersProps) {
  const { tree, query, isOpen, onSelect } = props;
  const item = (label: string, parent: string | undefined, target?: FolderView | null) => (
    <button
      type="button"
      class="folder"
      title={label}
      dir="auto"
      aria-current={query.parent === parent}
      tabIndex={query.parent === parent ? 0 : -1}
      onClick={() => onSelect(parent)}
      {...(target !== undefined && dropHandlers(target, props))}
    >
      {label}
    </button>
  );
  const branch = (folders: readonly FolderView[]) => (
    <ul>
      {folders.map((folder) => (
        <li key={folder.uid}>
          {item(folder.name, folder.uid, folder)}
          {folder.children.length > 0 && branch(folder.children)}
        </li>
      ))}
    </ul>
  );
  return (
    <div class={`sides${isOpen ? ' open' : ''}`}>
      <nav aria-labelledby="folders" onKeyDown={moveFocus}>
        <h2 id="folders">Folders</h2>
        <ul>
          <li>{item('All assets', undefined)}</li>
          <li>
            {item('Top level', 'root', null)}
            {tree.length > 0 && branch(tree)}
          </li>
        </ul>
      </nav>
    </div>
  );
}

/** Moves the focus with the arrow keys, so that the tree is one stop of Tab. */
function moveFocus(event: KeyboardEvent): void {
  const buttons = [...(event.currentTarget as HTMLElement).querySelectorAll<HTMLElement>('.folder')];
  const at = buttons.indexOf(event.target as HTMLElement);
  const to = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: buttons.length - 1 }[event.key];
  if (to === undefined || at < 0) return;
  event.preventDefault();
  buttons[Math.min(buttons.length - 1, Math.max(0, to))]?.focus();
}

function dropHandlers(folder: FolderView | null, { onMove, onFiles }: FoldersProps) {
  const mark = ({ currentTarget }: DragEvent, isOver: boolean) =>
    (currentTarget as HTMLElement).classList.toggle('over', isOver);
  return {
    onDragOver: (event: DragEvent) => {
      event.preventDefault();
      mark(event, true);
    },
    onDragLeave: (event: DragEvent) => mark(event, false),
    onDrop: (event: DragEvent) => {
      mark(event, false);
      if (!event.dataTransfer) return;
      event.preventDefault();
      event.stopPropagation();
      const uid = draggedUid(event.dataTransfer);
      if (uid !== undefined) onMove(uid, folder);
      else onFiles(event.dataTransfer, folder?.uid ?? null);
    },
  };
}

/** Returns all folders of a tree as a flat list; parents come before their children. */
export const flattenTree = (tree: readonly FolderView[]): FolderView[] =>
  tree.flatMap((folder) => [folder, ...flattenTree(folder.children)]);
