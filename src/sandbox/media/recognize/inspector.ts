import { spawn } from 'node:child_process';
import type { Broken, Found, Message, Reading, Task } from './inspection.ts';
import { limited, reservedForCodeMiB } from './limits.ts';

/** Limits of the worker process, since a malicious file could block a core or exhaust memory. */
const limits = { seconds: 600, memoryMiB: 1024, heapMiB: 768 };
/** Maximum length of stderr to keep; the end is kept. */
const keptErrorBytes = 4096;

export type Report = {
  found: Found | Broken;
  /** Result of reading the media to its end, if mediabunny can read it. */
  reading: Reading | undefined;
  /** The worker's stderr (library errors), and why it ended early. */
  complaints: string;
};

/** Paths of Node.js (`node`) and of the built media worker (`worker`). */
export type Inspector = { node: string; worker: string };

/**
 * Inspects a source in a worker process, which is killed on timeout or abort.
 *
 * @throws Error if the worker ends without a result, or the abort reason
 */
export function inspect(
  { node, worker }: Inspector,
  task: Task,
  signal: AbortSignal,
): Promise<Report> {
  return new Promise((resolve, reject) => {
    signal.throwIfAborted();
    const heap = `--max-old-space-size=${limits.heapMiB}`;
    const memoryMiB = limits.memoryMiB + reservedForCodeMiB();
    const run = limited(memoryMiB, node, [heap, worker]);
    const child = spawn(run.command, run.args, { stdio: ['ignore', 'ignore', 'pipe', 'ipc'] });
    let found: Report['found'] | undefined;
    let reading: Reading | undefined;
    let complaints = '';
    let isComplete = false;
    let stopped: Error | undefined;

    const stop = (reason: Error) => {
      stopped ??= reason;
      child.kill('SIGKILL');
    };
    const onAbort = () => stop(signal.reason);
    const late = () => stop(new Error(`inspecting took over ${limits.seconds} s`));
    const timer = setTimeout(late, limits.seconds * 1000);
    signal.addEventListener('abort', onAbort, { once: true });
    child.stderr?.setEncoding('utf8').on('data', (chunk: string) => {
      complaints = (complaints + chunk).slice(-keptErrorBytes);
    });
    child.on('message', (message: Message) => {
      if (message.about === 'source') found = message.found;
      else if (message.about === 'reading') reading = message.reading;
      else {
        isComplete = true;
        child.kill('SIGKILL'); // it may never exit on its own: see worker.ts
      }
    });
    child.on('error', (error) => {
      stopped ??= error; // the task cannot be sent; 'close' follows, unless it never started
      if (child.pid === undefined) reject(error);
    });
    child.once('close', (code, killed) => {
      clearTimeout(timer);
      signal.removeEventListener('abort', onAbort);
      if (signal.aborted) return reject(signal.reason);
      const end = stopped?.message ?? `the worker ended: ${killed ?? `exit code ${code}`}`;
      if (!isComplete || stopped) complaints = `${end}\n${complaints}`;
      if (found) return resolve({ found, reading, complaints: complaints.trim() });
      const error = new Error(end);
      error.stack = complaints.trim() || end; // the worker's own stack trace
      reject(error);
    });
    child.send(task);
  });
}
