import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { recovery } from '../../src/client/upload/session/upload.ts';

it('the recovery table in docs/architecture.md equals the rules in the source code', () => {
  const page = readFileSync('docs/architecture.md', 'utf8');
  const table = /\| lost \|[^\n]*\n[^\n]*\n((?: +\|[^\n]*\n)+)/.exec(page)?.[0] ?? '';
  const cellsOf = (line: string) =>
    line
      .split('|')
      .map((cell) => cell.trim())
      .slice(1, -1);
  const [[, ...columns] = [], , ...rows] = table.trim().split('\n').map(cellsOf);
  const documented = rows.map(([loss, ...steps]) => [
    loss,
    Object.fromEntries(columns.map((column, at) => [column, steps[at]])),
  ]);
  expect(Object.fromEntries(documented)).toEqual(recovery);
});
