import { relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Node } from 'typescript/unstable/ast';
import { isFunctionLikeDeclaration } from 'typescript/unstable/ast/is';
import { API } from 'typescript/unstable/sync';
import { expect, it } from 'vitest';

const root = fileURLToPath(new URL('../..', import.meta.url));
const maxLines = 60;

/** Returns each function of src with its first and its last line, as the TypeScript parser sees them. */
function* functionsOfSrc(): Generator<{ where: string; lines: number }> {
  const api = new API({ cwd: root });
  try {
    // The code of the pages has a configuration of its own.
    const openProjects = ['tsconfig.json', 'tsconfig.browser.json'].map((name) => root + name);
    const programs = api
      .updateSnapshot({ openProjects })
      .getProjects()
      .map(({ program }) => program);
    const seen = new Set<string>();
    for (const [name, program] of programs.flatMap((each) =>
      each.getSourceFileNames().map((at) => [at, each] as const),
    )) {
      if (!name.startsWith(`${root}src/`) || seen.has(name)) continue;
      seen.add(name);
      const file = program.getSourceFile(name);
      if (!file) throw new Error(`no syntax tree of ${name}`);
      const lineOf = (position: number) => file.text.slice(0, position).split('\n').length;
      const found: Node[] = [];
      const visit = (node: Node): void => {
        if (isFunctionLikeDeclaration(node)) found.push(node);
        node.forEachChild(visit);
      };
      visit(file);
      for (const node of found) {
        const first = lineOf(node.getStart(file));
        yield { where: `${relative(root, name)}:${first}`, lines: lineOf(node.end) - first + 1 };
      }
    }
  } finally {
    api.close();
  }
}

it('no function of src has more than 60 lines', () => {
  const functions = [...functionsOfSrc()];
  expect(functions.length).toBeGreaterThan(2_000);
  expect(functions.some(({ where }) => where.startsWith('src/web/browse/browser/'))).toBe(true);
  const long = functions.filter(({ lines }) => lines > maxLines);
  expect(long, 'split it where the sense divides').toEqual([]);
});
