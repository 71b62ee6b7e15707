import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach } from 'vitest';
import { FaultProxy } from './fault-proxy.ts';
import { startSandbox, type TestSandbox } from './sandbox.ts';
import { mediactl, type StartedProcess } from './spawn.ts';
import { openDatabase } from './sqlite.ts';
import { temporaryFolder } from './temporary-folder.ts';

/** The fields that commands edit, as the sandbox stores them. */
export type StoredFields = { uid: string; name: string; description: string; tags: string; parent_uid: string | null };

type BulkSetup = {
  sandbox: TestSandbox;
  proxy: FaultProxy;
  home: string;
  killAfter: number;
  /** Returns the process id of the last command. */
  pid(): number | undefined;
};

/** Starts a sandbox with sample assets per test file, and a user per test whose processes can be killed. */
export function setUpBulk(assetCount: number) {
  let started: StartedProcess | undefined;
  const pid = () => started?.child.pid;
  const setup = { pid } as BulkSetup;
  beforeAll(async () => {
    setup.sandbox = await startSandbox({ seed: assetCount, rateLimit: { limit: 100_000, windowSeconds: 3600 } });
  });
  afterAll(() => setup.sandbox.end());
  beforeEach(async () => {
    setup.home = temporaryFolder();
    setup.killAfter = Number.POSITIVE_INFINITY;
    // Kills the process after this many writes took effect, before it gets the response.
    setup.proxy = await FaultProxy.start(setup.sandbox.url, ({ method, nth }) => {
      if (method !== 'PATCH' || nth < setup.killAfter) return undefined;
      const process = started; // a later command must not be killed by a late response
      return { beforeResponse: () => void process?.child.kill('SIGKILL'), dropResponse: true };
    });
  });
  const run = (...args: string[]) => {
    started = mediactl(args, {
      MEDIACTL_CONFIG_DIR: join(setup.home, 'config'),
      MEDIACTL_STATE_DIR: join(setup.home, 'state'),
      MEDIACTL_API_KEY: setup.sandbox.key,
      MEDIACTL_BASE_URL: setup.proxy.url,
      MEDIACTL_WORKSPACE: setup.sandbox.workspace,
    });
    return started.finished;
  };
  /** Changes an asset as another user does. */
  const changeAsset = (uid: string, fields: object) =>
    fetch(`${setup.sandbox.url}/api/external/v1/assets/${uid}/`, {
      method: 'PATCH',
      headers: { authorization: `Bearer ${setup.sandbox.key}`, 'content-type': 'application/json' },
      body: JSON.stringify(fields),
    });
  /** Returns the fields of each asset in the store of the sandbox. */
  const readStore = (): Map<string, StoredFields> => {
    const database = openDatabase(join(setup.sandbox.dataDir, 'sandbox.db'));
    const rows = database.prepare('SELECT uid, name, description, tags, parent_uid FROM assets').all();
    database.close();
    return new Map((rows as StoredFields[]).map((row) => [row.uid, row]));
  };
  const countWrites = () => setup.proxy.methods.filter((method) => method === 'PATCH').length;
  return { setup, run, changeAsset, readStore, countWrites };
}
