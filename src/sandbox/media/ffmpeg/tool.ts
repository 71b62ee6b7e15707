import { type ChildProcess, type SpawnOptions, spawn } from 'node:child_process';
import { isWindows } from '../../../shared/platform.ts';

/** An external program, and the function that kills a process group by the pid of its leader. */
export type Tool = { path: string; killGroup(leader: number): void };

export type ToolRun = {
  args: readonly string[];
  memoryMiB: number;
  /** Working directory. Output arguments are plain names in it, which cannot be taken for patterns or protocols. */
  cwd: string;
  /** Kills the process group when aborted. */
  signal: AbortSignal;
};

/** End of a process: its stdout and the end of its stderr, and its exit code or the signal that killed it. */
type ProcessEnd = { output: Buffer; errors: string; code: number | null; killedBy: string | null };

/**
 * Starts a command in a process group of its own, with a limit on all its private writable memory, which Linux supports
 * since 4.7. macOS ignores the limit and Windows has none. Also disables core dumps.
 */
export function spawnLimited(memoryMiB: number, command: readonly [string, ...string[]], options: SpawnOptions) {
  const [program, ...args] = command;
  if (isWindows) return spawn(program, args, { ...options, windowsHide: true });
  const limit = ['-c', 'ulimit -c 0; ulimit -d "$0" 2>/dev/null; exec "$@"', String(memoryMiB * 1024)];
  return spawn('/bin/sh', [...limit, ...command], { ...options, detached: true });
}

const maxOutputBytes = 16 * 1024 * 1024;
/** Maximum length of stderr to keep. The end is kept, since it contains the error. */
const maxStderrLength = 4096;

export function collectErrors({ stderr }: ChildProcess): { text: string } {
  const errors = { text: '' };
  stderr?.setEncoding('utf8').on('data', (chunk: string) => {
    errors.text = (errors.text + chunk).slice(-maxStderrLength);
  });
  return errors;
}

/** Runs a program in its own group. @throws Error if it cannot be started or writes too much, or the abort reason */
function runLimited({ path, killGroup }: Tool, { args, memoryMiB, cwd, signal }: ToolRun) {
  return new Promise<ProcessEnd>((fulfil, reject) => {
    signal.throwIfAborted();
    // Use a separate process group, so that processes started by a wrapper script are killed too.
    const child = spawnLimited(memoryMiB, [path, ...args], {
      cwd,
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    const output: Buffer[] = [];
    let outputBytes = 0;
    const errors = collectErrors(child);
    let stopped: Error | undefined;

    const finish = () => {
      signal.removeEventListener('abort', onAbort);
      // A process that left the group might keep the pipes open.
      child.stdout?.destroy();
      child.stderr?.destroy();
      if (stopped) reject(stopped);
      else
        fulfil({
          output: Buffer.concat(output),
          errors: errors.text,
          code: child.exitCode,
          killedBy: child.signalCode,
        });
    };
    const kill = () => {
      if (child.pid === undefined) return; // never started: 'error' will follow
      killGroup(child.pid);
      if (child.exitCode === null && child.signalCode === null) child.once('exit', finish);
      else finish();
    };
    const stop = (reason: Error) => {
      stopped ??= reason;
      kill();
    };
    const onAbort = () => stop(signal.reason);

    signal.addEventListener('abort', onAbort, { once: true });
    child.stdout?.on('data', (chunk: Buffer) => {
      outputBytes += chunk.length;
      if (outputBytes > maxOutputBytes) stop(new Error('it wrote too much output'));
      else output.push(chunk);
    });
    child.on('error', (error) => {
      stopped ??= error;
      finish();
    });
    child.once('close', finish);
  });
}

/** Error for a tool that ran but rejected its input, so the file is at fault, not the system. */
export class ToolRejectedError extends Error {}

/** Exit codes of the shell if a program is missing or not executable. */
const notRunnableCodes = [126, 127];

/**
 * Runs a tool; returns its stdout.
 * @throws ToolRejectedError if it rejects its input, Error with a one-line message otherwise, or the abort reason
 */
export async function runTool(tool: Tool, run: ToolRun): Promise<Buffer> {
  const { output, errors, code, killedBy } = await runLimited(tool, run);
  if (code === 0) return output;
  const end = code === null ? `killed by ${killedBy}` : `exit code ${code}`;
  const last = errors.trim().split('\n').at(-1)?.trim();
  const message = last ? `${end}: ${last}` : end;
  const isRejection = code !== null && code < 128 && !notRunnableCodes.includes(code);
  throw isRejection ? new ToolRejectedError(message) : new Error(message);
}
