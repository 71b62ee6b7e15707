import { TimeoutError, withTimeout } from '../../../contract/retry.ts';
import { runLimited, type Tool } from '../ffmpeg/tool.ts';
import type {
  BrokenSource,
  InspectedSource,
  InspectionTask,
  MediaReading,
  WorkerMessage,
} from './inspection-messages.ts';
import { reservedForCodeMiB } from './memory-limit.ts';

/** Limits for the worker process, since a malicious file could block a core or exhaust memory. */
const limits = { seconds: 600, memoryMiB: 1024, heapMiB: 768 };

export type InspectionReport = {
  found: InspectedSource | BrokenSource;
  /** Result of reading the media to its end, if mediabunny can read it. */
  reading: MediaReading | undefined;
  /** Stderr of the worker, after the reason if it ended early. */
  workerErrors: string;
};

/** Node.js, and the path of the built media worker. */
export type MediaWorker = { node: Tool; worker: string };

/**
 * Inspects a source in a worker process, which is killed on timeout or abort.
 *
 * @throws Error if the worker ends without a result, or the abort reason
 */
export async function inspectInWorker(
  { node, worker }: MediaWorker,
  task: InspectionTask,
  signal: AbortSignal,
): Promise<InspectionReport> {
  let found: InspectionReport['found'] | undefined;
  let reading: MediaReading | undefined;
  let isComplete = false;
  const onMessage = (message: unknown) => {
    const sent = message as WorkerMessage;
    if (sent.about === 'source') found = sent.found;
    else if (sent.about === 'reading') reading = sent.reading;
    else isComplete = true; // it is killed, since it might never exit on its own (see worker.ts)
    return isComplete;
  };
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
  const workerErrors = (isComplete ? errors : `${end}\n${errors}`).trim();
  if (found) return { found, reading, workerErrors };
  const error = new Error(end);
  error.stack = workerErrors; // the worker's own stack trace
  throw error;
}
