import { spawn } from 'node:child_process';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { isWindows } from '../shared/platform.ts';
import { hideSqliteWarning } from '../shared/sqlite.ts';
import { readWatchScripts } from '../web/watch/server/page.ts';
import { createSandbox } from './create.ts';
import { ensureCredentials } from './credentials.ts';
import { parseFault } from './faults/parse.ts';
import { writeAtomically } from './files.ts';
import { LogFile } from './log-file.ts';
import { findFfmpeg, findTool } from './media/ffmpeg/find-tools.ts';
import { ArgumentError, parseStartOptions, type StartOptions } from './options.ts';
import { classifyStorageFailure } from './storage-failure.ts';
import { FolderLockedError } from './store/data-folder.ts';

/**
 * Runs the sandbox process, started as `node sandbox.cjs JSON` (`StartOptions`). Writes its address to server.json in the
 * data folder, and API keys to credentials.json (both 0600). Logs to a file or else to stdout, and reports a startup
 * failure on stderr in one line.
 */
async function main(): Promise<void> {
  hideSqliteWarning(process);
  process.umask(0o077); // files are readable by this user only
  // Keep running when the reader of stdout or stderr is gone, or when the disk is full.
  for (const stream of [process.stdout, process.stderr]) stream.on('error', () => {});
  const { logPath, ...options } = parseStartOptions(process.argv[2]);
  const { dataDir, faults = [] } = options;
  for (const fault of faults) parseFault(fault);
  const logFile = logPath === undefined ? undefined : new LogFile(logPath);
  const log = (line: string) => {
    if (logFile) logFile.write(line);
    else process.stdout.write(`${new Date().toISOString()} ${line}\n`);
  };
  process.on('uncaughtExceptionMonitor', (error) => log(`crashed: ${error.stack}`));
  try {
    await serve(options, log);
  } catch (error) {
    const failure = classifyStorageFailure(error);
    if (failure === 'full') throw new Error(`no disk space for the sandbox in ${dataDir}`);
    throw failure ? new Error(`the sandbox cannot use ${dataDir}: ${(error as Error).message}`) : error;
  }
}

async function serve(options: Omit<StartOptions, 'logPath'>, log: (line: string) => void) {
  // `mediactl sandbox start` compares the others with its own, to detect a sandbox with other options.
  const { dataDir, port: _port, ...compared } = options;
  const serverFile = join(dataDir, 'server.json');
  const sandbox = await createSandbox({
    ...options,
    pid: process.pid,
    mediaWorker: join(__dirname, 'media-worker.cjs'),
    node: process.execPath,
    ffmpeg: await findFfmpeg(process.env.MEDIACTL_FFMPEG, process.env.PATH),
    pdftoppm: await findTool('pdftoppm', process.env.PATH),
    killGroup,
    watchScripts: await readWatchScripts(__dirname),
    log,
  });
  const notes = [...sandbox.notes, ensureCredentials(dataDir, sandbox) ?? []].flat();
  for (const note of notes) log(note);
  const { url, workspace, workspaceName } = sandbox;
  const started_at = new Date().toISOString();
  const server = { pid: process.pid, url, workspace, workspace_name: workspaceName, started_at };
  writeAtomically(serverFile, JSON.stringify({ ...server, options: compared, notes }, null, 2));
  log(`listening on ${url}`);
  const stop = async () => {
    rmSync(serverFile, { force: true });
    const failure = await sandbox.close().catch((error: Error) => error);
    if (failure) log(`error during shutdown: ${failure.stack}`);
    process.exit(failure ? 1 : 0);
  };
  process.once('SIGTERM', stop);
  process.once('SIGINT', stop);
}

function killGroup(leader: number): void {
  const options = { stdio: 'ignore', windowsHide: true } as const;
  try {
    if (isWindows) spawn('taskkill', ['/F', '/T', '/PID', `${leader}`], options).on('error', () => {});
    else process.kill(-leader, 'SIGKILL');
  } catch (error) {
    // It has already exited. macOS says EPERM while its parent has not collected it.
    if (!['ESRCH', 'EPERM'].includes((error as NodeJS.ErrnoException).code ?? '')) throw error;
  }
}

/** Exits with 2 for invalid arguments, like mediactl itself, 3 for a locked data folder, and 1 for other failures. */
main().catch((error: Error) => {
  process.stderr.write(`${error.message}\n`);
  if (error instanceof FolderLockedError) process.exit(3);
  process.exit(error instanceof ArgumentError ? 2 : 1);
});
