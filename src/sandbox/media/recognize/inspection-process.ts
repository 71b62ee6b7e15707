import { existsSync, readFileSync } from 'node:fs';
import { TimeoutError, withTimeout } from '../../../contract/retry.ts';
import { runLimited, type Tool } from '../ffmpeg/tool.ts';
import type { InspectionTask, WorkerMessage } from './inspection-messages.ts';

/** Limits for the worker process, since a malicious file could block a core or exhaust memory. */
const limits = { seconds: 600, memoryMiB: 1024, heapMiB: 768 };

/** Results of the worker, and its stderr, after the reason if it ended early. */
export type InspectionReport = Required<Pick<WorkerMessage, 'found'>> & WorkerMessage & { workerErrors: string };

/** Node.js, and the path of the built media worker. */
export type MediaWorker = { node: Tool; worker: string };

/**
 * Returns the MiB that V8 reserves for compiled code in every process of this Node.js. Add them to the memory limit
 * of a Node.js process, since `ulimit -d` counts them although they are hardly used: since Node 24, all 512 MiB are
 * mapped writable from the start. Returns 0 without /proc, where `ulimit -d` has no effect either.
 */
export function reservedForCodeMiB(): number {
  const maps = '/proc/self/maps';
  if (!existsSync(maps)) return 0;
  const executable = /^([0-9a-f]+)-([0-9a-f]+) rwxp /gm;
  let bytes = 0;
  for (const [, start = '', end = ''] of readFileSync(maps, 'utf8').matchAll(executable))
    bytes += Number.parseInt(end, 16) - Number.parseInt(start, 16);
  return Math.ceil(bytes / 1024 / 1024);
}

/** Inspects a source in a worker process. @throws Error if it ends without a result, or the abort reason */
export async function inspectInWorker(
  { node, worker }: MediaWorker,
  task: InspectionTask,
  signal: AbortSignal,
): Promise<InspectionReport> {
  const sent: WorkerMessage = {};
  // When it is complete, the worker is killed, since it might never exit on its own (see worker.ts).
  const onMessage = (message: object) => Object.assign(sent, message).isComplete === true;
  const args = [`--max-old-space-size=${limits.heapMiB}`, worker];
  const memoryMiB = limits.memoryMiB + reservedForCodeMiB();
  const run = (stop: AbortSignal) => runLimited(node, { args, memoryMiB, signal: stop, ipc: { task, onMessage } });
  const { end, errors } = await withTimeout(1000 * limits.seconds, run, { signal }).then(
    ({ errors, code, killedBy }) => ({ end: `the worker ended: ${killedBy ?? `exit code ${code}`}`, errors }),
    (error: Error) => {
      signal.throwIfAborted();
      const isLate = error instanceof TimeoutError;
      return { end: isLate ? `inspecting took over ${limits.seconds} s` : error.message, errors: '' };
    },
  );
  const workerErrors = (sent.isComplete ? errors : `${end}\n${errors}`).trim();
  const { found } = sent;
  if (found) return { ...sent, found, workerErrors };
  const error = new Error(end);
  error.stack = workerErrors; // the worker's own stack trace
  throw error;
}
