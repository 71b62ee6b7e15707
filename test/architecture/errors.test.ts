import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { errorTable, subcodeTable } from '../../src/client/error-table.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));

const textOf = (folder: string) =>
  readdirSync(join(root, folder), { recursive: true, withFileTypes: true })
    .filter(({ name }) => /\.tsx?$/.test(name) && !['error-table.ts', 'error-hints.ts'].includes(name))
    .map(({ parentPath, name }) => readFileSync(join(parentPath, name), 'utf8'))
    .join('\n');

const codes = Object.keys(errorTable);

it('the source code contains each error code of errorTable and each subcode of subcodeTable', () => {
  const text = textOf('src');
  const causes = [...codes, ...Object.keys(subcodeTable)];
  expect(causes.filter((cause) => !text.includes(`'${cause}'`))).toEqual([]);
});

it('each error code has a test that compares its exit code and hint', () => {
  const compared = new Set(
    [...textOf('test').matchAll(/\b(?:errorInTable\('(\w+)'\)|code: '(\w+)',\s*exit: \d+,\s*hint\b)/g)].map(
      ([, inTable, compared]) => inTable ?? compared,
    ),
  );
  expect(codes.filter((code) => !compared.has(code))).toEqual([]);
});
