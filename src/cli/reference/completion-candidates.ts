import type { CompletionSource } from '../command.ts';
import { allNodes, type CommandNode, globalOptionsOf, type OptionNode } from './command-node.ts';
import { isReading } from './reading-commands.ts';

/** A word to complete with its description. */
type CompletionCandidate = readonly [word: string, description: string];

/** Candidates for a word: fixed words, and the source of further names, if any. */
export type CompletionCandidates = { words: CompletionCandidate[]; source: CompletionSource | null };

/**
 * Returns the candidates for a word: commands, options, values of an option, or values of an argument.
 *
 * @param typed words before it, without `mediactl`
 */
export function candidatesFor(tree: CommandNode, typed: readonly string[], word: string): CompletionCandidates {
  let node = tree;
  let argumentsTyped = 0;
  let option: OptionNode | undefined;
  for (const each of typed) {
    const isValue = option !== undefined;
    option = isValue ? undefined : valuedOption(tree, node, each);
    if (isValue || each.startsWith('-')) continue;
    const child = childOf(tree, node, each);
    if (child) node = child;
    else argumentsTyped++;
  }
  if (option) return valuesOf(option);
  if (word.startsWith('-'))
    return fixed(optionsOf(tree, node).flatMap((each) => spellings(each).map((flag) => [flag, each.description])));
  if (node.children.length > 0)
    return fixed([
      ...node.children.map(({ path, summary }) => [path.split(' ').at(-1) as string, summary] as const),
      ...(node === tree
        ? allNodes(tree).flatMap(({ short, summary }) => short.map((each) => [each, summary] as const))
        : []),
    ]);
  const last = node.arguments.at(-1);
  const argument = node.arguments[argumentsTyped] ?? (last?.isVariadic ? last : undefined);
  return argument ? valuesOf(argument) : fixed([]);
}

const fixed = (words: CompletionCandidate[]): CompletionCandidates => ({ words, source: null });

const valuesOf = ({ choices, values }: Pick<OptionNode, 'choices' | 'values'>): CompletionCandidates => ({
  words: choices.map((choice) => [choice, '']),
  source: choices.length > 0 ? null : values,
});

/** Returns the command that a word stands for after another one: by its name, an alias or a shortcut. */
const childOf = (tree: CommandNode, node: CommandNode, word: string): CommandNode | undefined =>
  node.children.find(({ path, aliases }) => path.endsWith(` ${word}`) || aliases.includes(word)) ??
  (node === tree ? allNodes(tree).find(({ short }) => short.includes(word)) : undefined);

/** Returns an option that takes a value, preferably of the command, because others can have one of the same name. */
const valuedOption = (tree: CommandNode, node: CommandNode, word: string): OptionNode | undefined =>
  [...optionsOf(tree, node), ...allNodes(tree).flatMap(({ options }) => options)].find(
    (option) => option.takesValue && spellings(option).includes(word),
  );

/** Returns a command's options, and also the global options if the command is executable. */
function optionsOf(tree: CommandNode, node: CommandNode): readonly OptionNode[] {
  if (node.children.length > 0) return node.options;
  const own = node.options.map(({ long }) => long);
  const isNeeded = ({ long }: OptionNode) =>
    !own.includes(long) && (long !== '--dry-run' || !isReading(node.path.replace('mediactl ', ''), {}));
  return [...node.options, ...globalOptionsOf(tree).filter(isNeeded)];
}

const spellings = ({ short, long }: OptionNode) => [short, long].filter((flag) => flag !== null);
