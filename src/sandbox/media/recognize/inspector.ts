import { spawn } from 'node:child_process';
import type { Broken, Found, Message, Reading, Task } from './inspection.ts';
import { limited, reservedForCodeMiB } from './limits.ts';

/** A hostile file must not hold a core or the memory for ever. */
const limits = { seconds: 600, memoryMiB: 1024, heapMiB: 768 };
/** Of stderr, the end is kept. */
const keptErrorBytes = 4096;

export type Report = {
  found: Found | Broken;
  /** Of media that mediabunny reads. */
  reading: Reading | undefined;
  /** What the worker said beside its answer: errors of libraries. */
  complaints: string;
};

/** Runs media workers: `node` is the path of Node.js, `worker` that of the built worker. */
export type Inspector = { node: string; worker: string };

/**
 * Has a source inspected in a process of its own, which is ended if it takes too long or the signal
 * says so.
 *
 * @throws Error where it ends without an answer, or the signal's reason
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
        child.kill('SIGKILL'); // it may never exit by itself: see worker.ts
      }
    });
    child.on('error', (error) => {
      stopped ??= error; // it cannot be told its task; 'close' follows, unless it never was
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
      error.stack = complaints.trim() || end; // where it happened is told by the worker
      reject(error);
    });
    child.send(task);
  });
}
