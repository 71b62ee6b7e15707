import type { CommandNode } from '../tree.ts';
import { header, type Place, placesOf, spellings, valuedOptions } from './model.ts';

const list = (words: readonly { word: string }[]) => words.map(({ word }) => word).join(' ');

const place = ({ path, verbs, flags, values, isVariadic }: Place) =>
  `    '${path}') words='${list(verbs)}' flags='${list(flags)}' values=(${values.map((each) => `'${each}'`).join(' ')})${isVariadic ? ' more=1' : ''} ;;\n`;

/** Names from the service are compared and quoted, and never expanded: no compgen -W for them. */
export const bashCompletion = (tree: CommandNode) => `# ${header}
_mediactl_names() {
  local names name
  [[ $1 == files ]] && { compopt -o default; return; }
  [[ -n $1 ]] || return
  mapfile -t names < <(mediactl __complete "$1" 2>/dev/null </dev/null)
  for name in "\${names[@]}"; do
    name=\${name%%$'\\t'*}
    [[ $name == "$2"* ]] && COMPREPLY+=("$(printf %q "$name")")
  done
}
_mediactl() {
  local cur=\${COMP_WORDS[COMP_CWORD]} path= words= flags= skip= more= word i at=0
  local -a values=()
  COMPREPLY=()
  [[ $cur == = ]] && cur=
  for ((i = 1; i < COMP_CWORD; i++)); do
    word=\${COMP_WORDS[i]}
    [[ $word == = ]] && continue
    if [[ -n $skip ]]; then skip=; continue; fi
    case $word in
      ${valuedOptions(tree).flatMap(spellings).join('|')}) skip=$word ;;
      -*) ;;
      *)
        case "$path\${path:+ }$word" in
${placesOf(tree)
  .filter(({ path }) => path !== '')
  .map(
    ({ path, aliases }) =>
      `          ${[path, ...aliases].map((each) => `'${each}'`).join('|')}) path='${path}' ;;\n`,
  )
  .join('')}          *) at=$((at + 1)) ;;
        esac ;;
    esac
  done
  case $skip in
    '') ;;
${valuedOptions(tree)
  .filter(({ choices, values }) => choices.length > 0 || values !== null)
  .map((option) => {
    const { choices, values } = option;
    const complete =
      choices.length > 0
        ? `COMPREPLY=($(compgen -W '${choices.join(' ')}' -- "$cur"))`
        : `_mediactl_names ${values} "$cur"`;
    return `    ${spellings(option).join('|')}) ${complete}; return ;;\n`;
  })
  .join('')}    *) return ;;
  esac
  case $path in
${placesOf(tree).map(place).join('')}  esac
  if [[ $cur == -* ]]; then COMPREPLY=($(compgen -W "$flags" -- "$cur"))
  elif [[ -n $words ]]; then COMPREPLY=($(compgen -W "$words" -- "$cur"))
  else
    [[ -n $more && $at -ge \${#values[@]} ]] && at=$((\${#values[@]} - 1))
    _mediactl_names "\${values[at]}" "$cur"
  fi
}
complete -F _mediactl mediactl
`;
