import { spawn } from 'node:child_process';
import { limited } from '../recognize/limits.ts';

/** A program that helps with processing, and how a process ends together with all that it started. */
export type Tool = { path: string; killGroup(leader: number): void };

export type ToolRun = {
  args: readonly string[];
  memoryMiB: number;
  /** Outputs are plain names in here: no path can be taken for a pattern or a protocol. */
  cwd: string;
  /** Ends it, with its group. */
  signal: AbortSignal;
};

const maxOutputBytes = 16 * 1024 * 1024;
/** Of stderr, the end is kept: it tells what stopped it. */
const keptErrorBytes = 2048;

/** The tool ran to its end, and says no: what it read is to blame. */
export class ToolRefused extends Error {}

/**
 * Runs to its end.
 * @returns what it wrote to stdout
 * @throws the signal's reason, or an Error that says in a line what went wrong
 */
export function runTool(
  { path, killGroup }: Tool,
  { args, memoryMiB, cwd, signal }: ToolRun,
): Promise<Buffer> {
  return new Promise((fulfil, reject) => {
    signal.throwIfAborted();
    const run = limited(memoryMiB, path, args);
    // A group of its own: what a wrapper starts ends with it.
    const child = spawn(run.command, run.args, {
      cwd,
      detached: true,
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    const output: Buffer[] = [];
    let outputBytes = 0;
    let errors = '';
    let stopped: Error | undefined;

    const finish = () => {
      signal.removeEventListener('abort', onAbort);
      // A process that left the group may still hold its streams.
      child.stdout.destroy();
      child.stderr.destroy();
      if (stopped) reject(stopped);
      else if (child.exitCode === 0) fulfil(Buffer.concat(output));
      else reject(failureOf(child.exitCode, child.signalCode, errors));
    };
    const stop = (reason: Error) => {
      stopped ??= reason;
      if (child.pid === undefined) return; // never started: 'error' follows
      killGroup(child.pid);
      if (child.exitCode === null && child.signalCode === null) child.once('exit', finish);
      else finish();
    };
    const onAbort = () => stop(signal.reason);

    signal.addEventListener('abort', onAbort, { once: true });
    child.stdout.on('data', (chunk: Buffer) => {
      outputBytes += chunk.length;
      if (outputBytes > maxOutputBytes) stop(new Error('it wrote too much'));
      else output.push(chunk);
    });
    child.stderr.setEncoding('utf8').on('data', (chunk: string) => {
      errors = (errors + chunk).slice(-keptErrorBytes);
    });
    child.on('error', (error) => {
      stopped ??= error;
      finish();
    });
    child.once('close', finish);
  });
}

/** The shell says so of what is not there, or cannot be run. */
const notRun = [126, 127];

function failureOf(code: number | null, signal: string | null, errors: string): Error {
  const end = code === null ? `ended by ${signal}` : `exit code ${code}`;
  const last = errors.trim().split('\n').at(-1)?.trim();
  const message = last ? `${end}: ${last}` : end;
  const isVerdict = code !== null && code < 128 && !notRun.includes(code);
  return isVerdict ? new ToolRefused(message) : new Error(message);
}
