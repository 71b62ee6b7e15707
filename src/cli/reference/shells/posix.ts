import type { CommandNode } from '../node.ts';
import { completedOptions, type Place, spellings, typedCommands, valuedOptions } from './model.ts';

/* What bash and zsh say alike: the words typed so far, and the values of an option. */

/** Into $place, the command typed; into $at, how many arguments; into $skip, an option whose value is next. */
export const walk = (tree: CommandNode, typed: string) => `\
    word=\${${typed}[i]}
    if [[ -n $skip ]]; then skip=; continue; fi
    case $word in
      ${valuedOptions(tree).flatMap(spellings).join('|')}) skip=$word ;;
      -*) ;;
      *)
        case "$place\${place:+ }$word" in
${typedCommands(tree)
  .map(
    ({ path, typed: spelt }) =>
      `          ${spelt.map((each) => `'${each}'`).join('|')}) place='${path}' ;;\n`,
  )
  .join('')}          *) at=$((at + 1)) ;;
        esac ;;
    esac
`;

/** What completes the value of each option: a fixed set, or names of a kind. */
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

/** `values=(…)`, and whether the last of them goes on. */
export const values = ({ values: kinds, isVariadic }: Place) =>
  `values=(${kinds.map((each) => `'${each}'`).join(' ')})${isVariadic ? ' more=1' : ''}`;
