import { once } from 'node:events';
import { readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { usageError } from '../../../client/errors.ts';
import { writeStateFile } from '../../../client/state-files.ts';
import type { AssetFilters } from '../../../contract/asset-filters.ts';
import { pluralize } from '../../../contract/figures.ts';
import { findUnknownField } from '../../../web/browse/protocol.ts';
import { createBrowseApp } from '../../../web/browse/server/app.ts';
import { EventBroadcaster } from '../../../web/browse/server/event-broadcaster.ts';
import { renderEntryPage } from '../../../web/browse/server/gallery-page.ts';
import { addExamples, type CommandDefinition } from '../../command.ts';
import type { Context } from '../../context.ts';
import { anyWorkspaceOption, type IdOptions } from '../../library/asset-ids.ts';
import { noResult, type Result } from '../../output/result.ts';
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
};

type BrowseFlags = FilterOptions &
  Pick<IdOptions, 'anyWorkspace'> & { port?: string | undefined; open: boolean; limitRate?: string | undefined };

export const browse: CommandDefinition = (command, run) => {
  addExamples(
    command,
    'mediactl browse',
    'mediactl browse /Campaigns/2026 --status ready',
    'mediactl browse --no-open --port 8123',
  );
  const described = command
    .description(
      'Opens the library in a browser, to search, play, edit, move and upload by drag and drop. It runs until you press Ctrl-C. The page is served on this machine only and never gets the API key. The URL works once, in one browser. Press Enter for another.',
    )
    .argument('[words...]', 'words in the name or description, a folder, or the URL of a browse page to show its view')
    .option('--port <number>', 'port to listen on (any free port)')
    .option('--no-open', 'print the URL without opening it')
    .option('--limit-rate <rate>', 'maximum total bytes per second, such as 5MiB')
    .option(...anyWorkspaceOption);
  withFilters(described, 'assets', 'words')
    .addOption(sortOption)
    .action(run(async (context, words, flags) => runBrowse(context, await parseBrowseRequest(context, words, flags))));
};

async function parseBrowseRequest(context: Context, words: readonly string[], flags: BrowseFlags) {
  const { port, open, limitRate, anyWorkspace = false, ...filters } = flags;
  const { path: folder, words: others } = splitPath(words);
  const search = others.length > 0 ? others.join(' ') : undefined;
  return {
    view: queryOfAddress(words) ?? encodeQuery(await parseFilters(context, { ...filters, search, folder })),
    port: port === undefined ? 0 : parseCount('--port', port),
    opens: open,
    bytesPerSecond: parseLimitRate(limitRate),
    anyWorkspace,
  };
}

async function runBrowse(context: Context, request: BrowseRequest): Promise<Result> {
  if (context.isDryRun('serve the library on this machine')) return noResult;
  const { host, stateDir, terminal } = context;
  const broadcaster = new EventBroadcaster();
  const library = await openAccountLibrary(context, broadcaster, request);
  const [script, player] = await Promise.all([
    readFile(host.browseScript, 'utf8'),
    readFile(host.playerScript, 'utf8'),
  ]);
  const program = programFor(context.settings.suggestion);
  const entryFile = join(stateDir, 'browse', `${host.processes.pid}.html`);
  const pages = await createBrowseApp({
    library,
    broadcaster,
    origin: () => server.origin,
    scripts: { browse: script, player },
    program,
    accessHint: `For a new URL, run ${program} browse in a terminal; for the view of this one, ${program} browse URL.`,
    onTokenRedeemed: () => void rm(entryFile, { force: true }),
  });
  const portHint = 'use another --port, or omit it to use any free port';
  const { getRequestListener } = await import('@hono/node-server');
  const listener = getRequestListener(pages.handle, { overrideGlobalObjects: false });
  const server = await serveHttp(listener, request.port, portHint);
  let unfinishedCount = 0;
  try {
    const printAddress = () => printUrl(context, pages.createEntryUrl(request.view));
    await printAddress();
    const opensPage = request.opens && context.isHumanOutput && !terminal.isCi;
    await Promise.all([
      opensPage && openPage(context, entryFile, pages.createEntryUrl(request.view)),
      waitForInterrupt(context, request.opens, printAddress),
    ]);
  } finally {
    await server.close();
    unfinishedCount = await library.close();
    await rm(entryFile, { force: true });
  }
  if (unfinishedCount === 0) return noResult;
  terminal.info(`${pluralize(unfinishedCount, 'upload')} not finished; to resume: mediactl uploads resume --all`);
  throw context.signal.reason;
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
