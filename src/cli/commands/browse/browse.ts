import { once } from 'node:events';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { CodedError, usageError } from '../../../client/errors.ts';
import { runAll } from '../../../client/run-each.ts';
import { writeStateFile } from '../../../client/state-files.ts';
import type { AssetFilters } from '../../../contract/asset-filters.ts';
import { pluralize } from '../../../contract/figures.ts';
import { displayText } from '../../../contract/sanitize.ts';
import { findUnknownField } from '../../../web/browse/protocol.ts';
import { createBrowseApp } from '../../../web/browse/server/app.ts';
import { EventBroadcaster } from '../../../web/browse/server/event-broadcaster.ts';
import { renderEntryPage } from '../../../web/browse/server/gallery-page.ts';
import { readBrowseScripts } from '../../../web/browse/server/routes.ts';
import { addExamples, type CommandDefinition } from '../../command.ts';
import type { Context } from '../../context.ts';
import { anyWorkspaceOption, type IdOptions } from '../../library/asset-ids.ts';
import { listBy, noResult, type Result } from '../../output/result.ts';
import { programFor } from '../../profile-in-commands.ts';
import { parseCount } from '../../settings/units.ts';
import { parseLimitRate } from '../../uploading/upload-options.ts';
import { type FilterOptions, parseFilters, sortOption, splitPath, withFilters } from '../filters.ts';
import { serveHttp } from '../http-server.ts';
import { openWithDefault } from '../open-program.ts';
import { openAccountLibrary } from './account-library.ts';

type BrowseRequest = {
  /** Query string of the initial view. */
  view: string;
  /** Port to listen on; 0 for any free one. */
  port: number;
  opens: boolean;
  /** Upload rate limit; undefined for none. */
  bytesPerSecond: number | undefined;
  anyWorkspace: boolean;
  /** True to wait until the user has selected assets, and to print them. */
  picks: boolean;
};

type BrowseFlags = FilterOptions &
  Pick<IdOptions, 'anyWorkspace'> & {
    port?: string | undefined;
    open: boolean;
    limitRate?: string | undefined;
    pick?: true | undefined;
  };

export const browse: CommandDefinition = (command, run) => {
  addExamples(
    command,
    'mediactl browse',
    'mediactl browse /Campaigns/2026 --status ready',
    'mediactl browse --no-open --port 8123',
    'mediactl tag $(mediactl browse --pick) --add sea',
    'mediactl browse --pick /Inbox | mediactl mv - /Archive',
  );
  const described = command
    .description(
      'Opens the library in a browser, to search, play, edit, move and upload by drag and drop. It runs until you press Ctrl-C. The page is served on this machine only and never gets the API key. The URL works once, in one browser. Press Enter for another.',
    )
    .argument('[words...]', 'words in the name or description, a folder, or the URL of a browse page to show its view')
    .option('--port <number>', 'port to listen on (any free port)')
    .option('--no-open', 'print the URL without opening it')
    .option('--pick', 'wait until you have selected assets in the page, then print their uids and end')
    .option('--limit-rate <rate>', 'maximum total bytes per second, such as 5MiB')
    .option(...anyWorkspaceOption);
  withFilters(described, 'assets', 'words')
    .addOption(sortOption)
    .action(run(async (context, words, flags) => runBrowse(context, await parseBrowseRequest(context, words, flags))));
};

async function parseBrowseRequest(context: Context, words: readonly string[], flags: BrowseFlags) {
  const { port, open, limitRate, anyWorkspace = false, pick = false, ...filters } = flags;
  const { path: folder, words: others } = splitPath(words);
  const search = others.length > 0 ? others.join(' ') : undefined;
  return {
    view: queryOfAddress(words) ?? encodeQuery(await parseFilters(context, { ...filters, search, folder })),
    port: port === undefined ? 0 : parseCount('--port', port),
    opens: open,
    bytesPerSecond: parseLimitRate(limitRate),
    anyWorkspace,
    picks: pick,
  };
}

async function runBrowse(context: Context, request: BrowseRequest): Promise<Result> {
  if (context.isDryRun('serve the library on this machine')) return noResult;
  const picked = request.picks ? createPick() : undefined;
  const pages = await openPages(context, request, picked);
  let uids: Selected | undefined;
  let unfinishedCount = 0;
  try {
    await pages.printAddress();
    const opensPage = request.opens && (context.isHumanOutput || picked) && !context.terminal.isCi;
    const interrupted = waitForInterrupt(context, request.opens && !picked, pages.printAddress);
    const ended = interrupted.then(() => undefined);
    [uids] = await Promise.all([picked ? Promise.race([picked.selected, ended]) : ended, opensPage && pages.open()]);
  } finally {
    unfinishedCount = await pages.close();
  }
  if (uids) return printPicked(context, uids);
  if (uids === null) throw new CodedError('nothing was picked', { code: 'declined' });
  if (picked) throw context.signal.reason;
  if (unfinishedCount === 0) return noResult;
  context.terminal.info(
    `${pluralize(unfinishedCount, 'upload')} not finished; to resume: mediactl uploads resume --all`,
  );
  throw context.signal.reason;
}

