import { type AssetFilterRow, filterRows } from '../../../contract/asset-filters.ts';
import type { FolderView, Query } from '../protocol.ts';
import { Button } from './controls.tsx';
import { flattenTree } from './folders.tsx';
import { withField } from './view.ts';

type PlacesProps = {
  tree: readonly FolderView[];
  query: Query;
  onSelect(parent: string | undefined): void;
  onChange(query: Query): void;
};

/** Filters that have a chip: the search has its field, and a folder its path. */
const isChip = ({ kind }: AssetFilterRow) => kind !== 'search' && kind !== 'folder';

/** Says where the list is from: the path of the folder, its subfolders, and the filters. */
export function Places({ tree, query, onSelect, onChange }: PlacesProps) {
  const { parent, search } = query;
  const folder = flattenTree(tree).find(({ uid }) => uid === parent);
  const children = parent === 'root' ? tree : (folder?.children ?? []);
  const chips = filterRows.filter((row) => isChip(row) && query[row.name]);
  if (!parent && chips.length === 0) return null;
  return (
    <div class="places">
      {parent && (
        <nav class="crumbs" aria-label="Path of the folder">
          <Button text="All assets" onClick={() => onSelect(undefined)} />
          {(folder ? pathTo(tree, folder) : []).map(({ uid, name }) => (
            <span key={uid}>
              <span aria-hidden="true">/</span>
              <button type="button" dir="auto" aria-current={uid === parent} onClick={() => onSelect(uid)}>
                {name}
              </button>
            </span>
          ))}
          {parent === 'root' && <span>/ Top level</span>}
        </nav>
      )}
      {search && parent && (
        <span class="scope">
          Searching in this folder only.{' '}
          <Button text="Search everywhere" onClick={() => onChange(withField(query, 'parent', undefined))} />
        </span>
      )}
      {chips.map(({ name, label }) => (
        <span key={name} class="chip">
          {`${label}: ${query[name]?.replaceAll('_', ' ')}`}
          <Button
            text="✕"
            label={`Remove ${query[name]}`}
            onClick={() => onChange(withField(query, name, undefined))}
          />
        </span>
      ))}
      {children.length > 0 && (
        <ul class="subfolders" aria-label="Folders in this folder">
          {children.map(({ uid, name }) => (
            <li key={uid}>
              <button type="button" dir="auto" onClick={() => onSelect(uid)}>
                {name}
              </button>
            </li>
          ))}
        </ul>
      )}
    </div>
  );
}

/** Returns the folders from the top level to a folder, which is the last. */
function pathTo(tree: readonly FolderView[], folder: FolderView): FolderView[] {
  for (const each of tree) {
    if (each.uid === folder.uid) return [each];
    const below = pathTo(each.children, folder);
    if (below.length > 0) return [each, ...below];
  }
  return [];
}
