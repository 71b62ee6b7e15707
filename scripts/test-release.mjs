// Tests the files of a release themselves, which `npm run release` has made: their checksums, the installed package, the
// unpacked executable, and that another folder makes the same bytes. `npm run test:release [-- FOLDER]`. It builds
// nothing that it tests, and fails if the files have changed at its end.
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const release = process.argv[2] ?? 'release';
const { version } = JSON.parse(readFileSync('package.json', 'utf8'));
const name = `mediactl-${version}-linux-x64`;
const unpacked = mkdtempSync(join(tmpdir(), 'mediactl-release-'));

const run = (command, args, { cwd, env } = {}) =>
  execFileSync(command, args, { stdio: 'inherit', cwd, env: { ...process.env, ...env } });
const checkSums = () => run('sha256sum', ['--check', '--strict', 'SHA256SUMS'], { cwd: release });
const vitest = (...args) => ['node_modules/vitest/vitest.mjs', 'run', ...args];

try {
  checkSums();
  run('tar', ['-xzf', join(release, `${name}.tar.gz`), '-C', unpacked]);
  run(process.execPath, ['scripts/test-install.mjs', 'this'], {
    env: { MEDIACTL_TEST_PACKAGE: join(release, `mediactl-${version}.tgz`) },
  });
  run(process.execPath, vitest('test/process/release.full.test.ts'), {
    env: { MEDIACTL_TEST_FULL: '1', MEDIACTL_TEST_RELEASE: release },
  });
  run(process.execPath, vitest('test/command', 'test/process'), {
    env: { MEDIACTL_TEST_EXECUTABLE: join(unpacked, name, 'mediactl') },
  });
  checkSums();
} finally {
  rmSync(unpacked, { recursive: true, force: true });
}
