import type { CommandNode } from '../command-node.ts';
import { type CompletionContext, type CompletionWord, completionContextsOf, header } from './completion-model.ts';
import { optionValues, parseTypedWords, values } from './posix.ts';

const quoted = (text: string) => `'${text.replaceAll("'", "'\\''")}'`;

/** Formats words as `word:description`, the format that zsh's _describe requires. */
const described = (words: readonly CompletionWord[]) =>
  words.map(({ word, description }) => quoted(`${word}:${description.replaceAll(':', '\\:')}`)).join(' ');

const formatContext = (place: CompletionContext) =>
  `    '${place.path}') verbs=(${described(place.verbs)}) flags=(${described(place.flags)}) ${values(place)} ;;\n`;

/** Generates the zsh completion script. The script does not expand names from the service. */
export const zshCompletion = (tree: CommandNode) => `#compdef mediactl
# ${header}
_mediactl_names() {
  local -a names
  [[ $1 == files ]] && { _files; return }
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
${completionContextsOf(tree).map(formatContext).join('')}  esac
  if [[ \${words[CURRENT]} == -* ]]; then _describe option flags
  elif (( \${#verbs} )); then _describe command verbs
  else
    [[ -n $more && $at -gt \${#values} ]] && at=\${#values}
    _mediactl_names "\${values[at]}"
  fi
}
compdef _mediactl mediactl
`;
