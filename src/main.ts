import { join } from 'node:path';
import envPaths from 'env-paths';
import packageJson from '../package.json' with { type: 'json' };
import { runProgram } from './cli/program.ts';
import { Terminal } from './cli/terminal/terminal.ts';
import { systemClock } from './client/clock.ts';
import { exitCodes, MediactlError } from './client/errors.ts';

const lastMomentsMs = 3_000;

/** The only file that touches `process`. */
async function main(): Promise<void> {
  const { stdout, stderr } = process;
  const environment = { ...process.env };
  delete process.env.MEDIACTL_API_KEY; // no program that any library starts is handed it
  const interruption = new AbortController();
  const terminal = new Terminal({
    ...{ stdin: () => process.stdin, stdout, stderr, environment },
    interruption: interruption.signal,
  });
  const stop = (problem: string, code: string, exitCode: 130 | 143) => {
    // The first signal ends in good order; the second one leaves at once.
    if (interruption.signal.aborted) {
      terminal.leave();
      process.exit(exitCode);
    }
    interruption.abort(new MediactlError(problem, { code, exitCode }));
  };
  process.on('SIGINT', () => {
    // The pager has the keyboard: Ctrl-C is for it.
    if (!terminal.isPaging) stop('interrupted', 'interrupted', exitCodes.interrupted);
  });
  process.on('SIGTERM', () => stop('terminated', 'terminated', exitCodes.terminated));
  const paths = envPaths('mediactl', { suffix: '' });
  process.exitCode = await runProgram(process.argv.slice(2), {
    terminal,
    environment,
    cwd: process.cwd(),
    clock: systemClock,
    processes: {
      pid: process.pid,
      execPath: process.execPath,
      signal: (pid, signal) => void process.kill(pid, signal),
    },
    signal: interruption.signal,
    directories: { config: paths.config, state: paths.data },
    version: packageJson.version,
    sandboxProgram: join(__dirname, 'sandbox.cjs'),
    playerScript: join(__dirname, 'player.js'),
    browseScript: join(__dirname, 'browse.js'),
  });
  // Who was told to end does end, whatever a library keeps open for a server that is away.
  if (interruption.signal.aborted) setTimeout(() => process.exit(), lastMomentsMs).unref();
}

main();
