import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { copyCheckout } from '../support/checkout.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));

/** Makes a release in a copy of the checkout. @returns the checksums of its files, one per line */
function release(name: string): string {
  const checkout = copyCheckout(name, { withCompiler: true });
  const epoch = execFileSync('git', ['log', '-1', '--format=%ct'], { cwd: root, encoding: 'utf8' }).trim();
  const env = { SOURCE_DATE_EPOCH: epoch, ...process.env };
  for (const args of [['scripts/build.mjs'], ['scripts/release.mjs']])
    execFileSync(process.execPath, args, { cwd: checkout, env, stdio: 'pipe' });
  return readFileSync(join(checkout, 'release/SHA256SUMS'), 'utf8');
}

it('all files of a release have the same bytes if they are made in another folder', {
  tags: 'bun',
  timeout: 10 * 60_000,
}, () => {
  const shipped = join(root, process.env.MEDIACTL_TEST_RELEASE ?? 'none', 'SHA256SUMS');
  const first = existsSync(shipped) ? readFileSync(shipped, 'utf8') : release('first');
  expect(release('another folder')).toBe(first);
});
