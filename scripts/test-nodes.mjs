// Runs the tests that depend on Node.js on each supported release: `npm run test:nodes`, or
// `npm run test:nodes 24` for one.
import { spawnSync } from 'node:child_process';
import { installNode, releases } from './nodes.mjs';

const chosen = process.argv.length > 2 ? process.argv.slice(2) : releases;
const tests = [
  ...['test/unit', 'test/architecture', 'test/command', 'test/contract'],
  ...['memory', 'upload-memory', 'code-cache', 'kill', 'library-api', 'lock'].map(
    (name) => `test/process/${name}.test.ts`,
  ),
];
const run = (command, args, env) => spawnSync(command, args, { stdio: 'inherit', env }).status === 0;

const failed = chosen.filter((release) => {
  const { node, env } = installNode(release) ?? {};
  if (!node) return true;
  process.stdout.write(`\nNode.js ${release}: `);
  return !run(node, ['--version'], env) || !run(node, ['node_modules/vitest/vitest.mjs', 'run', ...tests], env);
});

for (const release of chosen)
  process.stdout.write(`Node.js ${release}: ${failed.includes(release) ? 'FAILED' : 'passed'}\n`);
process.exitCode = failed.length > 0 ? 1 : 0;
