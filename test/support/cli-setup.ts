import { afterAll, beforeAll, beforeEach } from 'vitest';
import { Cli } from './cli.ts';
import { startSandbox, type TestSandbox } from './sandbox.ts';

/** Starts one sandbox per test file, with a high rate limit, and a new `Cli` user per test. */
export function setUpCli() {
  const setup = {} as { sandbox: TestSandbox; cli: Cli };
  const account = () => ({
    MEDIACTL_API_KEY: setup.sandbox.key,
    MEDIACTL_BASE_URL: setup.sandbox.url,
    MEDIACTL_WORKSPACE: setup.sandbox.workspace,
  });
  beforeAll(async () => {
    setup.sandbox = await startSandbox({ rateLimit: { limit: 100_000, windowSeconds: 3600 } });
  });
  afterAll(() => setup.sandbox.end());
  beforeEach(() => {
    setup.cli = new Cli(account());
  });
  return { setup, account };
}
