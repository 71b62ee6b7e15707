// Runs the acceptance tests against the service of MEDIACTL_ACCEPTANCE_URL, with the key in MEDIACTL_ACCEPTANCE_KEY, or
// against a sandbox. `npm run test:acceptance -- --read-only` runs those that write nothing.
import { spawnSync } from 'node:child_process';

const { MEDIACTL_ACCEPTANCE_URL: url, MEDIACTL_ACCEPTANCE_KEY: key } = process.env;
const isReadOnly = process.argv.includes('--read-only');
if ((url === undefined) !== (key === undefined)) {
  console.error('set both MEDIACTL_ACCEPTANCE_URL and MEDIACTL_ACCEPTANCE_KEY, or neither for a sandbox');
  process.exit(2);
}
console.log(`acceptance tests of ${url ?? 'a sandbox'}${isReadOnly ? ', read-only' : ''}`);
const vitest = 'node_modules/vitest/vitest.mjs';
const env = { ...process.env, ...(isReadOnly && { MEDIACTL_ACCEPTANCE_READ_ONLY: '1' }) };
process.exitCode =
  spawnSync(process.execPath, [vitest, 'run', 'test/acceptance'], { stdio: 'inherit', env }).status ?? 1;
