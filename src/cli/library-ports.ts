import { describeNotice } from '../client/changes/change-item.ts';
import type { LibraryPorts } from '../client/open/open-library.ts';
import { escapeControls } from '../shared/sanitize.ts';
import type { Context } from './context.ts';

/** Returns the questions, words and caches of the command line for a library. Their code is loaded when it is needed. */
export function libraryPorts(context: Context): LibraryPorts {
  return {
    workspaceChoice: async () => (await import('./library/workspaces.ts')).workspaceChoice(context),
    onFoldersChanged: async (createdCount) => {
      if (createdCount > 0) context.changesMade.add('folder', 'created', createdCount);
      await (await import('./library/name-cache.ts')).cachedFolders(context).invalidate();
    },
    onChange: (outcome) => context.changesMade.addChange(outcome),
    lookupNotices: async () => (await import('./library/folder-lookup.ts')).lookupNotices(context),
    onGap: (gap) => context.listGaps.push(gap),
    onChangeNotice: (notice) => context.terminal.warn(escapeControls(describeNotice(notice))),
  };
}
