import { buildCommandTree } from './program.ts';
import { describeCommand } from './reference/command-tree.ts';
import { assumptionsPage, commandsPage, errorsPage, manPage } from './reference/pages.ts';
import { schemasPage } from './reference/schemas.ts';
import { shells } from './reference/shells/shells.lazy.ts';

export async function generatedFiles(): Promise<Record<string, string>> {
  const tree = describeCommand(await buildCommandTree('0.0.0'));
  return {
    'docs/commands.md': commandsPage(tree),
    'docs/assumptions.md': assumptionsPage(),
    'docs/errors.md': errorsPage(),
    'docs/schemas.json': schemasPage(),
    'man/mediactl.1': manPage(tree),
    ...Object.fromEntries(Object.values(shells).map(({ file, script }) => [`completions/${file}`, script(tree)])),
  };
}
