import type { CommandNode } from '../command-node.ts';
import {
  type CompletionContext,
  type CompletionWord,
  completedOptions,
  completionContextsOf,
  header,
  spellings,
  typedCommands,
  valuedOptions,
} from './completion-model.ts';

/**
 * Generates the loop body that parses the words entered so far. It sets $place to the command, $at to the number of
 * arguments, and $skip to the last option if its value comes next.
 */
const parseTypedWords = (tree: CommandNode, typed: string) => `\
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
const optionValues = (tree: CommandNode, choose: (choices: string) => string, name: (values: string) => string) => `\
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

const values = ({ values: kinds, isVariadic }: CompletionContext) =>
  `values=(${kinds.map((each) => `'${each}'`).join(' ')})${isVariadic ? ' more=1' : ''}`;

const list = (words: readonly { word: string }[]) => words.map(({ word }) => word).join(' ');

const bashContext = (place: CompletionContext) =>
  `    '${place.path}') words='${list(place.verbs)}' flags='${list(place.flags)}' ${values(place)} ;;\n`;

/** Generates the bash completion script. Avoids `compgen -W`, which would expand names from the service. */
export const bashCompletion = (tree: CommandNode) => `# ${header}
_mediactl_names() {
  local name
  [[ $1 == files ]] && { compopt -o default 2>/dev/null; [[ $2 == /* ]] || return; set -- folders "$2"; }
  [[ $1 == assets && $2 == /* ]] && set -- folders "$2"
  [[ $1 == '='* ]] && { COMPREPLY=($(compgen -W "\${1#=}" -- "$2")); return; }
  [[ -n $1 ]] || return
  while IFS=$'\\t' read -r name _; do
    [[ $name == "$2"* ]] && COMPREPLY+=("$(printf %q "$name")")
  done < <(mediactl __complete "$1" 2>/dev/null </dev/null)
}
_mediactl() {
  local cur=\${COMP_WORDS[COMP_CWORD]} place= words= flags= skip= more= word i at=0
  local -a values=()
  COMPREPLY=()
  [[ $cur == = ]] && cur=
  for ((i = 1; i < COMP_CWORD; i++)); do
    [[ \${COMP_WORDS[i]} == = ]] && continue
${parseTypedWords(tree, 'COMP_WORDS')}  done
${optionValues(
  tree,
  (choices) => `COMPREPLY=($(compgen -W '${choices}' -- "$cur"))`,
  (kind) => `_mediactl_names ${kind} "$cur"`,
)}  case $place in
${completionContextsOf(tree).map(bashContext).join('')}  esac
  if [[ $cur == -* ]]; then COMPREPLY=($(compgen -W "$flags" -- "$cur"))
  elif [[ -n $words ]]; then COMPREPLY=($(compgen -W "$words" -- "$cur"))
  else
    [[ -n $more && $at -ge \${#values[@]} ]] && at=$((\${#values[@]} - 1))
    _mediactl_names "\${values[at]}" "$cur"
  fi
}
complete -F _mediactl mediactl
`;

const quoted = (text: string) => `'${text.replaceAll("'", "'\\''")}'`;

/** Formats words as `word:description`, the format that zsh's _describe requires. */
const described = (words: readonly CompletionWord[]) =>
  words.map(({ word, description }) => quoted(`${word}:${description.replaceAll(':', '\\:')}`)).join(' ');

const zshContext = (place: CompletionContext) =>
  `    '${place.path}') verbs=(${described(place.verbs)}) flags=(${described(place.flags)}) ${values(place)} ;;\n`;

/** Generates the zsh completion script. The script does not expand names from the service. */
export const zshCompletion = (tree: CommandNode) => `#compdef mediactl
# ${header}
_mediactl_names() {
  local -a names
  [[ $1 == files ]] && { _files; [[ $PREFIX == /* ]] || return; set -- folders }
  [[ $1 == assets && $PREFIX == /* ]] && set -- folders
  [[ $1 == '='* ]] && { compadd -- \${(s: :)\${1#=}}; return }
  [[ -n $1 ]] || return
  names=("\${(@f)$(mediactl __complete "$1" 2>/dev/null </dev/null)}")
  names=("\${(@)names%%$'\\t'*}")
  compadd -- "\${(@)names:#}"
}
_mediactl() {
  local place= skip= more= word i at=1
  local -a verbs flags values
  for ((i = 2; i < CURRENT; i++)); do
${parseTypedWords(tree, 'words')}  done
${optionValues(
  tree,
  (choices) => `compadd -- ${choices}`,
  (kind) => `_mediactl_names ${kind}`,
)}  case $place in
${completionContextsOf(tree).map(zshContext).join('')}  esac
  if [[ \${words[CURRENT]} == -* ]]; then _describe option flags
  elif (( \${#verbs} )); then _describe command verbs
  else
    [[ -n $more && $at -gt \${#values} ]] && at=\${#values}
    _mediactl_names "\${values[at]}"
  fi
}
compdef _mediactl mediactl
# zsh loads this file at the first Tab, and expects it to complete.
[[ $funcstack[1] == _mediactl ]] && _mediactl "$@"
`;
