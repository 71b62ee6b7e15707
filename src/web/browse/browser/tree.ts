import type { FolderView } from '../protocol.ts';

/** Every folder, each before those in it. */
export const allFolders = (tree: readonly FolderView[]): FolderView[] =>
  tree.flatMap((folder) => [folder, ...allFolders(folder.children)]);

export const folderIn = (tree: readonly FolderView[], uid: string) =>
  allFolders(tree).find((folder) => folder.uid === uid);
