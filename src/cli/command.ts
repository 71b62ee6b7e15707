import { type Argument, type Command, Option } from '@commander-js/extra-typings';
import { type CodedError, usageError } from '../client/errors.ts';
import type { Context } from './context.ts';
import type { Result } from './output/result.ts';
import { type Setting, settingFlags, settingTable } from './settings/setting-table.ts';

export type CommandOutcome =
  | Result
  | {
      result: Result;
      /** Error to exit with. If it is a function, it is called after the result was printed. */
      failure?: CodedError | (() => CodedError | undefined) | undefined;
    };

/** Wraps a function of context, arguments and options as a Commander action that prints the outcome. */
export type ActionWrapper = <Input extends unknown[]>(
  perform: (context: Context, ...input: Input) => Promise<CommandOutcome>,
) => (...input: Input) => Promise<void>;

export type Define = (command: Command, run: ActionWrapper) => void;

/** Definition of a command, or the list of its verbs, each of which is loaded when it is called. */
export type CommandDefinition = Define | readonly Verb[];

export type Verb = { name: string; summary: string; load(): Promise<Define>; alias?: string | undefined };

/** Lists a verb of a noun. `load` returns its definition, usually from a file of its own. */
export function verb(name: string, summary: string, load: Verb['load'], alias?: string): Verb {
  return { name, summary, load, alias };
}

/** Options of a command as Commander parses them, from the function that adds them. */
export type FlagsOf<Add extends (...input: never[]) => { opts(): unknown }> = ReturnType<ReturnType<Add>['opts']>;

export const collect = (value: string, previous: string[]) => [...previous, value];

/** Parses `KEY=VALUE`, or a pair with another separator. @throws CodedError `usage` (exit 2) */
export function parsePair(flag: string, text: string, separator = '='): [string, string] {
  const at = text.indexOf(separator);
  if (at > 0) return [text.slice(0, at), text.slice(at + 1)];
  throw usageError(`${flag} does not accept '${text}'`, `${flag} KEY${separator}VALUE`);
}

/** Parses `KEY=JSON`. @throws CodedError `usage` (exit 2), suggesting `stringFlag`, if it is not JSON */
export function parseJsonPair(flag: string, stringFlag: string, text: string): [string, unknown] {
  const [key, json] = parsePair(flag, text);
  try {
    return [key, JSON.parse(json)];
  } catch {
    throw usageError(`${flag} ${key}: not JSON: ${json}`, `${stringFlag} ${text} sends it as a string`);
  }
}

const examples = new WeakMap<object, readonly string[]>();

/** Registers examples for a command's help, the best first. Each example must work as written. */
export function addExamples<T extends object>(command: T, ...lines: string[]): T {
  examples.set(command, lines);
  return command;
}

export const examplesOf = (command: object) => examples.get(command) ?? [];

/** Returns an argument's placeholder in the usage, such as `<id...>`. */
export function argumentTerm(argument: Argument): string {
  const name = `${argument.name()}${argument.variadic ? '...' : ''}`;
  return argument.required ? `<${name}>` : `[${name}]`;
}

const suggestions = new WeakMap<object, Suggestion>();

/** Shell completions for an option or argument: a list of common values, or a source. */
export type Suggestion = readonly string[] | CompletionSource;

/** Source of completions: `mediactl __complete`, or the shell itself for `files`. */
export type CompletionSource = 'profiles' | 'workspaces' | 'folders' | 'assets' | 'uploads' | 'files';

export function withSuggestions<T extends object>(subject: T, suggestion: Suggestion): T {
  suggestions.set(subject, suggestion);
  return subject;
}

export const suggestionOf = (subject: object) => suggestions.get(subject);

/** Returns the options that every command accepts, under their own help heading. */
export const globalOptions = (): Option[] =>
  settingFlags().map(({ name, flag }) => {
    const option = new Option(flag.flags, flag.help).helpGroup(globalsHeading);
    const { kind, suggests }: Setting = settingTable[name];
    if (name === 'base_url') option.argParser(rejectSecond);
    const suggestion = suggests ?? (option.required ? kind.choices : undefined);
    return suggestion ? withSuggestions(option, suggestion) : option;
  });

/** Rejects another value of an option whose last one would decide where the key is sent: it might be a file's name. */
const rejectSecond = (value: string, first?: string) => {
  if (first === undefined || first === value) return value;
  throw usageError('--base-url was given twice', 'write ./* instead of *, so that no name of a file is an option');
};

const globalsHeading = 'Global options:';

/** Help heading of options that only the help of another command describes; below it, their names are listed. */
export const listedHeading = (title: string, command: string) => `${title} (see mediactl ${command} --help)`;

export const isListedHeading = (heading: string | undefined) => / \(see mediactl .* --help\)$/.test(heading ?? '');

export const filtersHeading = listedHeading('Filters', 'ls');

export const isGlobalOption = (option: { helpGroupHeading?: string | undefined }) =>
  option.helpGroupHeading === globalsHeading;
