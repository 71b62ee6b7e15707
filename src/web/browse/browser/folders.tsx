import { signal } from '@preact/signals';
import type { FolderView, Query } from '../protocol.ts';
import { type Dragged, draggedAssets } from './drops.ts';
import { Icon } from './icon.tsx';

export type FolderEvents = {
  /** Called with the selected folder: undefined for all assets, `root` for the top level. */
  onSelect(parent: string | undefined): void;
  onMove(dragged: Dragged, folder: FolderView | null): void;
  onFiles(transfer: DataTransfer, folder: string | null): void;
};

/** Number of folders up to which the tree is unfolded at first. */
const maxUnfolded = 20;

/** Folders that the user has folded or unfolded, by uid. */
const folds = signal<ReadonlyMap<string, boolean>>(new Map());

/** Returns true if the folders in a folder are not shown: by choice, or in a large tree, where the selected one is not below. */
function isFolded({ uid, children }: FolderView, isLarge: boolean, parent: string | undefined): boolean {
  const isOnWay = findFolder(children, parent) !== undefined;
  return folds.value.get(uid) ?? (isLarge && uid !== parent && !isOnWay);
}

type FolderTreeProps = FolderEvents & { tree: readonly FolderView[]; query: Query };

export function FolderTree({ tree, query, ...events }: FolderTreeProps) {
  const isLarge = flattenTree(tree).length > maxUnfolded;
  const item = (label: string, parent: string, target: FolderView | null, isExpanded?: boolean) => (
    <button
      type="button"
      class="place"
      title={label}
      dir="auto"
      aria-current={query.parent === parent}
      aria-expanded={isExpanded}
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
      {folders.map((folder) => {
        const isParent = folder.children.length > 0;
        const isClosed = isParent && isFolded(folder, isLarge, query.parent);
        return (
          <li key={folder.uid}>
            {isParent && <Fold {...{ folder, isClosed }} />}
            {item(folder.name, folder.uid, folder, isParent ? !isClosed : undefined)}
            {isParent && !isClosed && branch(folder.children)}
          </li>
        );
      })}
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

/** Folds a folder, by mouse. Keys do it on the folder itself: the arrows left and right. */
const Fold = ({ folder: { uid }, isClosed }: { folder: FolderView; isClosed: boolean }) => (
  <button
    type="button"
    class="fold"
    tabIndex={-1}
    aria-hidden="true"
    onClick={() => {
      folds.value = new Map(folds.value).set(uid, !isClosed);
    }}
  >
    <Icon name="fold" />
  </button>
);

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
      const dragged = draggedAssets(event.dataTransfer);
      if (dragged) onMove(dragged, folder);
      else onFiles(event.dataTransfer, folder?.uid ?? null);
    },
  };
}

export const findFolder = (tree: readonly FolderView[], uid: string | null | undefined): FolderView | undefined =>
  flattenTree(tree).find((folder) => folder.uid === uid);

/** Returns all folders of a tree as a flat list; parents come before their children. */
export const flattenTree = (tree: readonly FolderView[]): FolderView[] =>
  tree.flatMap((folder) => [folder, ...flattenTree(folder.children)]);
