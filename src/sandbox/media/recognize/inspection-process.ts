import type { ChildProcess } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import type { Socket } from 'node:net';
import type { Clock } from '../../../shared/clock.ts';
import { TimeoutError, withTimeout } from '../../../shared/retry.ts';
import { collectErrors, spawnLimited, type Tool } from '../ffmpeg/tool.ts';
import type { InspectionTask, WorkerMessage } from './inspection-messages.ts';

/** Limits for the worker process, since a malicious file could block a core or exhaust memory. */
const limits = { seconds: 600, memoryMiB: 1024, heapMiB: 768 };

/** Results of the worker, and its stderr, after the reason if it ended early. */
export type InspectionReport = Required<Pick<WorkerMessage, 'found'>> & WorkerMessage & { workerErrors: string };

/** Node.js, and the path of the built media worker. */
export type MediaWorker = { node: Tool; worker: string };

/** The most that V8 reserves for compiled code, in each thread that runs JavaScript. */
const maxCodeMiB = 512;

/**
 * Returns the MiB that V8 reserves for compiled code in a process of one thread of this Node.js. Add them to the memory
 * limit of a Node.js process, since `ulimit -d` counts them although they are hardly used: since Node 24, all 512 MiB
 * are mapped writable from the start. Returns 0 without /proc, where `ulimit -d` has no effect either, and in the
 * executable, whose runtime does without a reserve under a limit.
 */
export function reservedForCodeMiB(): number {
  const maps = '/proc/self/maps';
  if ('Bun' in globalThis || !existsSync(maps)) return 0;
  const executable = /^([0-9a-f]+)-([0-9a-f]+) rwxp /gm;
  let bytes = 0;
  for (const [, start = '', end = ''] of readFileSync(maps, 'utf8').matchAll(executable))
    bytes += Number.parseInt(end, 16) - Number.parseInt(start, 16);
  return Math.min(maxCodeMiB, Math.ceil(bytes / 1024 / 1024)); // this process may have more threads
}

/** Inspects a source in a worker process. @throws Error if it ends without a result, or the abort reason */
export async function inspectInWorker(
  mediaWorker: MediaWorker,
  task: InspectionTask,
  { signal, clock }: { signal: AbortSignal; clock: Pick<Clock, 'sleep'> },
): Promise<InspectionReport> {
  signal.throwIfAborted();
  const workerProcess = takeIdleProcess(mediaWorker) ?? new WorkerProcess(mediaWorker);
  const sent: WorkerMessage = {};
  const run = (stop: AbortSignal) => workerProcess.inspect(task, sent, stop);
  const { end, errors } = await withTimeout(1000 * limits.seconds, run, { signal, clock }).catch((error: Error) => {
    signal.throwIfAborted();
    const isLate = error instanceof TimeoutError;
    return { end: isLate ? `the inspection timed out after ${limits.seconds} s` : error.message, errors: '' };
  });
  const workerErrors = (end === undefined ? errors : `${end}\n${errors}`).trim();
  const { found } = sent;
  if (found) return { ...sent, found, workerErrors };
  const error = new Error(end ?? 'the worker sent no result');
  error.stack = workerErrors; // the worker's own stack trace
  throw error;
}

/** Why the process ended before its last message, if it did, and the end of its stderr. */
type InspectionEnd = { end: string | undefined; errors: string };

/** A process that inspects one source at a time. */
class WorkerProcess {
  readonly mediaWorker: MediaWorker;
  readonly #child: ChildProcess;
  /** Resolves to the reason when the process has ended. */
  readonly #ended: Promise<string>;
  readonly #errors: { text: string };
  #idleTimer: NodeJS.Timeout | undefined;

  constructor(mediaWorker: MediaWorker) {
    this.mediaWorker = mediaWorker;
    const { node, worker } = mediaWorker;
    const memoryMiB = limits.memoryMiB + reservedForCodeMiB();
    const command = [node.path, `--max-old-space-size=${limits.heapMiB}`, worker] as const;
    const child = spawnLimited(memoryMiB, [...command], { stdio: ['ignore', 'ignore', 'pipe', 'ipc'] });
    this.#errors = collectErrors(child);
    this.#ended = new Promise((resolve) => {
      child.on('error', ({ message }) => resolve(message));
      child.once('close', (code, killedBy) => resolve(`the worker exited: ${killedBy ?? `exit code ${code}`}`));
    });
    this.#ended.then(() => idleProcesses.delete(this));
    this.#child = child;
  }

  /** Sends a task and collects its results in `sent`. The process waits for another task if it says that it can. */
  async inspect(task: InspectionTask, sent: WorkerMessage, signal: AbortSignal): Promise<InspectionEnd> {
    const child = this.#child;
    let onMessage = (_: object) => {};
    const complete = new Promise<undefined>((resolve) => {
      onMessage = (message) => Object.assign(sent, message).isComplete && resolve(undefined);
    });
    const kill = () => this.kill();
    signal.addEventListener('abort', kill, { once: true });
    child.on('message', onMessage).send(task, () => {}); // if it was not sent, the process has ended
    const end = await Promise.race([complete, this.#ended]);
    signal.removeEventListener('abort', kill);
    child.off('message', onMessage);
    signal.throwIfAborted();
    const { text: errors } = this.#errors;
    this.#errors.text = '';
    // Otherwise it is killed, since it might never exit on its own (see worker.ts). After a problem it may hold open
    // files, as of a full disk, which newer runtimes end a process for.
    if (end === undefined && sent.isReusable && !sent.reading?.problem) this.#wait();
    else if (end === undefined) this.kill();
    return { end, errors };
  }

  kill(): void {
    const { pid, exitCode, signalCode } = this.#child;
    if (pid !== undefined && exitCode === null && signalCode === null) this.mediaWorker.node.killGroup(pid);
  }

  /** Waits for the next task for a while, without keeping this program running. */
  #wait(): void {
    idleProcesses.add(this);
    this.#idleTimer = setTimeout(() => {
      idleProcesses.delete(this);
      this.kill();
    }, idleMs);
    for (const handle of this.#handles()) handle?.unref?.();
  }

  /** Ends the wait for the next task. */
  resume(): void {
    clearTimeout(this.#idleTimer);
    idleProcesses.delete(this);
    for (const handle of this.#handles()) handle?.ref?.();
  }

  /** Returns what keeps this program running. In the executable, whose runtime is Bun, the channel does not. */
  #handles() {
    return [this.#child, this.#child.channel, this.#child.stderr as Socket | null, this.#idleTimer];
  }
}

/** Processes that wait for their next task: starting one takes longer than inspecting most files. */
const idleProcesses = new Set<WorkerProcess>();
const idleMs = 10_000;

function takeIdleProcess({ node, worker }: MediaWorker): WorkerProcess | undefined {
  for (const idle of idleProcesses) {
    const { mediaWorker } = idle;
    if (mediaWorker.worker !== worker || mediaWorker.node.path !== node.path) continue;
    idle.resume();
    return idle;
  }
  return undefined;
}
