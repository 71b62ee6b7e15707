import { addExamples, type CommandDefinition } from '../../command.ts';
import { record } from '../../output/result.ts';
import { allNodes, type CommandNode, leaves, twinOf } from '../command-node.ts';
import { describeCommand } from '../command-tree.ts';

/** Shortens the commands of `videos` to a reference to those of `assets`, and the options that they lack. */
const withTwins = (node: CommandNode, tree: CommandNode): unknown => {
  const { path, summary, description, options, children } = node;
  const twin = allNodes(tree).find((each) => each.path === twinOf(node));
  if (!twin) return { ...node, children: children.map((child) => withTwins(child, tree)) };
  const own = new Set(options.map(({ flags }) => flags));
  const without = twin.options.flatMap(({ flags }) => (own.has(flags) ? [] : [flags]));
  return { path, summary, description, same_as: twin.path, without };
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
        return record(removeEmpty(withTwins(tree, tree)), 'mediactl', () =>
          all.map(({ path, summary }) => `${path.padEnd(width)}  ${summary}\n`).join(''),
        );
      }),
    );
};
