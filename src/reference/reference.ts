import { wholeTree } from '../program.ts';
import { bashCompletion, fishCompletion, zshCompletion } from './completions.ts';
import { assumptionsPage, commandsPage } from './pages.ts';
import { describe } from './tree.ts';

/** Everything that is generated, by its path in the repository. */
export async function generatedFiles(): Promise<Record<string, string>> {
  const tree = describe(await wholeTree('0.0.0'));
  return {
    'docs/commands.md': commandsPage(tree),
    'docs/assumptions.md': assumptionsPage(),
    'completions/mediactl.bash': bashCompletion(tree),
    'completions/_mediactl': zshCompletion(tree),
    'completions/mediactl.fish': fishCompletion(tree),
  };
}
