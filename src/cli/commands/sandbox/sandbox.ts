import { rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { CodedError } from '../../../client/errors.ts';
import { pollUntil } from '../../../shared/retry.ts';
import { escapeControls, escapeControlsInLines, quoteForShell } from '../../../shared/sanitize.ts';
import { addExamples, type CommandDefinition, type Define, verb } from '../../command.ts';
import type { Context } from '../../context.ts';
import { type DetailRow, noResult, type Result, record, text } from '../../output/result.ts';
import { parseCount } from '../../settings/units.ts';
import { confirm } from '../../terminal/prompt.ts';
import { LogReader, logPath } from './log.ts';
import { dataOption, findProfiles, findSandbox, forgetProfiles } from './profiles.ts';
import { assertNotRunning, findRunning, type RunningSandbox, type SandboxHealth, shutDown } from './server.ts';

export const sandbox: CommandDefinition = [
  verb('start', 'start the sandbox, a local copy of the service', async () => (await import('./start.ts')).start),
  verb('stop', 'stop the sandbox; its data is kept', async () => stop),
  verb('status', 'show whether the sandbox is running, and where', async () => status),
  verb('reset', 'stop the sandbox and delete its data', async () => reset),
  verb('logs', 'show the log of the sandbox', async () => logs),
];

type DataFlags = { dataDir?: string | undefined };

const stop: Define = (command, run) =>
  addExamples(command, 'mediactl sandbox stop', 'mediactl sandbox stop --profile sandbox')
    .description('Stops the sandbox. Its data is kept for the next start.')
    .option(...dataOption)
    .action(run(runStop));

async function runStop(context: Context, { dataDir: typed }: DataFlags): Promise<Result> {
  const { dataDir } = await findSandbox(context, typed);
  const running = await findRunning(context, dataDir);
  if (context.isDryRun(running ? `stop pid ${running.pid}` : 'do nothing')) return noResult;
  if (running) await shutDown(context, running);
  context.terminal.info(running ? `stopped the sandbox (pid ${running.pid})` : 'no sandbox is running');
  return noResult;
}

const status: Define = (command, run) =>
  addExamples(command, 'mediactl sandbox status', 'mediactl sandbox status --json')
    .description('Shows whether the sandbox is running, its URL, and where it stores its data.')
    .option(...dataOption)
    .action(run(runStatus));

async function runStatus(context: Context, { dataDir: typed }: DataFlags): Promise<Result> {
  const { dataDir } = await findSandbox(context, typed);
  const found = toStatus(dataDir, await findRunning(context, dataDir));
  return record(found, found.url ?? '', statusRows);
}

const toStatus = (dataDir: string, running: (RunningSandbox & SandboxHealth) | undefined) => ({
  running: running !== undefined,
  url: running?.url ?? null,
  pid: running?.pid ?? null,
  started_at: running?.started_at ?? null,
  data_dir: dataDir,
  faults: running?.faults ?? [],
  ffmpeg: running?.tools.ffmpeg ?? null,
  pdftoppm: running?.tools.pdftoppm ?? null,
  unavailable_features: running?.unavailable_features ?? [],
});

const statusRows = (shown: ReturnType<typeof toStatus>): DetailRow[] => [
  ['running', shown.running ? 'yes' : 'no'],
  ['url', shown.url ?? ''],
  ['pid', shown.pid === null ? '' : String(shown.pid)],
  ['since', shown.started_at ?? ''],
  ['data dir', shown.data_dir],
  ...shown.faults.map(
    ({ fault, remaining_count: count }): DetailRow => [
      'fault',
      escapeControls(count === null ? fault : `${fault} (${count} remaining)`),
    ],
  ),
  ['ffmpeg', shown.running ? (shown.ffmpeg ?? 'not found') : ''],
  ['pdftoppm', shown.running ? (shown.pdftoppm ?? 'not found') : ''],
  ['unavailable', shown.unavailable_features.join(', ')],
];

const reset: Define = (command, run) =>
  addExamples(command, 'mediactl sandbox reset --yes')
    .description('Stops the sandbox and deletes all its assets, uploads and keys, and the profiles created for it.')
    .option(...dataOption)
    .action(run(runReset));

async function runReset(context: Context, { dataDir: typed }: DataFlags): Promise<Result> {
  const { terminal } = context;
  const { dataDir } = await findSandbox(context, typed);
  if (!(await stat(join(dataDir, 'sandbox.db')).catch(() => undefined))) {
    terminal.info(`no sandbox in ${dataDir}; nothing was deleted`);
    return noResult;
  }
  if (context.isDryRun(`stop the sandbox and delete its data in ${dataDir}`)) return noResult;
  const profiles = await findProfiles(context, dataDir);
  const named = profiles.map((name) => ` and profile ${name}`).join('');
  const instead = `mediactl sandbox reset --yes${typed === undefined ? '' : ` --data-dir ${quoteForShell(typed)}`}`;
  await confirm(context, `Delete all data of the sandbox in ${dataDir}${named}?`, instead);
  const running = await findRunning(context, dataDir);
  if (running) await shutDown(context, running);
  await assertNotRunning(context, dataDir);
  await forgetProfiles(context, profiles);
  for (const name of ownFiles) await rm(join(dataDir, name), { recursive: true, force: true });
  terminal.info(
    `deleted the sandbox${named}; to start a new one: mediactl sandbox start${dataDir === context.sandboxDir ? '' : ` --data-dir ${quoteForShell(dataDir)}`}`,
  );
  return noResult;
}

/** Files of the sandbox in its data folder, which might contain others. */
const ownFiles = [
  ...['sandbox.db', 'sandbox.db-wal', 'sandbox.db-shm', 'lock', 'lock-journal', 'secret', 'credentials.json'],
  ...['server.json', 'sandbox.log', 'sandbox.log.1', 'uploads', 'media'],
];

const logs: Define = (command, run) =>
  addExamples(command, 'mediactl sandbox logs', 'mediactl sandbox logs -f')
    .description('Shows the last lines of the sandbox’s log, which has one line per request and reports on processing.')
    .option(...dataOption)
    .option('--lines <number>', 'number of lines to show', '50')
    .option('-f, --follow', 'keep printing new lines until interrupted')
    .action(run((context, flags) => runLogs(context, { ...flags, count: parseCount('--lines', flags.lines, 1) })));

type LogsRequest = DataFlags & { count: number; follow?: true | undefined };

async function runLogs(context: Context, { dataDir: typed, count, follow }: LogsRequest): Promise<Result> {
  const { dataDir } = await findSandbox(context, typed);
  const log = await LogReader.open(logPath(dataDir)).catch((error) => {
    throw new CodedError('the sandbox has no log', {
      code: 'not_running',
      reason: error.code === 'ENOENT' ? `it has never been started in ${dataDir}` : error.message,
    });
  });
  try {
    const tail = escapeControlsInLines(await log.lastLines(count));
    if (!follow) return text(tail);
    await context.terminal.write(`${tail}\n`);
    await followLog(context, log);
    return noResult;
  } finally {
    await log.close();
  }
}

async function followLog({ clock, signal, terminal }: Context, log: LogReader): Promise<void> {
  const printAppended = async () => {
    const appended = await log.readAppended();
    if (appended) await terminal.write(escapeControlsInLines(appended));
    return undefined;
  };
  await pollUntil(signal, printAppended, { clock, intervalMs: 250 }).catch((error) => {
    if (!signal.aborted) throw error;
  });
}
