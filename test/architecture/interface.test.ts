import { existsSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { interfaceFiles, removedMark } from '../../scripts/interface.mjs';
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
