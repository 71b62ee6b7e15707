import { statSync } from 'node:fs';
import { userInfo } from 'node:os';
import { isAbsolute, join } from 'node:path';
import { setFlagsFromString } from 'node:v8';
import { version } from '../package.json';
import { exitCodes } from './cli/error-hints.ts';
import { Terminal } from './cli/terminal/terminal.ts';
import { openTty } from './cli/terminal/tty.ts';
import { CodedError } from './client/errors.ts';
import { systemClock } from './shared/clock.ts';
import { hideSqliteWarning } from './shared/sqlite.ts';

/** Time for output to be flushed once the command has ended. */
const exitGraceMs = 1_000;
/** Time for file operations to end before an interrupted program ends. */
const fileGraceMs = 300;

/** Runs the program. Except for the keychain process, this is the only file of the tool that uses `process`. */
async function main(): Promise<void> {
  const { stdout, stderr } = process;
  useOwnHome();
  hideSqliteWarning(process);
  const environment = { ...process.env };
  // Child processes must not inherit keys and passwords.
  delete process.env.MEDIACTL_API_KEY;
  delete process.env.MEDIACTL_QUEUE;
  delete process.env.MEDIACTL_METRICS_TOKEN;
  const interruption = new AbortController();
  const terminal = new Terminal({
    stdin: () => process.stdin,
    openTty,
    stdout,
    stderr,
    environment,
    interruption: interruption.signal,
  });
  let exit: () => void = () => process.exit();
  const stop = (code: 'interrupted' | 'terminated', signal: NodeJS.Signals) => {
    exit = () => exitOrDie(signal);
    // The first signal shuts down gracefully; the second one exits at once.
    if (interruption.signal.aborted) {
      terminal.restore();
      process.exitCode = exitCodes[code];
      return exit();
    }
    interruption.abort(new CodedError(code, { code }));
  };
  process.on('SIGINT', () => {
    // While a pager is running, Ctrl-C is meant for the pager.
    if (!terminal.isPaging) stop('interrupted', 'SIGINT');
  });
  for (const signal of ['SIGTERM', 'SIGHUP'] as const) process.on(signal, () => stop('terminated', signal));
  const { runProgram } = await import('./cli/program.ts');
  const { findUserFolders } = await import('./cli/settings/user-folders.ts'); // which reads HOME
  process.exitCode = exitCodes.unclassified; // if nothing is left to wait for before the program has ended
  process.exitCode = await runProgram(process.argv.slice(2), {
    terminal,
    environment,
    cwd: process.cwd(),
    clock: systemClock,
    processes: {
      pid: process.pid,
      uid: process.getuid?.(),
      execPath: process.execPath,
      signal: (pid, signal) => void process.kill(pid, signal),
    },
    signal: interruption.signal,
    directories: findUserFolders(),
    version,
    wrapFirstRequest: withBaselineWasm,
    sandboxProgram: join(__dirname, 'sandbox.cjs'),
    keychainProgram: join(__dirname, 'keychain.cjs'),
    scriptFolder: __dirname,
  });
  // Exit even if a library keeps a socket open.
  setTimeout(() => exit(), exitGraceMs).unref();
}

/**
 * Ends this process with its exit code. `process.exit` waits for file operations, which never return on a dead mount or a
 * pipe without a reader: after the grace time, the signal that was received ends the process.
 */
function exitOrDie(signal: NodeJS.Signals, graceMs = fileGraceMs): void {
  const isWaiting = process.getActiveResourcesInfo().some((name) => name.startsWith('FSReq'));
  if (isWaiting && graceMs > 0) return void setTimeout(() => exitOrDie(signal, 0), graceMs);
  if (isWaiting) {
    process.removeAllListeners(signal);
    process.kill(process.pid, signal);
  }
  process.exit();
}

/**
 * Runs `work` while V8 compiles WebAssembly with its baseline compiler only. The first connection compiles undici's
 * HTTP parser. Optimizing it would occupy threads for 100 ms and delay process exit, without being faster for a few
 * responses. The flags are restored because V8's code cache is keyed by its flags.
 */
async function withBaselineWasm<T>(work: () => Promise<T>): Promise<T> {
  setFlagsFromString('--liftoff-only');
  try {
    return await work();
  } finally {
    for (const flag of ['--no-liftoff-only', '--wasm-tier-up', '--wasm-dynamic-tiering']) setFlagsFromString(flag);
  }
}

/**
 * Uses this user's own home if HOME is that of another user, as after `sudo -E`: the settings there can start programs,
 * and its user could not change the files that this one would leave there. Relative XDG folders are ignored, as their
 * specification says.
 */
function useOwnHome(): void {
  const { env } = process;
  const folders = ['XDG_CONFIG_HOME', 'XDG_DATA_HOME', 'XDG_CACHE_HOME'];
  for (const name of folders) if (env[name] && !isAbsolute(env[name])) delete env[name];
  try {
    const owner = statSync(env.HOME ?? '').uid;
    if ([0, process.getuid?.() ?? owner].includes(owner)) return;
    env.HOME = userInfo().homedir;
    for (const name of folders) delete env[name];
  } catch {
    // no such folder, or a user without one, as in containers
  }
}

main();
