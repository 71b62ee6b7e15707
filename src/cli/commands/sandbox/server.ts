import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { exitCodes, MediactlError } from '../../../client/errors.ts';
import { isRunning } from '../../../client/processes.ts';
import type { Context } from '../../context.ts';

/** What a running sandbox tells of itself in its data folder. */
export type Running = {
  pid: number;
  url: string;
  /** An address of its page, for one browser to open once. Not told by older sandboxes. */
  page?: string;
  workspace: string;
  /** Not told by older sandboxes. */
  workspace_name?: string;
  started_at: string;
  /** The options that it was started with. */
  options: string[];
  /** What a person should know of the folder that it was started on. */
  notes: string[];
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
    return { options: [], notes: [], ...running } as Running; // an older one did not tell
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
    const health = await transport.json({
      method: 'GET',
      url: '/health',
      authenticate: false,
      retry: 'none',
      idleTimeoutMs: 2_000,
      purpose: { action: 'ask the sandbox how it is' },
    });
    return health as Health; // of our own making: the pid is compared
  } catch (error) {
    if (error instanceof MediactlError) return undefined;
    throw error;
  } finally {
    await transport.close();
  }
}

const shutdownMs = 15_000;

/** Ends the process in good order, and waits until it is gone. */
export async function shutDown(context: Context, { pid }: Running): Promise<void> {
  const { processes } = context.host;
  processes.signal(pid, 'SIGTERM');
  const deadline = context.clock.now() + shutdownMs;
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

/** Keys that the sandbox made for this user: one with every scope, and two with fewer. */
export type Keys = { all: string; read: string; write: string };

export async function readKeys(dataDir: string): Promise<Keys> {
  const { keys } = JSON.parse(await readFile(join(dataDir, 'credentials.json'), 'utf8'));
  return keys;
}
