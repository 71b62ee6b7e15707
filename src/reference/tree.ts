import type { Command, Option } from '@commander-js/extra-typings';
import { examplesOf } from '../commands/command.ts';
import { assetStatuses, assetTypes } from '../wire/assumptions.ts';

/** What a shell may ask `mediactl __complete` for, or its own files. */
export type Values = 'profiles' | 'workspaces' | 'folders' | 'assets' | 'uploads' | 'files';

/** A command as plain data: what documentation and completions are made of. */
export type CommandNode = {
  /** `mediactl assets ls` */
  path: string;
  aliases: readonly string[];
  summary: string;
  description: string;
  arguments: readonly ArgumentNode[];
  options: readonly OptionNode[];
  examples: readonly string[];
  children: readonly CommandNode[];
};

type ArgumentNode = {
  /** `<id...>` */
  term: string;
  description: string;
  choices: readonly string[];
  values: Values | null;
  isVariadic: boolean;
};

export type OptionNode = {
  /** `-r, --recursive` */
  flags: string;
  short: string | null;
  long: string | null;
  takesValue: boolean;
  choices: readonly string[];
  values: Values | null;
  description: string;
  defaultValue: string | null;
  isGlobal: boolean;
};

export function describe(command: Command, parents: readonly string[] = []): CommandNode {
  const path = [...parents, command.name()];
  return {
    path: path.join(' '),
    aliases: command.aliases(),
    summary: command.summary() || command.description(),
    description: command.description(),
    arguments: command.registeredArguments.map((argument) => {
      const name = `${argument.name()}${argument.variadic ? '...' : ''}`;
      return {
        term: argument.required ? `<${name}>` : `[${name}]`,
        description: argument.description,
        choices: argument.argChoices ?? [],
        values: valuesOf(argument.name(), path),
        isVariadic: argument.variadic,
      };
    }),
    options: (command.options as readonly Option[])
      .filter(({ hidden }) => !hidden)
      .map((option) => describeOption(option, path)),
    examples: examplesOf(command),
    children: (command.commands as unknown as (Command & { _hidden?: boolean })[])
      .filter((child) => !child._hidden)
      .map((child) => describe(child, path)),
  };
}

function describeOption(option: Option, path: readonly string[]): OptionNode {
  const takesValue = option.required || option.optional;
  const [, name = ''] = /[<[]([^>\]]+)[>\]]/.exec(option.flags) ?? [];
  return {
    flags: option.flags,
    short: option.short ?? null,
    long: option.long ?? null,
    takesValue,
    choices: option.argChoices ?? suggested[option.long ?? ''] ?? [],
    values: takesValue ? valuesOf(name, path, option.long) : null,
    description: option.description,
    defaultValue:
      typeof option.defaultValue === 'string' && !option.negate ? option.defaultValue : null,
    isGlobal: option.helpGroupHeading === 'Global options:',
  };
}

/** Values that others than these are taken beside. */
const suggested: Record<string, readonly string[]> = {
  '--status': assetStatuses,
  '--for': assetStatuses,
  '--type': assetTypes,
  '--sort': ['created_at', '-created_at', 'name', '-name', 'duration', '-duration'],
  '--color': ['auto', 'always', 'never'],
};

/** By the word in its usage: `<folder>` is a folder wherever it stands. */
const byName: Record<string, Values> = {
  workspace: 'workspaces',
  folder: 'folders',
  parent: 'folders',
  id: 'assets',
  session: 'uploads',
  path: 'files',
  file: 'files',
  dir: 'files',
};

function valuesOf(name: string, path: readonly string[], long?: string): Values | null {
  const verb = path.slice(1).join(' ');
  if (long === '--profile' || (/^auth (switch|rename|logout)$/.test(verb) && name !== 'new'))
    return 'profiles';
  // A path of the API or of a folder yet to be is no file.
  if (name === 'path' && verb !== 'upload') return verb === 'folders create' ? 'folders' : null;
  return byName[name] ?? null;
}

/** Every command that does something, in the tree's order. */
export const leaves = (node: CommandNode): CommandNode[] =>
  node.children.length === 0 ? [node] : node.children.flatMap(leaves);

/** A command and all below it. */
export const every = (node: CommandNode): CommandNode[] => [node, ...node.children.flatMap(every)];
