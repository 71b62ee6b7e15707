// Runs the tests that depend on Node.js on each supported release: `npm run test:nodes`, or
// `npm run test:nodes 24` for one. The binaries come from npm's node-PLATFORM-ARCH packages.
import { spawnSync } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { delimiter, join, resolve } from 'node:path';

const releases = process.argv.length > 2 ? process.argv.slice(2) : ['20.20', '22', '24', '26'];
const tests = [
  ...['test/unit', 'test/architecture', 'test/command', 'test/contract'],
  ...['memory', 'upload-memory', 'code-cache', 'kill', 'lock'].map((name) => `test/process/${name}.test.ts`),
];
const platform = process.platform === 'win32' ? 'win' : process.platform;
const name = `node-${platform}-${process.arch}`;

const run = (command, args, env = process.env) => spawnSync(command, args, { stdio: 'inherit', env }).status === 0;

const failed = releases.filter((release) => {
  const folder = resolve('node_modules/.cache/nodes', release);
  mkdirSync(folder, { recursive: true });
  const install = ['install', '--prefix', folder, '--no-audit', '--no-fund', '--loglevel=error'];
  if (!run('npm', [...install, `${name}@${release}`])) return true;
  const bin = join(folder, 'node_modules', name, 'bin');
  const node = join(bin, 'node');
  process.stdout.write(`\nNode.js ${release}: `);
  const env = { ...process.env, PATH: bin + delimiter + process.env.PATH };
  return !run(node, ['--version'], env) || !run(node, ['node_modules/vitest/vitest.mjs', 'run', ...tests], env);
});

for (const release of releases)
  process.stdout.write(`Node.js ${release}: ${failed.includes(release) ? 'FAILED' : 'passed'}\n`);
process.exitCode = failed.length > 0 ? 1 : 0;
