import type { Names } from '../commands/command.ts';

/** A command as plain data: what documentation and completions are made of. */
export type CommandNode = {
  /** `mediactl assets ls` */
  path: string;
  aliases: readonly string[];
  summary: string;
  description: string;
  arguments: readonly ArgumentNode[];
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
  isGlobal: boolean;
};

/** Every command that does something, in the tree's order. */
export const leaves = (node: CommandNode): CommandNode[] =>
  node.children.length === 0 ? [node] : node.children.flatMap(leaves);

/** A command and all below it. */
export const every = (node: CommandNode): CommandNode[] => [node, ...node.children.flatMap(every)];
