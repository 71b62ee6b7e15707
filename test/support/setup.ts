import { afterAll, afterEach } from 'vitest';
import { findProcessesOf, killAll, waitUntilNone, workerVariable } from './leftovers.ts';

/* Runs in the worker before each test file. */

process.env[workerVariable] = String(process.pid);

let hasFailed = false;
afterEach(({ task }) => {
  hasFailed ||= task.result?.state === 'fail';
});

// Ends what a test that timed out has started, and fails a file whose tests passed and left a process behind.
afterAll(async () => {
  const list = () => findProcessesOf(process.pid);
  const left = hasFailed ? list() : await waitUntilNone(list);
  killAll(left);
  if (left.length > 0 && !hasFailed)
    throw new Error(`tests left processes behind:\n${left.map(({ pid, command }) => `${pid} ${command}`).join('\n')}`);
});
