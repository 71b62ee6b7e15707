import type { Command, Option } from '@commander-js/extra-typings';
import {
  argumentTerm,
  type CompletionSource,
  examplesOf,
  isGlobalOption,
  type Suggestion,
  suggestionOf,
} from '../command.ts';
import { shortcuts } from '../shortcuts.ts';
import type { CommandNode, OptionNode } from './command-node.ts';

export function describeCommand(command: Command, parents: readonly string[] = []): CommandNode {
  const path = [...parents, command.name()];
  return {
    path: path.join(' '),
    aliases: command.aliases(),
    short: shortcutsFor(path.slice(1)),
    summary: command.summary() || command.description(),
    description: command.description(),
    arguments: command.registeredArguments.map((argument) => ({
      term: argumentTerm(argument),
      description: argument.description,
      choices: argument.argChoices ?? listOf(suggestionOf(argument)),
      values: namesOf(suggestionOf(argument), argument.name()),
      isVariadic: argument.variadic,
    })),
    options: (command.options as readonly Option[])
      .filter((option) => !option.hidden && (parents.length === 0 || !isGlobalOption(option)))
      .map(describeOption),
    examples: examplesOf(command),
    children: (command.commands as unknown as (Command & { _hidden?: boolean })[])
      .filter((child) => !child._hidden)
      .map((child) => describeCommand(child, path)),
  };
}

const shortcutsFor = (path: readonly string[]) =>
  Object.entries(shortcuts).flatMap(([word, expansion]) =>
    expansion.filter((each) => !each.startsWith('-')).join(' ') === path.join(' ') ? [word] : [],
  );

function describeOption(option: Option): OptionNode {
  const takesValue = option.required || option.optional;
  const [, name = ''] = /[<[]([^>\]]+)[>\]]/.exec(option.flags) ?? [];
  const suggestion = suggestionOf(option);
  return {
    flags: option.flags,
    short: option.short ?? null,
    long: option.long ?? null,
    takesValue,
    choices: option.argChoices ?? listOf(suggestion),
    values: takesValue ? namesOf(suggestion, name) : null,
    description: option.description,
    defaultValue: typeof option.defaultValue === 'string' && !option.negate ? option.defaultValue : null,
  };
}

/** Maps placeholders to the kind of names to complete, since `<folder>` is a folder in every command. */
const namesByPlaceholder: Record<string, CompletionSource> = {
  workspace: 'workspaces',
  folder: 'folders',
  parent: 'folders',
  id: 'assets',
  upload: 'uploads',
  file: 'files',
  dir: 'files',
};

const listOf = (suggestion: Suggestion | undefined): readonly string[] => (Array.isArray(suggestion) ? suggestion : []);

const namesOf = (suggestion: Suggestion | undefined, word: string): CompletionSource | null =>
  typeof suggestion === 'string' ? suggestion : (namesByPlaceholder[word] ?? null);
