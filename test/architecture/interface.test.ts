import { existsSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { countsPath, interfaceFiles, removedMark, unexplainedRises } from '../../scripts/interface.mjs';
import { publicInterface } from '../../src/cli/generated-files.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
const read = (path: string) => (existsSync(root + path) ? readFileSync(root + path, 'utf8') : '');

const pages = Object.entries(interfaceFiles(await publicInterface(), read));

it.each(pages)('%s lists the current public names of the program (npm run generate updates it)', (path, names) => {
  expect(read(path).split('\n')).toEqual(names.split('\n'));
});

it('test/interface/library.txt has the declarations of the package (npm run generate updates it)', () => {
  expect(read('test/interface/library.txt').split('\n')).toEqual(read('dist/index.d.mts').split('\n'));
});

it('CHANGELOG.md names under "Breaking" each public name that was removed or changed', () => {
  const breaking = [...read('CHANGELOG.md').matchAll(/^### Breaking\n(.*?)(?=^##|(?![\s\S]))/gms)]
    .map(([, text]) => text)
    .join('');
  const removed = pages.flatMap(([, names]) =>
    names.split('\n').flatMap((line) => (line.startsWith(removedMark) ? line.slice(removedMark.length) : [])),
  );
  const isSpelledOut = (name: string) => {
    const option = /--[\w-]+/.exec(name)?.[0];
    const value = /"(.+)"$/.exec(name)?.[1];
    const field = /([\w-]+)(?:\[\])*(?: \w+| exit \d+)?$/.exec(name)?.[1];
    return breaking.includes(option ?? value ?? field ?? name);
  };
  expect(removed.filter((name) => !isSpelledOut(name))).toEqual([]);
});

describe('the size of the interface', () => {
  const counts = (line: string) => interfaceCounts(3, line);
  const sentence = '- Settings: 2 → 3, since a proxy can be named.';

  it('CHANGELOG.md explains each count of test/interface/counts.txt that has risen', () => {
    expect(unexplainedRises(read(countsPath), read('CHANGELOG.md'))).toEqual([]);
  });

  it('a count that falls is the new smallest, and one that rises keeps the smallest', () => {
    expect(counts('settings: 5')).toBe('settings: 3');
    expect(counts('settings: 3')).toBe('settings: 3');
    expect(counts('settings: 2')).toBe('settings: 3, was 2');
    expect(counts('settings: 4, was 2')).toBe('settings: 3, was 2');
  });

  it('an option of several verbs counts once if it is described in the same words, and twice if not', () => {
    const lists = { arguments: [], aliases: [], short: [], examples: [], summary: '', description: '' };
    const verb = (path: string, ...options: [flags: string, description: string][]) => {
      const described = options.map(([flags, description]) => ({ flags, description, choices: [] }));
      return { ...lists, path, options: described as never, children: [] };
    };
    const children = [
      verb('mediactl a', ['--wait', 'wait'], ['--to <dir>', 'directory']),
      verb('mediactl b', ['--wait', 'wait'], ['--to <dir>', 'folder']),
    ];
    const tree = { ...lists, path: 'mediactl', options: [], children };
    const { [countsPath]: text } = interfaceFiles({ tree, settings: [], errors: [], schemas: {} }, () => '');
    expect(text).toMatch(/^options: 3$/m);
  });

  it.each([
    ['settings: 3, was 2', '', ['settings: 2 → 3']],
    ['settings: 3, was 2', sentence, []],
    ['settings: 4, was 2', sentence, ['settings: 2 → 4']],
    ['settings: 3, was 1', sentence, ['settings: 1 → 3']],
    ['settings: 3, was 2', '- Settings: 2 → 3', ['settings: 2 → 3']],
  ])('%s with the changelog "%s" has the unexplained rises %j', (text, changelog, rises) => {
    expect(unexplainedRises(`${text}\n`, changelog)).toEqual(rises);
  });
});

/** Returns the line of `settings` for a number of settings, after a file with one line. */
function interfaceCounts(settingCount: number, earlier: string): string | undefined {
  const lists = { arguments: [], aliases: [], short: [], options: [], examples: [], children: [] };
  const tree = { path: 'mediactl', summary: '', description: '', ...lists };
  const names = { tree, settings: Array(settingCount).fill('x'), errors: [], schemas: {} };
  const { [countsPath]: text = '' } = interfaceFiles(names, () => earlier);
  return text.split('\n').find((line) => line.startsWith('settings'));
}
