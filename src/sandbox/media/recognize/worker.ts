import { inspect } from './inspect.ts';
import type { Message, Task } from './inspection.ts';

/*
 * A process that inspects one source: it gets a task, sends what it finds, and is killed. Its memory and
 * its time are limited from outside. A promise that a library rejects unobserved is logged to stderr and
 * ends nothing.
 */
const send = (message: Message) =>
  new Promise<void>((resolve, reject) => {
    process.send?.(message, (error: Error | null) => (error ? reject(error) : resolve()));
  });

/** Ends this process. process.exit() can wait forever for V8's compiler threads (nodejs/node#54918). */
const end = () => process.kill(process.pid, 'SIGKILL');

process.on('unhandledRejection', (error) => console.error(error));
process.once('disconnect', end); // the sandbox is gone
process.once('message', (task: Task) => {
  inspect(task, send)
    .then(() => send({ about: 'end' }))
    .catch((error: Error) => {
      console.error(error);
      end();
    });
});
