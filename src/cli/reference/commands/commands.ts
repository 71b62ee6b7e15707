import { addExamples, type CommandDefinition } from '../../commands/command.ts';
import { record } from '../../output/result.ts';
import { type CommandNode, leaves } from '../command-node.ts';
import { describeCommand } from '../command-tree.ts';

/** Removes empty properties, since AI agents that read the tree pay for each token. */
const removeEmpty = (tree: CommandNode): unknown =>
  JSON.parse(
    JSON.stringify(tree, (_key, value) =>
      value === null || value === false || value === '' || (Array.isArray(value) && value.length === 0)
        ? undefined
        : value,
    ),
  );

export const commands: CommandDefinition = (command, run) => {
  addExamples(command, 'mediactl commands', 'mediactl commands --json');
  command
    .description('Lists every command in a line. With --json, the whole tree: arguments, options, examples.')
    .action(
      run(async (context) => {
        const tree = describeCommand(await context.commandTree());
        const all = leaves(tree);
        const width = Math.max(...all.map(({ path }) => path.length));
        return record(removeEmpty(tree), 'mediactl', () =>
          all.map(({ path, summary }) => `${path.padEnd(width)}  ${summary}\n`).join(''),
        );
      }),
    );
};
