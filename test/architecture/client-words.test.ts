import { readdirSync, readFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';

const folder = fileURLToPath(new URL('../../src/client', import.meta.url));

const comment = String.raw`\/\*[\s\S]*?\*\/|(?<![:'"\x60])\/\/[^\n]*`;
const literals = [`'(?:[^'\\\\\n]|\\\\.)*'`, `"(?:[^"\\\\\n]|\\\\.)*"`, '`(?:[^`\\\\]|\\\\.)*`'];
const token = new RegExp([comment, ...literals].join('|'), 'g');

/** Files that start another program, with the options that they pass to it. */
const argumentsOfPrograms = ['upload/sources/rclone-process.ts', 'upload/sources/rclone.ts'];

it('no text in src/client names a mediactl command, an option or an environment variable of the command line', () => {
  const texts = readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter(({ name }) => name.endsWith('.ts'))
    .map(({ parentPath, name }) => join(parentPath, name))
    .filter((path) => !argumentsOfPrograms.includes(relative(folder, path).replaceAll('\\', '/')))
    .flatMap((path) =>
      [...readFileSync(path, 'utf8').matchAll(token)]
        .map(([text]) => text)
        .filter((text) => !text.startsWith('/'))
        .map((text) => ({ file: relative(folder, path), text })),
    );
  expect(texts.length).toBeGreaterThan(1_000);
  expect(texts.filter(({ text }) => /mediactl [a-z]|(?:^.|\s)--[a-z]|MEDIACTL_/.test(text))).toEqual([]);
});
