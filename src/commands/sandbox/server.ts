import { type ChildProcess, spawn } from 'node:child_process';
import { mkdir, open, readFile, rm } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import type { Context } from '../../context.ts';
import { exitCodes, MediactlError, usageError } from '../../errors.ts';
import { isRunning, withoutKey } from '../../processes.ts';

/** What a running sandbox tells of itself in its data folder. */
export type Running = {
  pid: number;
  url: string;
  workspace: string;
  started_at: string;
  /** The options that it was started with. */
  told: string[];
};

/** What it answers at /health. */
export type Health = {
  pid: number;
  faults?: { fault: string; times_left: number | null }[];
  /** Paths of what helps processing; null where it is missing. Not told by older sandboxes. */
  tools?: { ffmpeg: string | null; pdftoppm?: string | null };
  /** What assets go without for want of it. */
  left_out?: string[];
};

/** The profile that `sandbox start` makes. */
export const usualProfile = 'sandbox';

export const dataOption = [
  '--data <dir>',
  'folder of the sandbox (one of your user by default)',
] as const;

export function dataDirOf(context: Context, data: string | undefined): string {
  const dataDir = data === undefined ? context.sandboxDir : resolve(context.host.cwd, data);
  // Making folders there never ends in Node.
  if (/^\/(proc|sys|dev)(\/|$)/.test(dataDir))
    throw usageError(`cannot keep a sandbox in ${dataDir}`, '--data DIR');
  return dataDir;
}

export const logPath = (dataDir: string) => join(dataDir, 'sandbox.log');

/** The sandbox that runs on a folder, if one does: it must answer, and be the process it says. */
export async function findRunning(
  context: Context,
  dataDir: string,
): Promise<(Running & Health) | undefined> {
  const running = await readRunning(dataDir);
  if (!running || !(await isRunning(context.host.processes, running.pid))) return undefined;
  const health = await healthOf(context, running.url);
  return health?.pid === running.pid ? { ...running, ...health } : undefined;
}

/** What the last server wrote of itself; undefined where there is none that can be read. */
async function readRunning(dataDir: string): Promise<Running | undefined> {
  const text = await readFile(join(dataDir, 'server.json'), 'utf8').catch(() => '');
  try {
    const running = JSON.parse(text) as Partial<Running> | null;
    if (typeof running?.pid !== 'number' || !running.url) return undefined;
    return { told: [], ...running } as Running; // an older one did not tell
  } catch {
    return undefined;
  }
}

/** @throws MediactlError where a server lives on the folder that does not answer */
export async function assertNoServer(context: Context, dataDir: string): Promise<void> {
  const running = await readRunning(dataDir);
  if (running && (await isRunning(context.host.processes, running.pid))) throw hangs(running.pid);
}

/** Undefined where nobody, or somebody else, answers at that address. */
async function healthOf(context: Context, url: string): Promise<Health | undefined> {
  const { transport } = context.anonymousApi(new URL(url));
  try {
    return await transport.json<Health>({
      method: 'GET',
      url: '/health',
      authenticate: false,
      retry: 'none',
      idleTimeoutMs: 2_000,
      purpose: { action: 'ask the sandbox how it is' },
    });
  } catch (error) {
    if (error instanceof MediactlError) return undefined;
    throw error;
  } finally {
    await transport.close();
  }
}

export type Launch = { dataDir: string; port: string | undefined; told: readonly string[] };

/** Starts the server's process; detached, with its output in the log, unless in the foreground. */
export async function launch(
  { host }: Context,
  { dataDir, port, told }: Launch,
  foreground: boolean,
): Promise<ChildProcess> {
  const log = await openLog(dataDir, foreground);
  const args = [...['--data', dataDir], ...(port === undefined ? [] : ['--port', port]), ...told];
  const child = spawn(host.processes.execPath, [host.sandboxProgram, ...args], {
    detached: !foreground,
    env: withoutKey(host.environment),
    // In the foreground its log goes to stderr: stdout carries results.
    stdio: log ? ['ignore', log.fd, log.fd] : ['ignore', 2, 2],
  });
  await log?.close();
  if (!foreground) child.unref(); // whatever happens next, this process may end without it
  return child;
}

async function openLog(dataDir: string, foreground: boolean) {
  try {
    await mkdir(dataDir, { recursive: true, mode: 0o700 });
    return foreground ? undefined : await open(logPath(dataDir), 'a', 0o600);
  } catch (error) {
    throw usageError(`cannot keep a sandbox in ${dataDir}`, '--data DIR', (error as Error).message);
  }
}

const startupMs = 15_000;
/** How the sandbox's program ends where another one has its folder. */
const lockedExit = 3;

/** Waits until the child answers. */
export async function untilRunning(
  context: Context,
  child: ChildProcess,
  dataDir: string,
): Promise<Running> {
  const deadline = context.clock.now() + startupMs;
  const isUp = () => child.exitCode === null && child.signalCode === null;
  // One that another start came before ends so; the other is what runs.
  while ((isUp() || child.exitCode === lockedExit) && context.clock.now() < deadline) {
    const running = await findRunning(context, dataDir);
    if (running && (running.pid === child.pid || !isUp())) return running;
    await context.clock.sleep(50, context.signal);
  }
  const log = await readFile(logPath(dataDir), 'utf8').catch(() => '');
  const reason = log.trim().split('\n').at(-1) ?? '';
  // A folder of somebody else was refused: it is left as it was.
  if (child.exitCode === exitCodes.usage && log.trim() === reason)
    await rm(logPath(dataDir), { force: true });
  throw new MediactlError('the sandbox did not start', {
    code: 'sandbox_failed',
    // It ends with 2 where what it was told cannot be.
    exitCode: child.exitCode === exitCodes.usage ? exitCodes.usage : exitCodes.unclassified,
    reason,
    hint: reason.includes('EADDRINUSE')
      ? 'mediactl sandbox start --port 0, for any port that is free'
      : 'mediactl sandbox logs',
  });
}

/** Ends the process in good order, and waits until it is gone. */
export async function shutDown(context: Context, { pid }: Running): Promise<void> {
  const { processes } = context.host;
  processes.signal(pid, 'SIGTERM');
  const deadline = context.clock.now() + startupMs;
  while (await isRunning(processes, pid)) {
    if (context.clock.now() > deadline) throw hangs(pid);
    await context.clock.sleep(25, context.signal);
  }
}

const hangs = (pid: number) =>
  new MediactlError(`the sandbox (pid ${pid}) does not stop`, {
    code: 'sandbox_hangs',
    exitCode: exitCodes.unclassified,
    hint: `kill -9 ${pid}, if it is the sandbox; nothing that was acknowledged is lost`,
  });

/** Keys that the sandbox made for this user, by what they may do. */
export async function readKeys(dataDir: string): Promise<Record<string, string>> {
  const { keys } = JSON.parse(await readFile(join(dataDir, 'credentials.json'), 'utf8'));
  return keys;
}
