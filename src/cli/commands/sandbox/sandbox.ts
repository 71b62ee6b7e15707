import type { Command } from '@commander-js/extra-typings';
import { MediactlError } from '../../../client/errors.ts';
import { escapeControls, escapeControlsInLines } from '../../../contract/sanitize.ts';
import type { Context } from '../../context.ts';
import { idHelp, newestOption, resolveAssetUidIn } from '../../library/asset-ids.ts';
import { type DetailRow, noResult, record, text } from '../../output/result.ts';
import { parseCount } from '../../settings/units.ts';
import { type ActionWrapper, addExamples, type CommandDefinition } from '../command.ts';
import { openWithDefault } from '../open-program.ts';
import { dataOption, findSandbox } from './location.ts';
import { LogReader, logPath } from './log.ts';
import { reset } from './reset.ts';
import { findRunning, readKeys, type SandboxHealth, shutDown } from './server.ts';
import { start } from './start.ts';

export const sandbox: CommandDefinition = (noun, run) => {
  start(noun.command('start'), run);
  stop(noun.command('stop'), run);
  status(noun.command('status'), run);
  reset(noun.command('reset'), run);
  watch(noun.command('watch'), run);
  logs(noun.command('logs'), run);
};

function stop(command: Command, run: ActionWrapper): void {
  addExamples(command, 'mediactl sandbox stop', 'mediactl sandbox stop --profile sandbox');
  command
    .summary('stop it; everything is kept')
    .description('Stops the sandbox. Everything in it is kept, and there at the next start.')
    .option(...dataOption)
    .action(
      run(async (context, { data }) => {
        const { dataDir } = await findSandbox(context, data);
        const running = await findRunning(context, dataDir);
        if (context.isDryRun(running ? `stop pid ${running.pid}` : 'do nothing')) return noResult;
        if (running) await shutDown(context, running);
        context.terminal.info(running ? `stopped, pid ${running.pid}` : 'no sandbox is running');
        return noResult;
      }),
    );
}

type SandboxStatus = {
  running: boolean;
  url: string | null;
  /** Address of the sandbox's web page. It works once, for one browser. */
  page: string | null;
  pid: number | null;
  started_at: string | null;
  data: string;
  /** Injected faults that can still occur. */
  faults: string[];
  /** Path of the ffmpeg program that processes media; null if not found or not running. */
  ffmpeg: string | null;
  /** Path of the pdftoppm program that renders PDF pages; null if not found or not running. */
  pdftoppm: string | null;
  /** Asset features that are missing because these programs were not found. */
  left_out: string[];
};

function status(command: Command, run: ActionWrapper): void {
  addExamples(command, 'mediactl sandbox status', 'mediactl sandbox status --json');
  command
    .summary('show whether it runs, and where')
    .description('Tells whether the sandbox runs, and where it listens and keeps its data.')
    .option(...dataOption)
    .action(
      run(async (context, { data }) => {
        const { dataDir } = await findSandbox(context, data);
        const running = await findRunning(context, dataDir);
        const found: SandboxStatus = {
          running: running !== undefined,
          url: running?.url ?? null,
          page: running?.page ?? null,
          pid: running?.pid ?? null,
          started_at: running?.started_at ?? null,
          data: dataDir,
          faults: (running?.faults ?? []).map(formatFault),
          ffmpeg: running?.tools?.ffmpeg ?? null,
          pdftoppm: running?.tools?.pdftoppm ?? null,
          left_out: running?.left_out ?? [],
        };
        return record(found, found.url ?? '', statusRows);
      }),
    );
}

const formatFault = ({ fault, times_left: left }: NonNullable<SandboxHealth['faults']>[number]) =>
  left === null ? fault : `${fault} (${left} left)`;

const statusRows = (shown: SandboxStatus): DetailRow[] => [
  ['running', shown.running ? 'yes' : 'no'],
  ['url', shown.url ?? ''],
  ['page', shown.page ?? ''],
  ['pid', shown.pid === null ? '' : String(shown.pid)],
  ['since', shown.started_at ?? ''],
  ['data', shown.data],
  ...shown.faults.map((fault): DetailRow => ['fault', escapeControls(fault)]),
  ['ffmpeg', shown.running ? (shown.ffmpeg ?? 'not found') : ''],
  ['pdftoppm', shown.running ? (shown.pdftoppm ?? 'not found') : ''],
  ['left out', shown.left_out.join(', ')],
];

function logs(command: Command, run: ActionWrapper): void {
  addExamples(command, 'mediactl sandbox logs', 'mediactl sandbox logs -f');
  command
    .summary('show its log')
    .description('Shows the end of the sandbox’s log: a line a request, and what processing did.')
    .option(...dataOption)
    .option('--lines <number>', 'how many lines', '50')
    .option('-f, --follow', 'print new lines as they come, until interrupted')
    .action(
      run(async (context, { data, lines, follow }) => {
        const count = parseCount('--lines', lines, 1);
        const { dataDir } = await findSandbox(context, data);
        const log = await LogReader.open(logPath(dataDir)).catch((error) => {
          throw new MediactlError('the sandbox has no log', {
            code: 'no_log',
            reason: error.code === 'ENOENT' ? 'it was never started there' : error.message,
          });
        });
        try {
          const tail = escapeControlsInLines(await log.lastLines(count));
          if (!follow) return text(tail);
          await context.terminal.write(`${tail}\n`);
          return await followLog(context, log);
        } finally {
          await log.close();
        }
      }),
    );
}

async function followLog({ clock, signal, terminal }: Context, log: LogReader) {
  while (!signal.aborted) {
    const appended = await log.readAppended();
    if (appended) await terminal.write(escapeControlsInLines(appended));
    else await clock.sleep(250, signal).catch(() => {}); // aborted: the loop ends
  }
  return noResult;
}

function watch(command: Command, run: ActionWrapper): void {
  addExamples(command, 'mediactl sandbox watch @last', 'mediactl sandbox watch @last --open');
  command
    .summary('print the address of the page that plays an asset')
    .description(
      'Prints the address of the sandbox’s own page for an asset: for a browser, or for an iframe that tries the embed restriction. It works for as long as a playback token does.',
    )
    .argument('[id]', idHelp)
    .option('--open', 'open it in the browser')
    .option(...newestOption)
    .option(...dataOption)
    .action(
      run(async (context, id, { open, data, ...choice }) => {
        const { dataDir, profile } = await findSandbox(context, data);
        const running = await findRunning(context, dataDir);
        if (!running) throw notRunning();
        const { all } = await readKeys(dataDir);
        context.terminal.redactor.add(all);
        const api = context.apiFor({ baseUrl: new URL(running.url), apiKey: all, names: {} });
        try {
          const uid = await resolveAssetUidIn(context, async () => ({ api, profile }), 'assets', id, choice);
          const { playback_token } = await api.assets.player(uid);
          const url = new URL(`/watch/${uid}`, running.url);
          url.searchParams.set('token', playback_token);
          if (!open) return text(url.href);
          if (context.isDryRun(`open ${url.origin}${url.pathname}`)) return noResult;
          return (await openWithDefault(context, url)) ? noResult : text(url.href);
        } finally {
          await api.transport.close();
        }
      }),
    );
}

const notRunning = () =>
  new MediactlError('no sandbox is running', {
    code: 'not_running',
  });
