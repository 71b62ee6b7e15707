import type { FolderNode } from '../../client/library/folder-tree.ts';
import type { ApiFolder } from '../../contract/types.ts';
import { displayText, escapeControls, relativeTime } from '../../shared/sanitize.ts';
import { type Column, type DetailRow, type RenderContext, type Result, record } from '../output/result.ts';

type FolderRecord = ApiFolder & { path: string };

/** Returns a folder's record without its subfolders, because each has its own row. */
export function folderRecord({ folder, children, path }: FolderNode): FolderRecord {
  const below = children.map((child) => child.folder);
  const own = Object.entries(folder).filter(
    ([, value]) => !(Array.isArray(value) && value.every((each) => below.includes(each))),
  );
  return { ...(Object.fromEntries(own) as ApiFolder), path };
}

export const folderColumns: Column<FolderRecord>[] = [
  { field: 'uid', uid: 'folder' },
  { field: 'path', isFirst: true },
];

const folderRows = ({ path, ...folder }: FolderRecord, { isTerminal, now }: RenderContext): DetailRow[] => [
  ['path', escapeControls(path)],
  ...Object.entries(folder).flatMap(([field, value]): DetailRow[] => {
    if (isTerminal && field.startsWith('parent')) return []; // redundant: the path shows the parent
    const shown = isTerminal && field.endsWith('_at') ? relativeTime(value, now) : displayText(value);
    return [[field.replaceAll('_', ' '), shown]];
  }),
];

export const folderResult = (node: FolderNode): Result =>
  record(folderRecord(node), node.folder.uid, folderRows, { uid: 'folder' });
