import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, expect } from 'vitest';
import { type Fault, FaultProxy, type ProxiedRequest } from './fault-proxy.ts';
import { startSandbox, type TestSandbox } from './sandbox.ts';
import { mediactl, mediactlCommand, type StartedProcess, startProcess } from './spawn.ts';
import { openDatabase } from './sqlite.ts';
import { straceArguments } from './synced-state.ts';
import { temporaryFolder } from './temporary-folder.ts';

/** The fields that commands edit, as the sandbox stores them. */
export type StoredFields = {
  uid: string;
  name: string;
  description: string;
  tags: string;
  parent_uid: string | null;
  deleted_at: string | null;
};

/** The write at which a process is killed. */
type Kill = {
  /** Number of writes (PATCH and DELETE), including this one. */
  write: number;
  /** True to kill it before the service gets the request; by default, it has acted, and its response is lost. */
  isBefore?: boolean;
};

type BulkSetup = {
  sandbox: TestSandbox;
  proxy: FaultProxy;
  home: string;
  /** File for strace to log to (`SyncedState`); undefined to run without strace. */
  traceFile: string | undefined;
  /** Returns the process id of the last command. */
  pid(): number | undefined;
};

/** Starts a sandbox with sample assets per test file, and a user per test whose processes can be killed. */
export function setUpBulk(assetCount: number) {
  let started: StartedProcess | undefined;
  let kill: Kill | undefined;
  let isKilled = false;
  let writeCount = 0;
  const pid = () => started?.child.pid;
  const setup = { pid } as BulkSetup;
  const killNow = () => {
    isKilled = true;
    started?.child.kill('SIGKILL');
  };
  const planFault = ({ method }: ProxiedRequest): Fault | undefined => {
    const isWrite = method === 'PATCH' || method === 'DELETE';
    const isLast = isWrite && kill !== undefined && --kill.write === 0;
    if (isLast && kill?.isBefore) killNow();
    if (isKilled) return { respond: (_, { socket }) => void socket.destroy() };
    if (isWrite) writeCount++;
    return isLast ? { beforeResponse: killNow, dropResponse: true } : undefined;
  };
  beforeAll(async () => {
    setup.sandbox = await startSandbox({ seed: assetCount, rateLimit: { limit: 100_000, windowSeconds: 3600 } });
  });
  afterAll(() => setup.sandbox.end());
  beforeEach(async () => {
    setup.home = temporaryFolder();
    setup.traceFile = undefined;
    writeCount = 0;
    setup.proxy = await FaultProxy.start(setup.sandbox.url, planFault);
  });
  /** Returns the variables of the user's processes. */
  const environment = () => ({
    MEDIACTL_CONFIG_DIR: join(setup.home, 'config'),
    MEDIACTL_STATE_DIR: join(setup.home, 'state'),
    MEDIACTL_API_KEY: setup.sandbox.key,
    MEDIACTL_BASE_URL: setup.proxy.url,
    MEDIACTL_WORKSPACE: setup.sandbox.workspace,
  });
  const run = (...args: string[]) => {
    const { traceFile } = setup;
    started = traceFile
      ? startProcess('strace', [...straceArguments(traceFile), ...mediactlCommand, ...args], environment())
      : mediactl(args, environment());
    return started.finished;
  };
  /** Runs a command that is killed at a write, and waits until the service has answered all earlier requests. */
  const runKilled = async (at: Kill, ...args: string[]) => {
    kill = { ...at };
    const { signal, stderr } = await run(...args);
    kill = undefined;
    isKilled = false;
    expect(signal, stderr).toBe('SIGKILL');
    await expect.poll(() => setup.proxy.unanswered.size).toBe(0);
  };
  /** Changes an asset as another user does. @param fields undefined to delete it */
  const changeAsset = async (uid: string, fields: object | undefined) => {
    const { ok, status } = await fetch(`${setup.sandbox.url}/api/external/v1/assets/${uid}/`, {
      method: fields ? 'PATCH' : 'DELETE',
      headers: { authorization: `Bearer ${setup.sandbox.key}`, 'content-type': 'application/json' },
      ...(fields && { body: JSON.stringify(fields) }),
    });
    expect([ok, status]).toEqual([true, expect.any(Number)]);
  };
  /** Returns the fields of each asset in the store of the sandbox. */
  const readStore = (): Map<string, StoredFields> => {
    const database = openDatabase(join(setup.sandbox.dataDir, 'sandbox.db'));
    const rows = database.prepare('SELECT uid, name, description, tags, parent_uid, deleted_at FROM assets').all();
    database.close();
    return new Map((rows as StoredFields[]).map((row) => [row.uid, row]));
  };
  /** Writes fields of assets to the store of the sandbox. */
  const restoreStore = (rows: Iterable<StoredFields>): void => {
    const database = openDatabase(join(setup.sandbox.dataDir, 'sandbox.db'));
    const update = database.prepare(
      'UPDATE assets SET name = ?, description = ?, tags = ?, parent_uid = ?, deleted_at = ? WHERE uid = ?',
    );
    for (const { uid, name, description, tags, parent_uid, deleted_at } of rows)
      update.run(name, description, tags, parent_uid, deleted_at, uid);
    database.close();
  };
  /** Returns the number of writes that the service got. */
  const countWrites = () => writeCount;
  return { setup, environment, run, runKilled, changeAsset, readStore, restoreStore, countWrites };
}
