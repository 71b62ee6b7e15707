import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { writeStateFile } from '../../../client/state-files.ts';
import type { AssetFilters } from '../../../contract/asset-filters.ts';
import { isSameUid } from '../../../contract/uid.ts';
import { displayText } from '../../../shared/sanitize.ts';
import { createBrowseApp } from '../../../web/browse/server/app.ts';
import type { BrowseBackend } from '../../../web/browse/server/backend.ts';
import { EventBroadcaster } from '../../../web/browse/server/event-broadcaster.ts';
import { renderEntryPage } from '../../../web/browse/server/gallery-page.ts';
import { readBrowseScripts } from '../../../web/browse/server/routes.ts';
import type { Context } from '../../context.ts';
import { programFor } from '../../profile-in-commands.ts';
import { serveHttp } from '../http-server.ts';
import { openWithDefault } from '../open-program.ts';
import { openAccountLibrary } from './account-library.ts';

export type PageRequest = {
  /** Query string of the initial view. */
  view: string;
  /** Port to listen on; 0 for any free one. */
  port: number;
  /** Upload rate limit; undefined for none. */
  bytesPerSecond: number | undefined;
  anyWorkspace: boolean;
};

export const encodeView = (filters: AssetFilters): string =>
  new URLSearchParams(
    Object.entries(filters).filter((entry): entry is [string, string] => Boolean(entry[1])),
  ).toString();

/**
 * Starts the server of the page.
 *
 * @param pick called with what the user has selected, if a command waits for it
 */
export async function openPage(context: Context, request: PageRequest, pick?: BrowseBackend['pick']) {
  const { host, stateDir } = context;
  const broadcaster = new EventBroadcaster();
  const library = await openAccountLibrary(context, broadcaster, { ...request, pick });
  const program = programFor(context.settings.suggestion);
  const entryFile = join(stateDir, 'browse', `${host.processes.pid}.html`);
  const pages = await createBrowseApp({
    library,
    broadcaster,
    origin: () => server.origin,
    scripts: await readBrowseScripts(host.scriptFolder),
    program,
    profile: (await context.account()).profile,
    fetchWorkspace: () => fetchWorkspaceName(context),
    reusesEntryUrls: pick !== undefined,
    accessHint: `For a new URL, run ${program} browse in a terminal; for the view of this one, ${program} browse URL.`,
    onTokenRedeemed: () => void rm(entryFile, { force: true }),
  });
  const { getRequestListener } = await import('@hono/node-server');
  const listener = getRequestListener(pages.handle, { overrideGlobalObjects: false });
  const server = await serveHttp(listener, request.port, 'use another --port, or omit it to use any free port');
  const createUrl = () => pages.createEntryUrl(request.view);
  return {
    createUrl,
    /** Opens the page by a file with mode 0600, because other users can read a URL and its token in process arguments. */
    show: async () => {
      await writeStateFile(entryFile, renderEntryPage(createUrl()).html);
      await openWithDefault(context, pathToFileURL(entryFile)).catch((error) => {
        if (!context.signal.aborted) throw error;
      });
    },
    /** Returns the number of uploads that can be resumed. */
    close: async () => {
      await server.close();
      await rm(entryFile, { force: true });
      return library.close();
    },
  };
}

/** Returns the name of the workspace in use; null if none of several is chosen. */
async function fetchWorkspaceName(context: Context): Promise<string | null> {
  const { workspaceInUse } = await context.library();
  const visible = await workspaceInUse.visible();
  const uid = await workspaceInUse.uidIfKnown('free');
  const inUse = visible.find((each) => uid !== undefined && isSameUid(each.uid, uid));
  const found = visible.length === 1 ? visible[0] : inUse;
  return found ? displayText(found.name) || found.uid : null;
}
