import { errorRows } from './error-hints.ts';
import { buildCommandTree } from './program.ts';
import { llmsPage, skillPage } from './reference/agents.ts';
import { describeCommand } from './reference/command-tree.ts';
import { assumptionsPage, commandsPage, errorsPage, manPage } from './reference/pages.ts';
import { schemasPage } from './reference/schemas.ts';
import { shells } from './reference/shells.lazy.ts';
import { type Setting, settingTable } from './settings/setting-table.ts';

/** Returns the manual page, which the build writes to `man/`. */
export const manual = async (): Promise<string> => manPage(describeCommand(await buildCommandTree('0.0.0')));

/** Returns what the public interface consists of, for the lists in `test/interface`. */
export const publicInterface = async () => ({
  tree: describeCommand(await buildCommandTree('0.0.0')),
  settings: Object.entries<Setting>(settingTable).map(([name, { variable }]) => [name, variable].join(' ').trim()),
  errors: errorRows().map(({ code, exit }) => `${code} exit ${exit}`),
  schemas: JSON.parse(schemasPage()),
});

/** Returns the generated files that are in the repository, by path. */
export async function generatedFiles(): Promise<Record<string, string>> {
  const tree = describeCommand(await buildCommandTree('0.0.0'));
  return {
    'docs/commands.md': commandsPage(tree),
    'docs/assumptions.md': assumptionsPage(),
    'docs/errors.md': errorsPage(),
    'docs/schemas.json': schemasPage(),
    'skills/mediactl/SKILL.md': skillPage(),
    'llms.txt': llmsPage(),
    ...Object.fromEntries(Object.values(shells).map(({ file, script }) => [`completions/${file}`, script])),
  };
}
