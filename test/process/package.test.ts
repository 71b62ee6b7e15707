import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { fixturePath } from '../support/sandbox.ts';

it('the npm package depends on exact versions, so that npm installs what was tested', () => {
  const manifest = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8'));
  for (const [name, version] of Object.entries({ ...manifest.dependencies, ...manifest.optionalDependencies }))
    expect([name, version]).toEqual([name, expect.stringMatching(/^\d+\.\d+\.\d+$/)]);
});

it('the npm package contains exactly the files in test/fixtures/package-files.txt', () => {
  const args = ['pack', '--dry-run', '--json', '--ignore-scripts'];
  const stdout = execFileSync('npm', args, {
    cwd: fileURLToPath(new URL('../..', import.meta.url)),
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  const [{ files, size }] = JSON.parse(stdout);
  expect(size, 'users download all of it: leave out what no command reads').toBeLessThan(2_000_000);
  const expected = readFileSync(fixturePath('package-files.txt'), 'utf8').trim().split('\n');
  expect(files.map(({ path }: { path: string }) => path).sort()).toEqual(expected);
});
