import type { CommandNode } from '../tree.ts';
import { header, type Place, placesOf, spellings, valuedOptions, type Word } from './model.ts';

const quoted = (text: string) => `'${text.replaceAll("'", "'\\''")}'`;

/** \`word:description\`, as _describe takes it. */
const described = (words: readonly Word[]) =>
  words
    .map(({ word, description }) => quoted(`${word}:${description.replaceAll(':', '\\:')}`))
    .join(' ');

const place = ({ path, verbs, flags, values, isVariadic }: Place) =>
  `    '${path}') verbs=(${described(verbs)}) flags=(${described(flags)}) values=(${values.map((each) => `'${each}'`).join(' ')})${isVariadic ? ' more=1' : ''} ;;\n`;

/** Names from the service are handed over as they are: nothing in them is expanded. */
export const zshCompletion = (tree: CommandNode) => `#compdef mediactl
# ${header}
_mediactl_names() {
  local -a names
  [[ $1 == files ]] && { _files; return }
  [[ -n $1 ]] || return
  names=("\${(@f)$(mediactl __complete "$1" 2>/dev/null </dev/null)}")
  names=("\${(@)names%%$'\\t'*}")
  compadd -- "\${(@)names:#}"
}
_mediactl() {
  local place= skip= more= word i at=1
  local -a verbs flags values
  for ((i = 2; i < CURRENT; i++)); do
    word=\${words[i]}
    if [[ -n $skip ]]; then skip=; continue; fi
    case $word in
      ${valuedOptions(tree).flatMap(spellings).join('|')}) skip=$word ;;
      -*) ;;
      *)
        case "$place\${place:+ }$word" in
${placesOf(tree)
  .filter(({ path }) => path !== '')
  .map(
    ({ path, aliases }) =>
      `          ${[path, ...aliases].map((each) => `'${each}'`).join('|')}) place='${path}' ;;\n`,
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
      choices.length > 0 ? `compadd -- ${choices.join(' ')}` : `_mediactl_names ${values}`;
    return `    ${spellings(option).join('|')}) ${complete}; return ;;\n`;
  })
  .join('')}    *) return ;;
  esac
  case $place in
${placesOf(tree).map(place).join('')}  esac
  if [[ \${words[CURRENT]} == -* ]]; then _describe option flags
  elif (( \${#verbs} )); then _describe command verbs
  else
    [[ -n $more && $at -gt \${#values} ]] && at=\${#values}
    _mediactl_names "\${values[at]}"
  fi
}
compdef _mediactl mediactl
`;
