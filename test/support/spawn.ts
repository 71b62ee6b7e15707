import { type ChildProcess, spawn } from 'node:child_process';
import { appendFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { inherited } from './environment.ts';

export const mediactlPath = fileURLToPath(new URL('../../bin/mediactl.js', import.meta.url));

/** Path of a script that starts the executable and counts its runs; only in `npm run test:executable`. */
export const executable = process.env.MEDIACTL_TEST_PROGRAM;

/** Command that starts mediactl: `node bin/mediactl.js`, or the executable. */
export const mediactlCommand: readonly [string, ...string[]] = executable
  ? [executable]
  : [process.execPath, mediactlPath];

/** Command that starts the sandbox process: `node dist/sandbox.cjs`, or the file of that name in the executable. */
export const sandboxCommand: readonly [string, string] = executable
  ? [executable, '/$bunfs/root/sandbox.cjs']
  : [process.execPath, fileURLToPath(new URL('../../dist/sandbox.cjs', import.meta.url))];

/** Counts a run that needed the test's own process although the run tests the executable. */
export const countInProcessRun = () => appendFileSync(`${executable}.in-process`, '.');

/** File to link to as `mediactl` on a PATH. */
export const mediactlFile = executable ?? mediactlPath;

export type ProcessResult = {
  code: number | null;
  signal: NodeJS.Signals | null;
  stdout: string;
  stderr: string;
};

export type StartedProcess = { child: ChildProcess; finished: Promise<ProcessResult> };

/** Starts a process whose environment has only `inherited` and the given variables. */
export function startProcess(
  command: string,
  args: readonly string[],
  environment: Record<string, string | undefined>,
  cwd?: string,
): StartedProcess {
  const child = spawn(command, args, {
    cwd,
    env: { ...inherited, ...environment },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let stdout = '';
  let stderr = '';
  child.stdout.on('data', (chunk) => {
    stdout += chunk;
  });
  child.stderr.on('data', (chunk) => {
    stderr += chunk;
  });
  const finished = new Promise<ProcessResult>((resolve, reject) => {
    child.on('error', reject);
    child.on('close', (code, signal) => resolve({ code, signal, stdout, stderr }));
  });
  return { child, finished };
}

export const mediactl = (
  args: readonly string[],
  environment: Record<string, string | undefined>,
  cwd?: string,
): StartedProcess => startProcess(mediactlCommand[0], [...mediactlCommand.slice(1), ...args], environment, cwd);
