import { buildCommandTree } from './program.ts';
import { describeCommand } from './reference/command-tree.ts';
import { interfacePages } from './reference/interface.ts';
import { assumptionsPage, commandsPage, errorsPage, manPage } from './reference/pages.ts';
import { schemasPage } from './reference/schemas.ts';
import { shells } from './reference/shells.lazy.ts';

/** Returns the manual page, which the build writes to `man/`. */
export const manual = async (): Promise<string> => manPage(describeCommand(await buildCommandTree('0.0.0')));

/**
 * Returns the generated files that are in the repository, by path.
 *
 * @param earlier returns the text of a file that was generated before; empty if there is none
 */
export async function generatedFiles(earlier: (path: string) => string): Promise<Record<string, string>> {
  const tree = describeCommand(await buildCommandTree('0.0.0'));
  return {
    'docs/commands.md': commandsPage(tree),
    'docs/assumptions.md': assumptionsPage(),
    'docs/errors.md': errorsPage(),
    'docs/schemas.json': schemasPage(),
    ...interfacePages(tree, earlier),
    ...Object.fromEntries(Object.values(shells).map(({ file, script }) => [`completions/${file}`, script])),
  };
}
