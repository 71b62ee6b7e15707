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

/** Quotes a text. PowerShell ends a string at a typographic quote, too; two of a kind are one of the text. */
const quoted = (text: string) => `'${text.replace(/['‘’‚‛]/g, '$&$&')}'`;
const list = (texts: readonly string[]) => `@(${texts.map(quoted).join(', ')})`;

const pairs = (words: readonly CompletionWord[]) =>
  `@(${words.map(({ word, description }) => `,@(${quoted(word)}, ${quoted(description)})`).join('; ')})`;

const formatContext = ({ path, verbs, flags, values, isVariadic }: CompletionContext) =>
  `        ${quoted(path)} { $verbs = ${pairs(verbs)}; $flags = ${pairs(flags)}; $values = ${list(values)}; $more = ${isVariadic ? '$true' : '$false'} }\n`;

export const powershellCompletion = (tree: CommandNode) => `# ${header}
Register-ArgumentCompleter -Native -CommandName mediactl -ScriptBlock {
    param($wordToComplete, $commandAst, $cursorPosition)
    $typed = @($commandAst.CommandElements | Where-Object { $_.Extent.EndOffset -lt $cursorPosition -or ($_.Extent.EndOffset -eq $cursorPosition -and $wordToComplete -eq '') } | ForEach-Object { $_.Extent.Text })
    $place = ''; $skip = ''; $at = 0; $more = $false; $verbs = @(); $flags = @(); $values = @()
    $valued = ${list(valuedOptions(tree).flatMap(spellings))}
    foreach ($word in ($typed | Select-Object -Skip 1)) {
        if ($skip -ne '') { $skip = ''; continue }
        if ($valued -ccontains $word) { $skip = $word; continue }
        if ($word.StartsWith('-')) { continue }
        switch -CaseSensitive ("$place $word".Trim()) {
${typedCommands(tree)
  .map(({ path, typed }) => `            { ${list(typed)} -ccontains $_ } { $place = ${quoted(path)}; break }\n`)
  .join('')}            default { $at++ }
        }
    }
    function Complete-Names($kind) {
        if ($kind -eq 'files') { return $null }
        if ($kind -eq '') { return }
        if ($kind.StartsWith('=')) { $kind.Substring(1) -split ' ' | ForEach-Object { ,@($_, $_) }; return }
        mediactl __complete $kind 2>$null | ForEach-Object { ,@(($_ -split "\`t")[0], ($_ -split "\`t")[-1]) }
    }
    $found = @()
    if ($skip -ne '') {
        switch -CaseSensitive ($skip) {
${completedOptions(tree)
  .filter(({ values }) => values !== 'files')
  .map((option) => {
    const { choices, values } = option;
    const complete =
      choices.length > 0
        ? `$found = ${pairs(choices.map((word) => ({ word, description: word })))}`
        : `$found = @(Complete-Names ${quoted(values as string)})`;
    return `            { ${list(spellings(option))} -ccontains $_ } { ${complete} }\n`;
  })
  .join('')}        }
    } else {
        switch -CaseSensitive ($place) {
${completionContextsOf(tree).map(formatContext).join('')}        }
        if ($wordToComplete.StartsWith('-')) { $found = $flags }
        elseif ($verbs.Count -gt 0) { $found = $verbs }
        else {
            if ($more -and $at -ge $values.Count) { $at = $values.Count - 1 }
            if ($at -lt $values.Count) { $found = @(Complete-Names $values[$at]) }
        }
    }
    $found | Where-Object { $_ -and $_[0].StartsWith($wordToComplete) } | ForEach-Object {
        $text = if ($_[0] -match "[^\\w./:@+-]") { "'" + [System.Management.Automation.Language.CodeGeneration]::EscapeSingleQuotedStringContent($_[0]) + "'" } else { $_[0] }
        [System.Management.Automation.CompletionResult]::new($text, $_[0], 'ParameterValue', $(if ($_[1]) { $_[1] } else { $_[0] }))
    }
}
`;
