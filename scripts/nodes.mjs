// Installs releases of Node.js for tests, from npm's node-PLATFORM-ARCH packages.
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { delimiter, join, resolve } from 'node:path';

export const releases = ['20.20', '22', '24', '26'];

const platform = process.platform === 'win32' ? 'win' : process.platform;

/** Debian's folder of the arm64 libraries that Node.js needs; another with ARM64_SYSROOT. */
const sysroot = process.env.ARM64_SYSROOT ?? '/usr/aarch64-linux-gnu';

/** Returns why Node.js for arm64 cannot run here; undefined if it can. */
export function whyNoArm64() {
  if (spawnSync('qemu-aarch64-static', ['--version']).error) return 'qemu-user-static is not installed';
  if (existsSync(`${sysroot}/lib/libstdc++.so.6`)) return undefined;
  return 'libc6-arm64-cross and libstdc++6-arm64-cross are not installed';
}

/**
 * Returns the path of a release and an environment that has it first in PATH; undefined if it cannot be installed.
 *
 * @param release such as `22`, or `arm64:22` for one that qemu runs
 */
export function installNode(release) {
  const [version, arch = process.arch] = release.split(':').reverse();
  const isEmulated = arch !== process.arch;
  const name = `node-${platform}-${arch}`;
  const folder = resolve('node_modules/.cache/nodes', release.replace(':', '-'));
  mkdirSync(folder, { recursive: true });
  const install = ['install', '--prefix', folder, '--no-audit', '--no-fund', '--loglevel=error'];
  if (isEmulated) install.push('--force', `--cpu=${arch}`);
  if (spawnSync('npm', [...install, `${name}@${version}`], { stdio: 'inherit' }).status !== 0) return undefined;
  const installed = join(folder, 'node_modules', name, 'bin');
  const bin = isEmulated ? emulate(join(installed, 'node'), folder) : installed;
  return { node: join(bin, 'node'), env: { ...process.env, PATH: bin + delimiter + process.env.PATH } };
}

/** Writes a program `node` that runs another under qemu, and so do the processes that it starts. @returns its folder */
function emulate(node, folder) {
  const program = join(folder, 'node');
  const preload = join(folder, 'preload.cjs');
  writeFileSync(preload, `process.execPath = ${JSON.stringify(program)};\n`);
  const command = `qemu-aarch64-static -L '${sysroot}' '${node}' --require '${preload}' "$@"`;
  writeFileSync(program, `#!/bin/sh\nexec ${command}\n`, { mode: 0o755 });
  return folder;
}
