import { signal } from '@preact/signals';
import type { FolderView, Query } from '../protocol.ts';
import { Button } from './controls.tsx';
import { type Dragged, draggedAssets } from './drops.ts';
import type { IconName } from './icon.tsx';

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
    <Button
      {...placeOf('folder', label, query.parent === parent)}
      title={label}
      dir="auto"
      aria-expanded={isExpanded}
      onClick={() => events.onSelect(parent)}
      {...dropHandlers(target, events)}
    />
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

/** Properties of the button of a place. The current one is a stop of Tab. */
export const placeOf = (icon: IconName, label: string, isCurrent: boolean) => ({
  class: 'place',
  icon,
  text: <span>{label}</span>,
  'aria-current': isCurrent,
  tabIndex: isCurrent ? 0 : -1,
});

/** Folds a folder, by mouse. Keys do it on the folder itself: the arrows left and right. */
const Fold = ({ folder: { uid }, isClosed }: { folder: FolderView; isClosed: boolean }) => (
  <Button
    class="fold"
    icon="fold"
    tabIndex={-1}
    aria-hidden="true"
    onClick={() => {
      folds.value = new Map(folds.value).set(uid, !isClosed);
    }}
  />
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
