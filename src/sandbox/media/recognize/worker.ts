import { inspectSource } from './inspect-source.ts';
import type { InspectionTask, WorkerMessage } from './inspection-messages.ts';

/**
 * The media worker is a process that inspects one source at a time. It receives a task, sends its results, and waits
 * for the next one; at the end, it is killed. The parent process limits its memory and time. Unhandled rejections of
 * libraries are only logged to stderr.
 */

/** Resident memory in bytes above which a worker takes no other source. */
const maxReusableBytes = 256 * 1024 * 1024;

const send = (message: WorkerMessage) =>
  new Promise<void>((resolve, reject) => {
    process.send?.(message, (error: Error | null) => (error ? reject(error) : resolve()));
  });

/** Kills this process, since process.exit() can hang in V8 compiler threads (nodejs/node#54918). */
const end = () => process.kill(process.pid, 'SIGKILL');

process.on('unhandledRejection', (error) => console.error(error));
process.once('disconnect', end); // the sandbox has exited
process.on('message', (task: InspectionTask) => {
  inspectSource(task, send)
    .then(() => send({ isComplete: true, isReusable: process.memoryUsage.rss() < maxReusableBytes }))
    .catch((error: Error) => {
      console.error(error);
      end();
    });
});
