import { type Define, example } from '../../commands/command.ts';
import { record } from '../../terminal/result.ts';
import { leaves } from '../node.ts';
import { describe } from '../tree.ts';

export const commands: Define = (command, run) => {
  example(command, 'mediactl commands', 'mediactl commands --json');
  command
    .description(
      'Lists every command in a line. With --json, the whole tree: arguments, options, examples.',
    )
    .action(
      run(async (context) => {
        const tree = describe(await context.commandTree());
        const all = leaves(tree);
        const width = Math.max(...all.map(({ path }) => path.length));
        return record(tree, 'mediactl', () =>
          all.map(({ path, summary }) => `${path.padEnd(width)}  ${summary}\n`).join(''),
        );
      }),
    );
};
