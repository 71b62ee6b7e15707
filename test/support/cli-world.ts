import { afterAll, beforeAll, beforeEach } from 'vitest';
import { Cli } from './cli.ts';
import { startSandbox, type TestSandbox } from './sandbox.ts';

/** What tests of commands share: a sandbox a file that has requests enough, and a user of it a test. */
export function cliWorld() {
  const world = {} as { sandbox: TestSandbox; cli: Cli };
  const account = () => ({
    MEDIACTL_API_KEY: world.sandbox.key,
    MEDIACTL_BASE_URL: world.sandbox.url,
    MEDIACTL_WORKSPACE: world.sandbox.workspace,
  });
  beforeAll(async () => {
    world.sandbox = await startSandbox({ rateLimit: { limit: 100_000, windowSeconds: 3600 } });
  });
  afterAll(() => world.sandbox.end());
  beforeEach(() => {
    world.cli = new Cli(account());
  });
  return { world, account };
}
