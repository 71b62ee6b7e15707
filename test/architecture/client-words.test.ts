import { readdirSync, readFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';

const src = fileURLToPath(new URL('../../src', import.meta.url));

const comment = String.raw`\/\*[\s\S]*?\*\/|(?<![:'"\x60])\/\/[^\n]*`;
const literals = [`'(?:[^'\\\\\n]|\\\\.)*'`, `"(?:[^"\\\\\n]|\\\\.)*"`, '`(?:[^`\\\\]|\\\\.)*`'];
const token = new RegExp([comment, ...literals].join('|'), 'g');

/** Files that start another program, with the options that they pass to it. */
const argumentsOfPrograms = ['client/upload/sources/rclone-process.ts', 'client/upload/sources/rclone.ts'];

it('no text in src/client and src/queue names a mediactl command, an option or an environment variable of the command line', () => {
  const texts = ['client', 'queue']
    .flatMap((module) => readdirSync(join(src, module), { recursive: true, withFileTypes: true }))
    .filter(({ name }) => name.endsWith('.ts'))
    .map(({ parentPath, name }) => join(parentPath, name))
    .filter((path) => !argumentsOfPrograms.includes(relative(src, path).replaceAll('\\', '/')))
    .flatMap((path) =>
      [...readFileSync(path, 'utf8').matchAll(token)]
        .map(([text]) => text)
        .filter((text) => !text.startsWith('/'))
        .map((text) => ({ file: relative(src, path), text })),
    );
  expect(texts.length).toBeGreaterThan(1_000);
  expect(texts.filter(({ text }) => /mediactl [a-z]|(?:^.|\s)--[a-z]|MEDIACTL_/.test(text))).toEqual([]);
});
