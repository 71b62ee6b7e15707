import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { startChangedService } from '../support/changed-service.ts';
import { Cli } from '../support/cli.ts';
import { startSandbox, type TestSandbox } from '../support/sandbox.ts';
import { mediactl } from '../support/spawn.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

let sandbox: TestSandbox;
beforeAll(async () => {
  sandbox = await startSandbox({ seed: 12, strict: false, rateLimit: { limit: 100_000, windowSeconds: 3600 } });
});
afterAll(() => sandbox.end());

const accountOf = (url: string) => ({
  MEDIACTL_BASE_URL: url,
  MEDIACTL_API_KEY: sandbox.key,
  MEDIACTL_WORKSPACE: sandbox.workspace,
});

/** What the library has, in the order of its uids. */
async function snapshot() {
  const cli = new Cli(accountOf(sandbox.url));
  return [await cli.json(['ls', '--all', '--fields', 'uid,name,tags,parent']), await cli.json(['folders', 'ls', '-r'])];
}

/** Moments of a kill: writes from the first folder to the last deletion, before and after the service has acted. */
const moments = Array.from({ length: 12 }, (_, n) => ({ write: n + 1, when: n % 2 === 0 ? 'after' : 'before' }));

it.each(moments)(
  'doctor --write leaves nothing if it was killed $when write $write and is run again',
  async ({ write, when }) => {
    const before = await snapshot();
    const home = temporaryFolder();
    const state = join(home, 'state');
    let count = 0;
    let kill = () => {};
    const isWrite = ({ method, path }: { method: string; path: string }) =>
      !['GET', 'HEAD'].includes(method) && !path.endsWith('/playback/info/');
    const { url } = await startChangedService(sandbox.url, {
      request: (request) => {
        if (!isWrite(request) || ++count !== write || when === 'after') return undefined;
        kill();
        return { status: 503 };
      },
      response: (_, request) => {
        if (isWrite(request) && count === write && when === 'after') kill();
      },
    });
    const environment = {
      ...accountOf(url),
      MEDIACTL_CONFIG_DIR: join(home, 'config'),
      MEDIACTL_STATE_DIR: state,
      MEDIACTL_KEY_STORE: 'file',
    };
    const run = () => mediactl(['doctor', '--write', '/Campaigns', '--yes', '--json'], environment);
    const killed = run();
    kill = () => void killed.child.kill('SIGKILL');
    expect((await killed.finished).signal).toBe('SIGKILL');
    kill = () => {};
    const again = await run().finished;
    expect([again.code, again.stderr]).toEqual([
      0,
      expect.stringContaining('deleted what an interrupted run had left'),
    ]);
    expect(await snapshot()).toEqual(before);
    expect(readdirSync(state).filter((name) => name.endsWith('.json'))).toEqual([]);
  },
);
