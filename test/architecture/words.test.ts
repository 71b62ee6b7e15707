import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';

const root = fileURLToPath(new URL('../..', import.meta.url));

const filesOf = (folder: string, pattern: RegExp) =>
  readdirSync(join(root, folder), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && pattern.test(entry.name))
    .map(({ parentPath, name }) => relative(root, join(parentPath, name)));

const read = (path: string) => readFileSync(join(root, path), 'utf8');

it.each(['src', 'test'])('each type name in %s is declared only once', (folder) => {
  const places = new Map<string, string[]>();
  for (const path of filesOf(folder, /\.tsx?$/))
    for (const [, name = ''] of read(path).matchAll(
      /^(?:export )?(?:declare )?(?:abstract )?(?:type|interface|class|enum) (\w+)\s*[<={\w]/gm,
    ))
      places.set(name, [...(places.get(name) ?? []), path]);
  expect(places.size).toBeGreaterThan(30);
  expect([...places].filter(([, paths]) => paths.length > 1)).toEqual([]);
});

it('each path that a document or a comment mentions exists', () => {
  const documents = ['README.md', 'CONTRIBUTING.md', 'AGENTS.md', ...filesOf('docs', /\.md$/)];
  const comments = ['src', 'test']
    .flatMap((folder) => filesOf(folder, /\.tsx?$/))
    .map((path) => ({ path, text: (read(path).match(/\/\*[\s\S]*?\*\/|^\s*\/\/.*/gm) ?? []).join('\n') }));
  const texts = [...documents.map((path) => ({ path, text: read(path) })), ...comments];
  const missing = texts.flatMap(({ path, text }) =>
    [...text.matchAll(/(?<![\w/.-])(?:src|test|scripts|bench|bin|docs|completions|man)\/[\w./-]*[\w/-]/g)]
      .map(([mentioned]) => mentioned)
      .filter((mentioned) => !/NOUN|VERB/.test(mentioned) && !existsSync(join(root, mentioned)))
      .map((mentioned) => `${path}: ${mentioned}`),
  );
  expect(missing).toEqual([]);
});
