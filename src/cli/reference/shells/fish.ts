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

const quoted = (text: string) => `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`;

/** Formats words and their descriptions as alternating arguments for printf. */
const pairs = (words: readonly CompletionWord[]) =>
  words.flatMap(({ word, description }) => [quoted(word), quoted(description)]).join(' ');

function formatContext({ path, verbs, flags, values, isVariadic }: CompletionContext): string {
  const lines = [`        case ${quoted(path)}`];
  if (flags.length > 0) lines.push(`            set flags ${pairs(flags)}`);
  if (verbs.length > 0) lines.push(`            set verbs ${pairs(verbs)}`);
  if (values.length > 0) lines.push(`            set values ${values.map(quoted).join(' ')}`);
  if (isVariadic) lines.push('            set more 1');
  return `${lines.join('\n')}\n`;
}

const formatPlace = ({ path, typed }: ReturnType<typeof typedCommands>[number]) =>
  `                    case ${typed.map(quoted).join(' ')}\n                        set place ${quoted(path)}\n`;

function formatOption(option: ReturnType<typeof completedOptions>[number]): string {
  const { choices, values } = option;
  const complete = choices.length > 0 ? `printf '%s\\n' ${choices.join(' ')}` : `__mediactl_names ${values}`;
  return `        case ${spellings(option).join(' ')}\n            ${complete}\n            return\n`;
}

/** Generates the fish completion script. The script prints all candidates, and fish filters them by prefix. */
export const fishCompletion = (tree: CommandNode) => `# ${header}
function __mediactl_names
    switch "$argv[1]"
        case files
            __fish_complete_path (commandline -ct)
            string match -q '/*' -- (commandline -ct); and __mediactl_names folders
        case assets
            string match -q '/*' -- (commandline -ct); and set argv folders
            mediactl __complete $argv[1] 2>/dev/null </dev/null
        case '=*'
            string split ' ' -- (string sub -s 2 -- $argv[1])
        case '?*'
            mediactl __complete $argv[1] 2>/dev/null </dev/null
    end
end
function __mediactl_complete
    set -l typed (commandline -opc)
    set -l current (commandline -ct)
    set -l place ''
    set -l skip ''
    set -l at 1
    set -l more ''
    set -l verbs
    set -l flags
    set -l values
    for word in $typed[2..]
        if test -n "$skip"
            set skip ''
            continue
        end
        switch $word
            case ${valuedOptions(tree).flatMap(spellings).join(' ')}
                set skip $word
            case '-*'
            case '*'
                switch (string trim -- "$place $word")
${typedCommands(tree).map(formatPlace).join('')}                    case '*'
                        set at (math $at + 1)
                end
        end
    end
    switch "$skip"
        case ''
${completedOptions(tree).map(formatOption).join('')}        case '*'
            return
    end
    switch "$place"
${completionContextsOf(tree).map(formatContext).join('')}    end
    if string match -q -- '-*' $current
        test -n "$flags"; and printf '%s\\t%s\\n' $flags
    else if test -n "$verbs"
        printf '%s\\t%s\\n' $verbs
    else
        test -n "$more" -a "$at" -gt (count $values); and set at (count $values)
        test "$at" -le (count $values); and __mediactl_names "$values[$at]"
    end
end
complete -c mediactl -f -a '(__mediactl_complete)'
`;
