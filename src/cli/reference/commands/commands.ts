import { addExamples, type CommandDefinition } from '../../command.ts';
import { record } from '../../output/result.ts';
import { type CommandNode, leaves, twinOf } from '../command-node.ts';
import { describeCommand } from '../command-tree.ts';

/** Shortens the commands of `videos` to a reference to those of `assets`. */
const withTwins = (node: CommandNode): unknown => {
  const twin = twinOf(node);
  const { path, summary, description, children } = node;
  return twin ? { path, summary, description, same_as: twin } : { ...node, children: children.map(withTwins) };
};

/** Removes empty properties, since AI agents that read the tree pay for each token. */
const removeEmpty = (tree: unknown): unknown =>
  JSON.parse(
    JSON.stringify(tree, (_key, value: unknown) =>
      value === null || value === false || value === '' || (Array.isArray(value) && value.length === 0)
        ? undefined
        : value,
    ),
  );

export const commands: CommandDefinition = (command, run) => {
  addExamples(command, 'mediactl commands', 'mediactl commands --json');
  command
    .description(
      'Lists all commands, one per line. With --json, prints the whole tree with arguments, options and examples.',
    )
    .action(
      run(async (context) => {
        const tree = describeCommand(await context.commandTree());
        const all = leaves(tree);
        const width = Math.max(...all.map(({ path }) => path.length));
        return record(removeEmpty(withTwins(tree)), 'mediactl', () =>
          all.map(({ path, summary }) => `${path.padEnd(width)}  ${summary}\n`).join(''),
        );
      }),
    );
};
