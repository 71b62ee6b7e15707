import { afterAll, afterEach } from 'vitest';
import { findProcessesOf, killAll, waitUntilNone, workerVariable } from './leftovers.ts';

/* Runs in the worker before each test file. */

process.env[workerVariable] = String(process.pid);

let hasFailed = false;
afterEach(({ task }) => {
  hasFailed ||= task.result?.state === 'fail';
});

// Kills processes that a timed-out test left running; fails a file whose tests passed but left a process running.
afterAll(async () => {
  const list = () => findProcessesOf(process.pid);
  const left = hasFailed ? list() : await waitUntilNone(list);
  killAll(left);
  if (left.length > 0 && !hasFailed)
    throw new Error(`tests left processes behind:\n${left.map(({ pid, command }) => `${pid} ${command}`).join('\n')}`);
});
