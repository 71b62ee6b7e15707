import type { FolderView, Query } from '../protocol.ts';
import { Button } from './controls.tsx';
import { findFolder } from './folders.tsx';

type PlaceProps = {
  tree: readonly FolderView[];
  query: Query;
  onSelect(parent: string | undefined): void;
};

/** Shows the path of the folder that the list is from. */
export function Crumbs({ tree, query: { parent }, onSelect }: PlaceProps) {
  const crumb = (name: string, place: string | undefined) => (
    <Button dir="auto" text={name} aria-current={place === parent} onClick={() => onSelect(place)} />
  );
  const below = parent === 'root' ? [{ uid: 'root', name: 'Top level' }] : pathTo(tree, parent);
  return (
    <nav class="crumbs" aria-label="Path of the folder">
      {crumb('All assets', undefined)}
      {below.map(({ uid, name }) => (
        <span key={uid}>
          <span aria-hidden="true">/</span>
          {crumb(name, uid)}
        </span>
      ))}
    </nav>
  );
}

/** Shows the folders in a folder, and says if a search leaves out what is elsewhere. */
export function Surroundings({ tree, query: { parent, search }, onSelect }: PlaceProps) {
  const children = parent === 'root' ? tree : (findFolder(tree, parent)?.children ?? []);
  if (children.length === 0 && !(search && parent)) return null;
  return (
    <div class="surroundings">
      {search && parent && (
        <span class="scope">
          Searching in this folder only. <Button text="Search everywhere" onClick={() => onSelect(undefined)} />
        </span>
      )}
      {children.length > 0 && (
        <ul class="subfolders" aria-label="Folders in this folder">
          {children.map(({ uid, name }) => (
            <li key={uid}>
              <Button dir="auto" icon="folder" text={<span>{name}</span>} onClick={() => onSelect(uid)} />
            </li>
          ))}
        </ul>
      )}
    </div>
  );
}

/** Returns the folders from the top level to the one with a uid, which is the last; none if the tree has no such folder. */
function pathTo(tree: readonly FolderView[], uid: string | undefined): FolderView[] {
  for (const folder of tree) {
    if (folder.uid === uid) return [folder];
    const below = pathTo(folder.children, uid);
    if (below.length > 0) return [folder, ...below];
  }
  return [];
}
