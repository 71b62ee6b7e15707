import { afterAll, beforeAll, beforeEach } from 'vitest';
import { Cli } from './cli.ts';
import { startSandbox, type TestSandbox } from './sandbox.ts';

/** Starts one sandbox per test file, with a high rate limit, and a new `Cli` user per test. */
export function setUpCli() {
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
