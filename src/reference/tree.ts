import type { Command, Option } from '@commander-js/extra-typings';
import { examplesOf } from '../commands/command.ts';

/** A command as plain data: what documentation and completions are made of. */
export type CommandNode = {
  /** `mediactl assets ls` */
  path: string;
  aliases: readonly string[];
  summary: string;
  description: string;
  /** `<id...>` */
  arguments: readonly { term: string; description: string }[];
  options: readonly OptionNode[];
  examples: readonly string[];
  children: readonly CommandNode[];
};

export type OptionNode = {
  /** `-r, --recursive` */
  flags: string;
  short: string | undefined;
  long: string | undefined;
  takesValue: boolean;
  choices: readonly string[];
  description: string;
  defaultValue: string | undefined;
  isGlobal: boolean;
};

export function describe(command: Command, parents: readonly string[] = []): CommandNode {
  const path = [...parents, command.name()];
  return {
    path: path.join(' '),
    aliases: command.aliases(),
    summary: command.summary() || command.description(),
    description: command.description(),
    arguments: command.registeredArguments.map((argument) => {
      const name = `${argument.name()}${argument.variadic ? '...' : ''}`;
      return {
        term: argument.required ? `<${name}>` : `[${name}]`,
        description: argument.description,
      };
    }),
    options: (command.options as readonly Option[])
      .filter(({ hidden }) => !hidden)
      .map(describeOption),
    examples: examplesOf(command),
    children: (command.commands as unknown as Command[]).map((child) => describe(child, path)),
  };
}

const describeOption = (option: Option): OptionNode => ({
  flags: option.flags,
  short: option.short,
  long: option.long,
  takesValue: option.required || option.optional,
  choices: option.argChoices ?? [],
  description: option.description,
  defaultValue:
    typeof option.defaultValue === 'string' && !option.negate ? option.defaultValue : undefined,
  isGlobal: option.helpGroupHeading === 'Global options:',
});

/** Every command that does something, in the tree's order. */
export const leaves = (node: CommandNode): CommandNode[] =>
  node.children.length === 0 ? [node] : node.children.flatMap(leaves);