/** Uids of the assets that the user selected in the page for a command; null if the user has canceled. */
type Selected = readonly string[] | null;

type PagePick = { selected: Promise<Selected>; pick(uids: Selected): void };

function createPick(): PagePick {
  let pick: (uids: Selected) => void = () => {};
  const selected = new Promise<Selected>((resolve) => {
    pick = resolve;
  });
  return { selected, pick };
}

/** Prints the uids of picked assets, or with --json their records. */
async function printPicked(context: Context, uids: readonly string[]): Promise<Result> {
  if (!context.isMachineReadable) {
    await context.terminal.write(`${uids.join('\n')}\n`);
    return noResult;
  }
  const { assets } = await context.api();
  const records = await runAll(uids, (uid) => assets.get(uid), context);
  return listBy(({ uid }) => uid, records, [{ field: 'uid', value: ({ uid }) => uid, uid: 'asset' }], '');
}

/** Starts the server of the page. */
async function openPages(context: Context, request: BrowseRequest, picked: PagePick | undefined) {
  const { host, stateDir, terminal } = context;
  const broadcaster = new EventBroadcaster();
  const library = await openAccountLibrary(context, broadcaster, { ...request, pick: picked?.pick });
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
    reusesEntryUrls: picked !== undefined,
    accessHint: `For a new URL, run ${program} browse in a terminal; for the view of this one, ${program} browse URL.`,
    onTokenRedeemed: () => void rm(entryFile, { force: true }),
  });
  const { getRequestListener } = await import('@hono/node-server');
  const listener = getRequestListener(pages.handle, { overrideGlobalObjects: false });
  const server = await serveHttp(listener, request.port, 'use another --port, or omit it to use any free port');
  const createUrl = () => pages.createEntryUrl(request.view);
  return {
    printAddress: async () => {
      // The output of --pick is what was picked. The token of the URL is not a secret to hide from its user.
      if (picked) terminal.stderr.write(`${createUrl()}\n`);
      else await printUrl(context, createUrl());
    },
    open: () => openPage(context, entryFile, createUrl()),
    /** Returns the number of uploads that can be resumed. */
    close: async () => {
      await server.close();
      await rm(entryFile, { force: true });
      return library.close();
    },
  };
}

/** Returns the name of the only workspace; null if there are several, since the page lists the assets of all of them. */
async function fetchWorkspaceName(context: Context): Promise<string | null> {
  const { workspaceInUse } = await context.library();
  const [only, ...others] = await workspaceInUse.visible();
  return only && others.length === 0 ? displayText(only.name) || only.uid : null;
}

/** Returns the query string of the address of a page, which was copied from any session. @throws CodedError `usage` */
function queryOfAddress([word = '', ...others]: readonly string[]): string | undefined {
  if (others.length > 0 || !/^http:\/\/127\.0\.0\.1:\d+\/b\//.test(word)) return undefined;
  const query = new URL(word).searchParams;
  query.delete('token');
  const problem = findUnknownField(query, ['asset']);
  if (problem) throw usageError(problem, 'remove it from the address');
  return query.toString();
}

const encodeQuery = (filters: AssetFilters): string =>
  new URLSearchParams(
    Object.entries(filters).filter((entry): entry is [string, string] => Boolean(entry[1])),
  ).toString();

const printUrl = ({ terminal, settings }: Context, url: string) =>
  terminal.write(settings.outputOptions.format.startsWith('json') ? `${JSON.stringify({ url })}\n` : `${url}\n`);

/** Opens the page by a file with mode 0600, because other users can read a URL and its token in process arguments. */
async function openPage(context: Context, entryFile: string, url: string) {
  await writeStateFile(entryFile, renderEntryPage(url).html);
  await openWithDefault(context, pathToFileURL(entryFile)).catch((error) => {
    if (!context.signal.aborted) throw error;
  });
}

/** Waits for Ctrl-C. Each time the user presses Enter, prints an address for another browser. */
async function waitForInterrupt(context: Context, reads: boolean, printAddress: () => Promise<unknown>): Promise<void> {
  const { signal, terminal } = context;
  const another = () => void printAddress();
  // A shell stops a background job that reads from the terminal.
  const readsEnter = reads && terminal.isInteractive && Boolean(terminal.stdout.isTTY);
  if (readsEnter) {
    terminal.info('press Enter for a URL for another browser, Ctrl-C to stop');
    terminal.stdin.on('data', another);
  }
  if (!signal.aborted) await once(signal, 'abort');
  if (readsEnter) {
    terminal.emit(''); // the prompt of the shell begins on a new line, not after ^C
    terminal.stdin.off('data', another);
    terminal.stdin.pause();
  }
}
