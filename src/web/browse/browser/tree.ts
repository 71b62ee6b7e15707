import type { FolderView } from '../protocol.ts';

/** Flattens the tree; parents come before their children. */
export const flattenTree = (tree: readonly FolderView[]): FolderView[] =>
  tree.flatMap((folder) => [folder, ...flattenTree(folder.children)]);

export const findFolder = (tree: readonly FolderView[], uid: string) =>
  flattenTree(tree).find((folder) => folder.uid === uid);
