import type { CompletionSource } from '../command.ts';

export type CommandNode = {
  /** Full command, such as `mediactl assets ls`. */
  path: string;
  aliases: readonly string[];
  short: readonly string[];
  summary: string;
  description: string;
  arguments: readonly ArgumentNode[];
  /** The command's own options. Global options belong to the root node. */
  options: readonly OptionNode[];
  examples: readonly string[];
  children: readonly CommandNode[];
};

type ArgumentNode = {
  /** Placeholder in the usage, such as `<id...>`. */
  term: string;
  description: string;
  choices: readonly string[];
  values: CompletionSource | null;
  isVariadic: boolean;
};

export type OptionNode = {
  /** Short and long form as shown in help, such as `-r, --recursive`. */
  flags: string;
  short: string | null;
  long: string | null;
  takesValue: boolean;
  choices: readonly string[];
  values: CompletionSource | null;
  description: string;
  defaultValue: string | null;
};

/** Returns all executable commands, which are the commands without subcommands, in tree order. */
export const leaves = (node: CommandNode): CommandNode[] =>
  node.children.length === 0 ? [node] : node.children.flatMap(leaves);

/** Returns the path of the command that a command of `videos` is the twin of, such as `mediactl assets ls`. */
export const twinOf = ({ path }: CommandNode): string | undefined =>
  path.startsWith('mediactl videos ') ? path.replace(' videos ', ' assets ') : undefined;

export const allNodes = (node: CommandNode): CommandNode[] => [node, ...node.children.flatMap(allNodes)];

export const globalOptionsOf = (tree: CommandNode): readonly OptionNode[] =>
  tree.options.filter(({ long }) => long !== '--version');
