import type { FolderView } from '../protocol.ts';

/** Returns all folders of a tree as a flat list; parents come before their children. */
export const flattenTree = (tree: readonly FolderView[]): FolderView[] =>
  tree.flatMap((folder) => [folder, ...flattenTree(folder.children)]);

export const findFolder = (tree: readonly FolderView[], uid: string) =>
  flattenTree(tree).find((folder) => folder.uid === uid);
