import type { CommandNode } from '../command-node.ts';
import { type CompletionContext, completionContextsOf, header } from './completion-model.ts';
import { optionValues, parseTypedWords, values } from './posix.ts';

const list = (words: readonly { word: string }[]) => words.map(({ word }) => word).join(' ');

const formatContext = (place: CompletionContext) =>
  `    '${place.path}') words='${list(place.verbs)}' flags='${list(place.flags)}' ${values(place)} ;;\n`;

/** Generates the bash completion script. Avoids `compgen -W`, which would expand names from the service. */
export const bashCompletion = (tree: CommandNode) => `# ${header}
_mediactl_names() {
  local name
  [[ $1 == files ]] && { compopt -o default 2>/dev/null; return; }
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
${completionContextsOf(tree).map(formatContext).join('')}  esac
  if [[ $cur == -* ]]; then COMPREPLY=($(compgen -W "$flags" -- "$cur"))
  elif [[ -n $words ]]; then COMPREPLY=($(compgen -W "$words" -- "$cur"))
  else
    [[ -n $more && $at -ge \${#values[@]} ]] && at=$((\${#values[@]} - 1))
    _mediactl_names "\${values[at]}" "$cur"
  fi
}
complete -F _mediactl mediactl
`;
