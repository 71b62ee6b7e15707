import { usageError } from '../../../client/errors.ts';
import { addExamples, type CommandDefinition } from '../../command.ts';
import { record } from '../../output/result.ts';
import { expandShortcut } from '../../shortcuts.ts';
import { allNodes, type CommandNode, leaves } from '../command-node.ts';
import { describeCommand } from '../command-tree.ts';

/** Converts a command and its subcommands to the records of `commands NOUN --json`. */
const toRecord = ({ path, aliases, short, summary, description, ...node }: CommandNode): object => ({
  path,
  aliases,
  shortcuts: short,
  summary,
  description,
  arguments: node.arguments.map(({ term, description: text, choices, values }) => {
    return { placeholder: term, description: text, choices, completes: values };
  }),
  options: node.options.map(({ flags, description: text, choices, values, defaultValue }) => {
    return { flags, description: text, choices, completes: values, default_value: defaultValue };
  }),
  examples: node.examples,
  children: node.children.map(toRecord),
});

/** Removes empty properties, since AI agents that read the tree pay for each token. */
const removeEmpty = (tree: object): object =>
  JSON.parse(
    JSON.stringify(tree, (_key, value: unknown) =>
      value === null || value === '' || (Array.isArray(value) && value.length === 0) ? undefined : value,
    ),
  );

export const commands: CommandDefinition = (command, run) => {
  addExamples(command, 'mediactl commands', 'mediactl commands --json', 'mediactl commands upload --json');
  command
    .description(
      'Lists all commands, one per line, or those of one command. With --json, prints an index; for one command, its arguments, options, examples and the JSON Schema of its output. Without a command, the options of every command are in mediactl help options.',
    )
    .argument('[command...]', 'command, such as assets ls')
    .action(
      run(async (context, words) => {
        const tree = describeCommand(await context.commandTree());
        const path = ['mediactl', ...expandShortcut(words, () => false).filter((word) => !word.startsWith('-'))].join(
          ' ',
        );
        const node = allNodes(tree).find((each) => each.path === path);
        if (!node) throw usageError(`${words.join(' ')} is not a command`, 'mediactl commands');
        const listed = leaves(node);
        const width = Math.max(...listed.map((each) => each.path.length));
        const index = () =>
          listed.map(({ path: listedPath, short, summary }) => ({ path: listedPath, shortcuts: short, summary }));
        const describe = async () => {
          const { outputSchemaOf } = await import('../output-schemas.lazy.ts');
          return Object.assign(removeEmpty(toRecord(node)), { output_schema: outputSchemaOf(node) });
        };
        return record(words.length === 0 ? removeEmpty(index()) : await describe(), node.path, () =>
          listed.map((each) => `${each.path.padEnd(width)}  ${each.summary}\n`).join(''),
        );
      }),
    );
};
