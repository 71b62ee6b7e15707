import type { CommandNode } from '../command-node.ts';
import {
  type CompletionContext,
  completedOptions,
  spellings,
  typedCommands,
  valuedOptions,
} from './completion-model.ts';

/* Parts shared by the bash and zsh scripts. */

/**
 * Generates the loop body that parses the words entered so far. It sets $place to the command, $at to the number of
 * arguments, and $skip to the last option if its value comes next.
 */
export const parseTypedWords = (tree: CommandNode, typed: string) => `\
    word=\${${typed}[i]}
    if [[ -n $skip ]]; then skip=; continue; fi
    case $word in
      ${valuedOptions(tree).flatMap(spellings).join('|')}) skip=$word ;;
      -*) ;;
      *)
        case "$place\${place:+ }$word" in
${typedCommands(tree)
  .map(({ path, typed: spelt }) => `          ${spelt.map((each) => `'${each}'`).join('|')}) place='${path}' ;;\n`)
  .join('')}          *) at=$((at + 1)) ;;
        esac ;;
    esac
`;

/** Generates the `case` statement that completes the value of the option in $skip from choices or names. */
export const optionValues = (
  tree: CommandNode,
  choose: (choices: string) => string,
  name: (values: string) => string,
) => `\
  case $skip in
    '') ;;
${completedOptions(tree)
  .map((option) => {
    const { choices, values } = option;
    const complete = choices.length > 0 ? choose(choices.join(' ')) : name(values as string);
    return `    ${spellings(option).join('|')}) ${complete}; return ;;\n`;
  })
  .join('')}    *) return ;;
  esac
`;

/** Generates shell code that sets $values, and $more if the last argument is variadic. */
export const values = ({ values: kinds, isVariadic }: CompletionContext) =>
  `values=(${kinds.map((each) => `'${each}'`).join(' ')})${isVariadic ? ' more=1' : ''}`;
