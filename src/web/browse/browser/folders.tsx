import type { FolderView, Query } from '../protocol.ts';
import { draggedUid } from './drops.ts';
import { Icon } from './icon.tsx';

export type FolderEvents = {
  /** Called with the selected folder: undefined for all assets, `root` for the top level. */
  onSelect(parent: string | undefined): void;
  onMove(uid: string, folder: FolderView | null): void;
  onFiles(transfer: DataTransfer, folder: string | null): void;
};

type FolderTreeProps = FolderEvents & { tree: readonly FolderView[]; query: Query };

export function FolderTree({ tree, query, ...events }: FolderTreeProps) {
  const item = (label: string, parent: string, target: FolderView | null) => (
    <button
      type="button"
      class="place"
      title={label}
      dir="auto"
      aria-current={query.parent === parent}
      tabIndex={query.parent === parent ? 0 : -1}
      onClick={() => events.onSelect(parent)}
      {...dropHandlers(target, events)}
    >
      <Icon name="folder" />
      <span>{label}</span>
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
    <ul aria-labelledby="folders">
      <li>
        {item('Top level', 'root', null)}
        {tree.length > 0 && branch(tree)}
      </li>
    </ul>
  );
}

function dropHandlers(folder: FolderView | null, { onMove, onFiles }: FolderEvents) {
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

/** Returns the folder with a uid; undefined if the tree has none. */
export const findFolder = (tree: readonly FolderView[], uid: string | null | undefined): FolderView | undefined =>
  flattenTree(tree).find((folder) => folder.uid === uid);

/** Returns all folders of a tree as a flat list; parents come before their children. */
export const flattenTree = (tree: readonly FolderView[]): FolderView[] =>
  tree.flatMap((folder) => [folder, ...flattenTree(folder.children)]);
