import {
  createFolderLookup as createLookup,
  type FolderLookup,
  type LookupNotices,
} from '../../client/library/folder-lookup.ts';
import { escapeControls } from '../../shared/sanitize.ts';
import type { Context } from '../context.ts';
import { noticeFolderCount } from './asset-paths.ts';

/** Returns a function that finds the folder of an asset. If the list does not show it, lists each folder once. */
export function createFolderLookup(context: Context): FolderLookup {
  let lookup: Promise<FolderLookup> | undefined;
  return async (asset) => {
    lookup ??= context.library().then((library) => createLookup(library, lookupNotices(context)));
    return (await lookup)(asset);
  };
}

export const lookupNotices = (context: Context): LookupNotices => ({
  onFolderCount: (count) => noticeFolderCount(context, count),
  onRefused: ({ message, explanation: { reason = message } }) =>
    context.terminal.warn(escapeControls(`the folders of assets are not known: ${reason}`)),
});
