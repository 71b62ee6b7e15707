import { spawn } from 'node:child_process';
import type {
  BrokenSource,
  InspectedSource,
  InspectionTask,
  MediaReading,
  WorkerMessage,
} from './inspection-messages.ts';
import { reservedForCodeMiB, withMemoryLimit } from './memory-limit.ts';

/** Limits for the worker process, since a malicious file could block a core or exhaust memory. */
const limits = { seconds: 600, memoryMiB: 1024, heapMiB: 768 };
/** Maximum length of stderr to keep. The end is kept. */
const maxStderrLength = 4096;

export type InspectionReport = {
  found: InspectedSource | BrokenSource;
  /** Result of reading the media to its end, if mediabunny can read it. */
  reading: MediaReading | undefined;
  /** Stderr of the worker, after the reason if it ended early. */
  workerErrors: string;
};

/** Paths of Node.js (`node`) and of the built media worker (`worker`). */
export type MediaWorkerPaths = { node: string; worker: string };

/**
 * Inspects a source in a worker process, which is killed on timeout or abort.
 *
 * @throws Error if the worker ends without a result, or the abort reason
 */
export function inspectInWorker(
  { node, worker }: MediaWorkerPaths,
  task: InspectionTask,
  signal: AbortSignal,
): Promise<InspectionReport> {
  return new Promise((resolve, reject) => {
    signal.throwIfAborted();
    const heap = `--max-old-space-size=${limits.heapMiB}`;
    const memoryMiB = limits.memoryMiB + reservedForCodeMiB();
    const run = withMemoryLimit(memoryMiB, node, [heap, worker]);
    const child = spawn(run.command, run.args, { stdio: ['ignore', 'ignore', 'pipe', 'ipc'] });
    let found: InspectionReport['found'] | undefined;
    let reading: MediaReading | undefined;
    let complaints = '';
    let isComplete = false;
    let stopped: Error | undefined;

    const stop = (reason: Error) => {
      stopped ??= reason;
      child.kill('SIGKILL');
    };
    const onAbort = () => stop(signal.reason);
    const timeout = AbortSignal.timeout(1000 * limits.seconds);
    timeout.addEventListener('abort', () => stop(new Error(`inspecting took over ${limits.seconds} s`)));
    signal.addEventListener('abort', onAbort, { once: true });
    child.stderr?.setEncoding('utf8').on('data', (chunk: string) => {
      complaints = (complaints + chunk).slice(-maxStderrLength);
    });
    child.on('message', (message: WorkerMessage) => {
      if (message.about === 'source') found = message.found;
      else if (message.about === 'reading') reading = message.reading;
      else {
        isComplete = true;
        child.kill('SIGKILL'); // it might never exit on its own (see worker.ts)
      }
    });
    child.on('error', (error) => {
      stopped ??= error; // not sent; 'close' follows unless the process never started
      if (child.pid === undefined) reject(error);
    });
    child.once('close', (code, killed) => {
      signal.removeEventListener('abort', onAbort);
      if (signal.aborted) return reject(signal.reason);
      const end = stopped?.message ?? `the worker ended: ${killed ?? `exit code ${code}`}`;
      if (!isComplete || stopped) complaints = `${end}\n${complaints}`;
      if (found) return resolve({ found, reading, workerErrors: complaints.trim() });
      const error = new Error(end);
      error.stack = complaints.trim() || end; // the worker's own stack trace
      reject(error);
    });
    child.send(task);
  });
}
