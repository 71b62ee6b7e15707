import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { CodedError } from '../../../client/errors.ts';
import { isRunning } from '../../../client/processes.ts';
import { readTextFileOrEmpty } from '../../../client/read-file.ts';
import { asObject, type JsonObject, parseJsonOrUndefined } from '../../../shared/json-values.ts';
import { pollUntil, TimeoutError, withTimeout } from '../../../shared/retry.ts';
import type { Context } from '../../context.ts';

export type RunningSandbox = {
  pid: number;
  url: string;
  workspace: string;
  workspace_name: string;
  started_at: string;
  options: JsonObject;
  notes: string[];
};

export type SandboxHealth = {
  pid: number;
  faults: { fault: string; remaining_count: number | null }[];
  /** Paths of the programs used for processing; null if not found. */
  tools: { ffmpeg: string | null; pdftoppm: string | null };
  /** Asset features that are missing because these programs were not found. */
  unavailable_features: string[];
};

/** Returns the sandbox that runs on a data folder, if any. Its /health must return its pid. */
export async function findRunning(context: Context, dataDir: string) {
  const running = await readServerFile(dataDir);
  if (!running || !(await isRunning(context.host.processes, running.pid))) return undefined;
  const health = await fetchHealth(context, running.url);
  return health?.pid === running.pid ? { ...running, ...health } : undefined;
}

async function readServerFile(dataDir: string): Promise<RunningSandbox | undefined> {
  const running = asObject(parseJsonOrUndefined(readTextFileOrEmpty(join(dataDir, 'server.json'))));
  return typeof running.pid === 'number' && running.url ? (running as unknown as RunningSandbox) : undefined;
}

/** Checks that no server process still uses the data folder. @throws CodedError if one does */
export async function assertNotRunning(context: Context, dataDir: string): Promise<void> {
  const running = await readServerFile(dataDir);
  if (running && (await isRunning(context.host.processes, running.pid))) throw doesNotStop(running.pid);
}

async function fetchHealth(context: Context, url: string): Promise<SandboxHealth | undefined> {
  const { transport } = context.anonymousApi(new URL(url));
  try {
    const health = await transport.json({
      method: 'GET',
      url: '/health',
      authenticate: false,
      retry: 'none',
      idleTimeoutMs: 2_000,
      purpose: { action: 'check the health of the sandbox' },
    });
    return health as SandboxHealth; // trusted: the caller compares the pid
  } catch (error) {
    if (error instanceof CodedError) return undefined;
    throw error;
  } finally {
    await transport.close();
  }
}

const shutdownTimeoutMs = 15_000;

/** Sends SIGTERM and polls until the process has exited. @throws CodedError after a timeout */
export async function shutDown({ host, clock, signal }: Context, { pid }: RunningSandbox): Promise<void> {
  const { processes } = host;
  processes.signal(pid, 'SIGTERM');
  const hasExited = async () => ((await isRunning(processes, pid)) ? undefined : true);
  const untilExit = (aborted: AbortSignal) => pollUntil(aborted, hasExited, { clock, intervalMs: 25 });
  await withTimeout(shutdownTimeoutMs, untilExit, { clock, signal }).catch((error) => {
    throw error instanceof TimeoutError ? doesNotStop(pid) : error;
  });
}

const doesNotStop = (pid: number) =>
  new CodedError(`the sandbox (pid ${pid}) did not stop`, {
    code: 'sandbox_failed',
    hint: `kill -9 ${pid}, if that process is the sandbox; acknowledged uploads are kept`,
  });

/** Reads the keys in a data folder, of which `all` has all scopes. @throws Error if they are missing or unreadable */
export async function readKeys(dataDir: string): Promise<{ all: string; read: string; write: string }> {
  const { keys } = JSON.parse(await readFile(join(dataDir, 'credentials.json'), 'utf8'));
  return keys;
}
