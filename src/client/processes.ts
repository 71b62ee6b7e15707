import { readFile } from 'node:fs/promises';

/** What mediactl knows of processes, its own among them; `main` alone touches the real ones. */
export type Processes = {
  pid: number;
  /** The Node binary that runs this. */
  execPath: string;
  /** Sends a signal; 0 only asks whether the process is there. Throws ESRCH where it is not. */
  signal(pid: number, signal: NodeJS.Signals | 0): void;
};

/** Whether a process of this id lives, ours or another user's. One that only waits to be reaped does not. */
export async function isRunning(processes: Processes, pid: number): Promise<boolean> {
  try {
    processes.signal(pid, 0);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
  return (await stateOf(pid)) !== 'Z';
}

/** R, S, Z … (proc(5)); undefined where nothing tells: another system, or no such process. */
async function stateOf(pid: number): Promise<string | undefined> {
  const line = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => '');
  return line[line.lastIndexOf(')') + 2];
}

/** The environment of a program that has no business with the API key. */
export const withoutKey = ({ MEDIACTL_API_KEY: _key, ...rest }: NodeJS.ProcessEnv) => rest;
