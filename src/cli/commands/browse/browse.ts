import { once } from 'node:events';
import type { Command } from '@commander-js/extra-typings';
import { usageError } from '../../../client/errors.ts';
import { runAll } from '../../../client/run-each.ts';
import type { AssetRecord } from '../../../contract/types.ts';
import { pluralize } from '../../../shared/figures.ts';
import { findUnknownField } from '../../../web/browse/protocol.ts';
import type { PickedAssets } from '../../../web/browse/server/backend.ts';
import { addExamples, type CommandDefinition, type FlagsOf } from '../../command.ts';
import type { Context } from '../../context.ts';
import { anyWorkspaceOption } from '../../library/asset-ids.ts';
import { listBy, noResult, type Result } from '../../output/result.ts';
import { parseCount } from '../../settings/units.ts';
import { limitRateOption, parseLimitRate } from '../../uploading/upload-options.ts';
import { parseFilters, sortOption, splitPath, withFilters } from '../filters.ts';
import { encodeView, openPage } from '../page/page.ts';
import { isListed } from '../page/page-selections.ts';
import { pickInPage } from '../page/pick.ts';

export const browse: CommandDefinition = (command, run) => {
  addExamples(
    command,
    'mediactl browse',
    'mediactl browse /Campaigns/2026 --status ready',
    'mediactl browse --no-open --port 8123',
    'mediactl browse --pick /Inbox | mediactl mv - /Archive',
    'mediactl browse --pick --json > picked.json',
  );
  addBrowseOptions(command).action(
    run(async (context, words, flags) => runBrowse(context, await parseBrowseRequest(context, words, flags))),
  );
};

const addBrowseOptions = (command: Command) => {
  const described = command
    .description(
      'Opens the library in a browser, to search, play, edit, move and upload by drag and drop. It runs until you press Ctrl-C. The page is served on this machine only and never gets the API key. The URL works once, in one browser. Press Enter for another.',
    )
    .argument('[words...]', 'words in the name or description, a folder, or the URL of a browse page to show its view')
    .option('--port <number>', 'port to listen on (any free port)')
    .option('--no-open', 'print the URL without opening it')
    .option('--pick', 'wait until you have selected assets in the page, then print their uids and end')
    .option(...limitRateOption)
    .option(...anyWorkspaceOption);
  return withFilters(described, 'assets', 'words').addOption(sortOption);
};

async function parseBrowseRequest(context: Context, words: readonly string[], flags: FlagsOf<typeof addBrowseOptions>) {
  const { port, open, limitRate, anyWorkspace = false, pick = false, ...filters } = flags;
  const { path: folder, words: others } = splitPath(words);
  const search = others.length > 0 ? others.join(' ') : undefined;
  return {
    view: queryOfAddress(words) ?? encodeView(await parseFilters(context, { ...filters, search, folder })),
    port: port === undefined ? 0 : parseCount('--port', port),
    opens: open,
    bytesPerSecond: parseLimitRate(limitRate),
    anyWorkspace,
    picks: pick,
  };
}

async function runBrowse(context: Context, request: Awaited<ReturnType<typeof parseBrowseRequest>>): Promise<Result> {
  if (context.isDryRun('serve the library on this machine')) return noResult;
  if (request.picks) return printPicked(context, await pickInPage(context, request, 'to print what they are'));
  const page = await openPage(context, request);
  const printAddress = () => printUrl(context, page.createUrl());
  let unfinishedCount = 0;
  try {
    await printAddress();
    const opensPage = request.opens && context.isHumanOutput && !context.terminal.isCi;
    await Promise.all([waitForInterrupt(context, request.opens, printAddress), opensPage && page.show()]);
  } finally {
    unfinishedCount = await page.close();
  }
  if (unfinishedCount === 0) return noResult;
  context.terminal.info(
    `${pluralize(unfinishedCount, 'upload')} not finished; to resume: mediactl uploads resume --all`,
  );
  throw context.signal.reason;
}

/** Prints the uids of picked assets, or with --json their records. Reads those that the page has not listed. */
async function printPicked(context: Context, { assets }: PickedAssets): Promise<Result> {
  if (!context.isMachineReadable) {
    await context.terminal.write(`${assets.map(({ uid }) => uid).join('\n')}\n`);
    return noResult;
  }
  const { assets: api } = await context.api();
  const read = async (asset: AssetRecord) => (isListed(asset) ? asset : api.get(asset.uid));
  const records = await runAll(assets, read, context);
  return listBy(({ uid }) => uid, records, [{ field: 'uid', uid: 'asset' }], '');
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

const printUrl = ({ terminal, settings }: Context, url: string) =>
  terminal.write(settings.outputOptions.format.startsWith('json') ? `${JSON.stringify({ url })}\n` : `${url}\n`);

/** Waits for Ctrl-C. Each time the user presses Enter, prints an address for another browser. */
async function waitForInterrupt(context: Context, reads: boolean, printAddress: () => Promise<unknown>): Promise<void> {
  const { signal, terminal } = context;
  const another = () => void printAddress();
  // A shell stops a background job that reads from the terminal.
  const readsEnter = reads && terminal.isInteractive && Boolean(terminal.stdout.isTTY);
  if (!reads && terminal.isInteractive) terminal.info('open the URL in a browser; Ctrl-C to stop');
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
