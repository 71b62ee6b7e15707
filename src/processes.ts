/** What mediactl knows of processes, its own among them; `main` alone touches the real ones. */
export type Processes = {
  pid: number;
  /** The Node binary that runs this. */
  execPath: string;
  /** Sends a signal; 0 only asks whether the process is there. Throws ESRCH where it is not. */
  signal(pid: number, signal: NodeJS.Signals | 0): void;
};

/** Whether a process of this id lives, ours or another user's. */
export function isRunning(processes: Processes, pid: number): boolean {
  try {
    processes.signal(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}
