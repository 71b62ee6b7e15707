import { inspectSource } from './inspect-source.ts';
import type { InspectionTask, WorkerMessage } from './inspection-messages.ts';

/**
 * The media worker is a process that inspects one source. It receives a task, sends its results, and is killed. The
 * parent process limits its memory and time. Unhandled rejections of libraries are only logged to stderr.
 */

const send = (message: WorkerMessage) =>
  new Promise<void>((resolve, reject) => {
    process.send?.(message, (error: Error | null) => (error ? reject(error) : resolve()));
  });

/** Kills this process, since process.exit() can hang in V8 compiler threads (nodejs/node#54918). */
const end = () => process.kill(process.pid, 'SIGKILL');

process.on('unhandledRejection', (error) => console.error(error));
process.once('disconnect', end); // the sandbox has exited
process.once('message', (task: InspectionTask) => {
  inspectSource(task, send)
    .then(() => send({ isComplete: true }))
    .catch((error: Error) => {
      console.error(error);
      end();
    });
});
