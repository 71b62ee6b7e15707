import { createFolderLookup as createLookup, type LookupNotices } from '../../client/library/folder-lookup.ts';
import { escapeControls } from '../../shared/sanitize.ts';
import type { Context } from '../context.ts';
import { noticeFolderCount } from './asset-paths.ts';

/** Returns a function that finds the folder of an asset. If the list does not show it, lists each folder once. */
export const createFolderLookup = async (context: Context) =>
  createLookup(await context.library(), async () => lookupNotices(context));

export const lookupNotices = (context: Context): LookupNotices => ({
  onFolderCount: (count) => noticeFolderCount(context, count),
  onRefused: ({ message, explanation: { reason = message } }) =>
    context.terminal.warn(escapeControls(`the folders of assets are not known: ${reason}`)),
});
