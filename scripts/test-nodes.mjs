// Runs the tests that depend on Node.js on each supported release: `npm run test:nodes`. Arguments choose releases, `24`,
// and tests, `test/unit`. With --if-available, a release that cannot be installed is named and does not fail.
import { spawnSync } from 'node:child_process';
import { installNode, releases } from './nodes.mjs';

const given = process.argv.slice(2);
const isOptional = given.includes('--if-available');
const chosenReleases = given.filter((word) => /^\d/.test(word));
const chosenTests = given.filter((word) => word.startsWith('test/'));
const dependent = [
  ...['test/unit', 'test/architecture', 'test/command', 'test/contract'],
  ...['memory', 'upload-memory', 'code-cache', 'kill', 'library-api', 'lock'].map(
    (name) => `test/process/${name}.test.ts`,
  ),
];
const tests = chosenTests.length > 0 ? chosenTests : dependent;
const run = (command, args, env) => spawnSync(command, args, { stdio: 'inherit', env }).status === 0;

/** Returns how the tests ended on a release. */
function resultOn(release) {
  const { node, env } = installNode(release) ?? {};
  if (!node) return isOptional ? 'not tested, since it cannot be installed here' : 'FAILED';
  process.stdout.write(`\nNode.js ${release}: `);
  const hasPassed =
    run(node, ['--version'], env) && run(node, ['node_modules/vitest/vitest.mjs', 'run', ...tests], env);
  return hasPassed ? 'passed' : 'FAILED';
}

const results = new Map();
for (const release of chosenReleases.length > 0 ? chosenReleases : releases) results.set(release, resultOn(release));
for (const [release, result] of results) process.stdout.write(`Node.js ${release}: ${result}\n`);
process.exitCode = [...results.values()].includes('FAILED') ? 1 : 0;
