import { type ChildProcess, spawn } from 'node:child_process';
import { exitCodes } from '../../../client/error-table.ts';
import { MediactlError } from '../../../client/errors.ts';
import { withoutApiKey } from '../../../client/processes.ts';
import { makeFolder } from '../../../client/state-files.ts';
import type { Context } from '../../context.ts';
import type { SandboxLocation } from './location.ts';
import { logPath } from './log.ts';
import { findRunning, type RunningSandbox } from './server.ts';

export type LaunchOptions = {
  dataDir: string;
  port: string | undefined;
  options: readonly string[];
};

/** Server process, and its stderr until it is ready, which explains why a start failed. */
export type LaunchedServer = { child: ChildProcess; stderrText(): string };

/** Starts the server process. In the background, it is detached and writes to a log file. */
export async function launch(
  { host }: Context,
  { dataDir, port, options }: LaunchOptions,
  foreground: boolean,
): Promise<LaunchedServer> {
  await makeFolder(dataDir, 'name another one: --data DIR');
  const args = ['--data', dataDir, ...(port === undefined ? [] : ['--port', port]), ...options];
  const logging = foreground ? [] : ['--log', logPath(dataDir)];
  const child = spawn(host.processes.execPath, [host.sandboxProgram, ...args, ...logging], {
    detached: !foreground,
    env: withoutApiKey(host.environment),
    // In the foreground the log goes to stderr, because stdout is for results.
    stdio: foreground ? ['ignore', 2, 'pipe'] : ['ignore', 'ignore', 'pipe'],
  });
  let complaint = '';
  child.stderr?.setEncoding('utf8').on('data', (text: string) => {
    complaint = (complaint + text).slice(-10_000);
  });
  if (!foreground) child.unref(); // this process must be able to exit before the server
  return { child, stderrText: () => complaint.trim() };
}

const startupTimeoutMs = 15_000;
/** Exit code of the sandbox program if another process has locked the data folder. */
const lockedExitCode = 3;

/** Polls until the server is ready, stops reading its stderr, and returns the server's state. */
export async function waitUntilRunning(
  context: Context,
  { child, stderrText }: LaunchedServer,
  location: SandboxLocation,
): Promise<RunningSandbox> {
  const deadline = context.clock.now() + startupTimeoutMs;
  const isUp = () => child.exitCode === null && child.signalCode === null;
  // If two starts race, the loser exits with `lockedExitCode`, and the winner's server is used.
  while ((isUp() || child.exitCode === lockedExitCode) && context.clock.now() < deadline) {
    const running = await findRunning(context, location.dataDir);
    if (running && (running.pid === child.pid || !isUp())) {
      child.stderr?.destroy();
      return running;
    }
    await context.clock.sleep(50, context.signal);
  }
  throw notStarted(isUp() ? 'it does not answer' : stderrText(), child.exitCode, location);
}

function notStarted(reason: string, childExit: number | null, location: SandboxLocation): MediactlError {
  const [, hint] = nextSteps(location).find(([words]) => words.test(reason)) ?? [];
  return new MediactlError('the sandbox did not start', {
    // The sandbox exits with 2 for invalid options.
    code: childExit === exitCodes.usage ? 'sandbox_refused' : 'sandbox_failed',
    reason: reason.split('\n').at(-1),
    hint,
  });
}

/** Returns the hint for `--seed` on a sandbox that already has assets. */
export const seedHint = ({ profile }: SandboxLocation) =>
  `mediactl sandbox reset --profile ${profile}, then start it with --seed; or a second one: mediactl sandbox start --seed NUMBER --data DIR --profile NAME --port 0`;

const nextSteps = (location: SandboxLocation): [RegExp, string][] => [
  [/EADDRINUSE/, 'mediactl sandbox start --port 0, for any port that is free'],
  [/^--seed fills/, seedHint(location)],
  [/^no space is left/, 'make room there, or name another folder: --data DIR'],
  [/is not a database|another program|newer mediactl/, 'move that file away, or name another folder: --data DIR'],
  [/holds other files|is gone/, 'mediactl sandbox start --data DIR'],
  [/^--/, 'mediactl sandbox start --help'],
];
