import { type ChildProcess, spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { inherited } from './environment.ts';

export const mediactlPath = fileURLToPath(new URL('../../bin/mediactl.js', import.meta.url));

type ProcessResult = {
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
): StartedProcess {
  const child = spawn(command, args, {
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

export const mediactl = (args: readonly string[], environment: Record<string, string | undefined>): StartedProcess =>
  startProcess(process.execPath, [mediactlPath, ...args], environment);
