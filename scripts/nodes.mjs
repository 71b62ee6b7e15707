// Installs releases of Node.js for tests, from npm's node-PLATFORM-ARCH packages.
import { spawnSync } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { delimiter, join, resolve } from 'node:path';

export const releases = ['20.20', '22', '24', '26'];

const platform = process.platform === 'win32' ? 'win' : process.platform;
const name = `node-${platform}-${process.arch}`;

/** Returns the path of a release and an environment that has it first in PATH; undefined if it cannot be installed. */
export function installNode(release) {
  const folder = resolve('node_modules/.cache/nodes', release);
  mkdirSync(folder, { recursive: true });
  const install = ['install', '--prefix', folder, '--no-audit', '--no-fund', '--loglevel=error'];
  if (spawnSync('npm', [...install, `${name}@${release}`], { stdio: 'inherit' }).status !== 0) return undefined;
  const bin = join(folder, 'node_modules', name, 'bin');
  return { node: join(bin, 'node'), env: { ...process.env, PATH: bin + delimiter + process.env.PATH } };
}
