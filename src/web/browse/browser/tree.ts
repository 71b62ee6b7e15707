import type { FolderView } from '../protocol.ts';

/** Flattens the tree; parents come before their children. */
export const allFolders = (tree: readonly FolderView[]): FolderView[] =>
  tree.flatMap((folder) => [folder, ...allFolders(folder.children)]);

export const folderIn = (tree: readonly FolderView[], uid: string) =>
  allFolders(tree).find((folder) => folder.uid === uid);
