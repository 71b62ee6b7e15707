import { readFile } from 'node:fs/promises';

/** Access to operating system processes, including the current one. Only `main` uses the real implementation. */
export type Processes = {
  pid: number;
  /** Id of this user; undefined on Windows. */
  uid: number | undefined;
  execPath: string;
  /** Sends a signal. Signal 0 only checks that the process exists. Throws ESRCH if there is no such process. */
  signal(pid: number, signal: NodeJS.Signals | 0): void;
};

/** Returns true if a process is running, even if it belongs to another user. A zombie process does not count on Linux. */
export async function isRunning(processes: Processes, pid: number): Promise<boolean> {
  try {
    processes.signal(pid, 0);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
  const line = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => '');
  return line[line.lastIndexOf(')') + 2] !== 'Z'; // the state letter, see proc(5)
}

/** Returns the environment for child processes, without the API key and without the queue, whose URL has a password. */
export const withoutSecrets = ({
  MEDIACTL_API_KEY: _key,
  MEDIACTL_QUEUE: _queue,
  MEDIACTL_METRICS_TOKEN: _token,
  ...rest
}: NodeJS.ProcessEnv) => rest;
