import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { userPages } from '../support/manual.ts';
import { fixturePath } from '../support/sandbox.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));

const renamed = {
  added: {
    'suggestions.lazy.cjs': 'was guesses.lazy.cjs',
    'live-display.lazy.cjs': 'was standing.lazy.cjs',
    'hono.lazy.cjs': 'what the library page uses of Hono',
    'prom-client.cjs': 'the metrics of a worker',
  },
  removed: {
    'jq.wasm': 'is in the package jq-web',
    'guesses.lazy.cjs': 'is suggestions.lazy.cjs',
    'standing.lazy.cjs': 'is live-display.lazy.cjs',
  },
};
const inFolder = (names: Record<string, string>) =>
  Object.fromEntries(Object.entries(names).map(([name, why]) => [`dist/${name}`, why]));

const images = readFileSync(fixturePath('5fb2bef/pack.txt'), 'utf8').match(/^docs\/images\/.*$/gm) ?? [];

const examples = readdirSync(`${root}examples`, { recursive: true, withFileTypes: true })
  .filter((each) => each.isFile())
  .map(({ parentPath, name }) => join(parentPath, name).slice(root.length));

/** Files that came or went since 5fb2bef, each with the reason. */
const changes: { inDist: Changes; inPackage: Changes } = {
  inDist: renamed,
  inPackage: {
    added: {
      ...inFolder(renamed.added),
      ...Object.fromEntries(userPages.filter((page) => page !== 'README.md').map((page) => [page, 'the manual'])),
      ...Object.fromEntries(examples.map((name) => [name, 'the manual links to it'])),
      'docs/errors.md': 'every error code',
      'docs/assumptions.md': 'the manual links to it',
    },
    removed: {
      ...inFolder(renamed.removed),
      ...Object.fromEntries(images.map((name) => [name, 'the package is for a terminal'])),
    },
  },
};
type Changes = { added: Record<string, string>; removed: Record<string, string> };

const expected = (list: string, { added, removed }: Changes) =>
  readFileSync(fixturePath(`5fb2bef/${list}`), 'utf8')
    .trim()
    .split('\n')
    .filter((name) => !(name in removed))
    .concat(Object.keys(added))
    .sort();

it('the build makes the files that it made at 5fb2bef', () => {
  expect(readdirSync(`${root}dist`).sort()).toEqual(expected('dist.txt', changes.inDist));
});

it('the package holds the files that it held at 5fb2bef', () => {
  const args = ['pack', '--dry-run', '--json', '--ignore-scripts'];
  const stdout = execFileSync('npm', args, {
    cwd: root,
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  const [{ files, size }] = JSON.parse(stdout);
  expect(size, 'users download all of it: leave out what no command reads').toBeLessThan(2_000_000);
  expect(files.map(({ path }: { path: string }) => path).sort()).toEqual(expected('pack.txt', changes.inPackage));
});
