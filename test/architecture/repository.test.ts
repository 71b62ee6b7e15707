import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';

const root = fileURLToPath(new URL('../..', import.meta.url));
const { scripts } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));

it.each([
  '.github/workflows/ci.yml',
  '.github/pull_request_template.md',
  '.github/ISSUE_TEMPLATE/bug_report.yml',
  '.ci/run',
  'CONTRIBUTING.md',
  'CODE_OF_CONDUCT.md',
])('the npm scripts and files that %s names exist', (document) => {
  const text = readFileSync(join(root, document), 'utf8');
  const names = [...text.matchAll(/\bnpm (?:run )?(test\b[\w:]*|(?<=run )[\w:]+)/g)].map(([, name]) => name as string);
  const files = [...text.matchAll(/(?<![\w/.-])(?:\.ci\/run|[A-Z_]{4,}\.md)\b/g)].map(([file]) => file);
  expect(names.filter((name) => !(name in scripts))).toEqual([]);
  expect(files.filter((file) => !existsSync(join(root, file)))).toEqual([]);
  expect(names.length + files.length).toBeGreaterThan(0);
});
