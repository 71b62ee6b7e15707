import { inspect } from './inspect.ts';
import type { Message, Task } from './inspection.ts';

/**
 * A process that inspects one source: it is told a task, tells what it finds, and ends. Its memory is
 * limited from outside, and its time. What a library rejects with nobody waiting for it is told on
 * stderr, and ends nothing.
 */
const tell = (message: Message) =>
  new Promise<void>((resolve, reject) => {
    process.send?.(message, (error: Error | null) => (error ? reject(error) : resolve()));
  });

process.on('unhandledRejection', (error) => console.error(error));
process.once('disconnect', () => process.exit()); // the sandbox is gone
process.once('message', (task: Task) => {
  inspect(task, tell)
    .catch((error: Error) => {
      console.error(error);
      process.exitCode = 1;
    })
    .finally(() => process.disconnect());
});
