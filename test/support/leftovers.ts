import { readdirSync, readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';

/* Finds what tests leave behind: processes that still run, and files outside the temporary folder of the run. */

/** Environment variable with the pid of the test worker that started a process, directly or through others. */
export const workerVariable = 'TEST_WORKER_PID';

type ProcessInfo = { pid: number; parent: number; group: number; command: string; environment: string };

const readProc = (pid: number, file: string) =>
  readFileSync(`/proc/${pid}/${file}`, 'utf8').replaceAll('\0', ' ').trim();

/** Returns true for a process that has not ended. A parent that is killed leaves its children to init, which may not collect them. */
export function isRunning(pid: number): boolean {
  try {
    return process.platform === 'linux' ? !/\) [ZX] /.test(readProc(pid, 'stat')) : process.kill(pid, 0);
  } catch {
    return false;
  }
}

const listPids = () => readdirSync('/proc').map(Number).filter(Number.isInteger);

/** Processes that ran before the first test, such as those of the kernel: reading them all takes time. */
const olderPids: ReadonlySet<number> = new Set(process.platform === 'linux' ? listPids() : []);

/** Returns the processes that can be read here and have not ended. Returns none without /proc, as on macOS. */
function listProcesses(): ProcessInfo[] {
  if (process.platform !== 'linux') return [];
  return listPids().flatMap((pid) => {
    if (olderPids.has(pid)) return [];
    try {
      const [state = '', parent, group] = readProc(pid, 'stat')
        .replace(/^.*\) /s, '')
        .split(' ');
      if ('ZX'.includes(state)) return [];
      const [command, environment] = [readProc(pid, 'cmdline'), readProc(pid, 'environ')];
      return [{ pid, parent: Number(parent), group: Number(group), command, environment }];
    } catch {
      return []; // it has ended, or belongs to another user
    }
  });
}

/** Returns true for a process that inspects media. It stays running between tests to wait for the next file. */
const isMediaWorker = ({ command }: ProcessInfo) => command.endsWith('/dist/media-worker.cjs');

/** Returns the processes that descend from a test worker, also those whose parents have ended. */
export function findProcessesOf(workerPid: number): ProcessInfo[] {
  const all = listProcesses().filter((each) => each.parent !== workerPid || !isMediaWorker(each));
  const isMarked = ({ environment }: ProcessInfo) => environment.includes(`${workerVariable}=${workerPid} `);
  const found = new Map<number, ProcessInfo>();
  for (let size = -1; size < found.size; ) {
    size = found.size;
    for (const each of all)
      if (each.pid !== workerPid && (each.parent === workerPid || found.has(each.parent) || isMarked(each)))
        found.set(each.pid, each);
  }
  return [...found.values()];
}

/** Returns the processes that have a text in their environment, except the children of this process. */
export const findProcessesWith = (text: string): ProcessInfo[] =>
  listProcesses().filter(
    ({ pid, parent, environment }) => pid !== process.pid && parent !== process.pid && environment.includes(text),
  );

/** Polls until a list is empty, for the seconds that a process may take to end. @returns what remains */
export async function waitUntilNone<T>(list: () => T[]): Promise<T[]> {
  const deadline = Date.now() + 10_000;
  for (;;) {
    const found = list();
    if (found.length === 0 || Date.now() > deadline) return found;
    await sleep(50);
  }
}

/** Kills processes, and the process groups that they lead. */
export function killAll(processes: readonly ProcessInfo[]): void {
  for (const { pid, group } of processes)
    try {
      process.kill(group === pid ? -pid : pid, 'SIGKILL');
    } catch {
      // it has ended meanwhile
    }
}

/** Folders of a checkout that a build, an installation and git write. */
const builtFolders = ['node_modules', '.git', 'dist', 'dist.new', 'dist.old'];

function listFiles(folder: string): string[] {
  return readdirSync(folder, { withFileTypes: true })
    .filter(({ name }) => !builtFolders.includes(name))
    .flatMap((entry) => {
      const path = `${folder}/${entry.name}`;
      return entry.isDirectory() ? [path, ...listFiles(path)] : [path];
    });
}

/**
 * Records the files of the checkout. @returns a function that lists those that were added since, and what programs of
 * the run left in its own TMPDIR. Folders that the run shares with other programs are not looked at.
 */
export function watchFiles(repository: string, ownTmpdir: string): () => string[] {
  const before = new Set(listFiles(repository));
  return () => [
    ...listFiles(repository).filter((path) => !before.has(path)),
    ...readdirSync(ownTmpdir).flatMap((name) => (name.includes('mediactl') ? [`${ownTmpdir}/${name}`] : [])),
  ];
}
