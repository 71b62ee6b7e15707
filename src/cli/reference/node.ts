import type { Names } from '../commands/command.ts';

/** A command as plain data: what documentation and completions are made of. */
export type CommandNode = {
  /** `mediactl assets ls` */
  path: string;
  aliases: readonly string[];
  /** Single words that stand for it: `ls`. */
  short: readonly string[];
  summary: string;
  description: string;
  arguments: readonly ArgumentNode[];
  /** Its own; those of every command are mediactl's. */
  options: readonly OptionNode[];
  examples: readonly string[];
  children: readonly CommandNode[];
};

type ArgumentNode = {
  /** `<id...>` */
  term: string;
  description: string;
  choices: readonly string[];
  values: Names | null;
  isVariadic: boolean;
};

export type OptionNode = {
  /** `-r, --recursive` */
  flags: string;
  short: string | null;
  long: string | null;
  takesValue: boolean;
  choices: readonly string[];
  values: Names | null;
  description: string;
  defaultValue: string | null;
};

/** Every command that does something, in the tree's order. */
export const leaves = (node: CommandNode): CommandNode[] =>
  node.children.length === 0 ? [node] : node.children.flatMap(leaves);

/** A command and all below it. */
export const every = (node: CommandNode): CommandNode[] => [node, ...node.children.flatMap(every)];

/** The options of every command: what mediactl itself takes, but for its version. */
export const globalsOf = (tree: CommandNode): readonly OptionNode[] =>
  tree.options.filter(({ long }) => long !== '--version');
