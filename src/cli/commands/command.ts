import { type Command, Option } from '@commander-js/extra-typings';
import { type MediactlError, usageError } from '../../client/errors.ts';
import { parseExact } from '../../client/http/json.ts';
import type { Context } from '../context.ts';
import type { Result } from '../output/result.ts';
import { type Setting, settingFlags, table } from '../settings/table.ts';

/** What a command's function gives back: its result, and what is to come after that is written. */
type Outcome =
  | Result
  | {
      result: Result;
      /** What a terminal is told to show above it: escape codes of our own. */
      picture?: string | undefined;
      /** The error to end with; where it is a function, it is asked once the result is written. */
      failure?: MediactlError | (() => MediactlError | undefined) | undefined;
    };

/**
 * Binds a command's function to the program: it is handed the context, then what Commander parsed.
 * It returns; the program shows what it returned.
 */
export type Run = <Input extends unknown[]>(
  perform: (context: Context, ...input: Input) => Promise<Outcome>,
) => (...input: Input) => Promise<void>;

/** A module of commands adds arguments, options, verbs and action to the command it is given. */
export type Define = (command: Command, run: Run) => void;

/** For options that may be repeated. */
export const collect = (value: string, previous: string[]) => [...previous, value];

/** `KEY=VALUE`, or with another separator. @throws MediactlError exit 2 */
export function pair(flag: string, text: string, separator = '='): [string, string] {
  const at = text.indexOf(separator);
  if (at > 0) return [text.slice(0, at), text.slice(at + 1)];
  throw usageError(`${flag} does not accept '${text}'`, `${flag} KEY${separator}VALUE`);
}

/** `KEY=JSON`; `stringFlag` is the flag that takes strings as they are. @throws MediactlError exit 2 */
export async function jsonPair(
  flag: string,
  stringFlag: string,
  text: string,
): Promise<[string, unknown]> {
  const [key, json] = pair(flag, text);
  try {
    return [key, await parseExact(json)];
  } catch {
    throw usageError(
      `${flag} ${key}: not JSON: ${json}`,
      `${stringFlag} ${text} sends it as a string`,
    );
  }
}

const examples = new WeakMap<object, readonly string[]>();

/** Examples stand in the help of a command, the best ones first; each is one that works. */
export function example(command: object, ...lines: string[]): void {
  examples.set(command, lines);
}

export const examplesOf = (command: object) => examples.get(command) ?? [];

const suggestions = new WeakMap<object, Suggestion>();

/** What completion offers for an option or an argument: words that others are taken beside, or names. */
export type Suggestion = readonly string[] | Names;

/** What a shell may ask `mediactl __complete` for, or its own files. */
export type Names = 'profiles' | 'workspaces' | 'folders' | 'assets' | 'uploads' | 'files';

/** Tells completion what an option or argument may be, where its usage does not say so already. */
export function suggesting<T extends object>(subject: T, suggestion: Suggestion): T {
  suggestions.set(subject, suggestion);
  return subject;
}

export const suggestionOf = (subject: object) => suggestions.get(subject);

/** Options of every command, kept apart in its help. */
export const globalOptions = (): Option[] =>
  settingFlags().map(({ name, flag }) => {
    const option = new Option(flag.flags, flag.help).helpGroup(globalsHeading);
    const { kind, suggests }: Setting = table[name];
    const suggestion =
      suggests ?? (option.required && !flag.hasNamesake ? kind.choices : undefined);
    return suggestion ? suggesting(option, suggestion) : option;
  });

const globalsHeading = 'Global options:';

/** Options that another command's help tells of: here they are but named. */
export const filtersHeading = 'Filters, as assets ls has them';

export const isGlobal = (option: { helpGroupHeading?: string | undefined }) =>
  option.helpGroupHeading === globalsHeading;
