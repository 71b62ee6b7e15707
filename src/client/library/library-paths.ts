import type { FolderNode } from './folder-tree.ts';

/** Prefix that marks an argument as a folder, for the rare path that could also be a local file. */
const folderPrefix = 'folder:';

/** Returns true if an argument is a path in the library: `/Campaigns/2026`, or the same after `folder:`. */
export const isLibraryPath = (text: string) => text.startsWith('/') || isMarkedFolder(text);

/** Returns true if an argument is explicitly a folder, such as `folder:/Campaigns`. */
export const isMarkedFolder = (text: string) => text.startsWith(`${folderPrefix}/`);

/** Returns true if a path ends with an extension such as `.mp4`, so that it is hardly a folder to create. */
export const looksLikeFile = (path: string) => /\.(?=\w*[A-Za-z])\w{2,4}$/.test(path);

export const withoutFolderPrefix = (text: string) => (isMarkedFolder(text) ? text.slice(folderPrefix.length) : text);

/** Returns true for the top level, `/`. Any other name, even `root`, can be a folder. */
export const isRootPath = (folder: string) => /^\/+$/.test(withoutFolderPrefix(folder));

/** Returns all descendants of a folder, parents before their children. */
export const descendantsOf = ({ children }: FolderNode): FolderNode[] =>
  children.flatMap((child) => [child, ...descendantsOf(child)]);
