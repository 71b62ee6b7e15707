import { type Command, Option } from '@commander-js/extra-typings';
import { parseExact } from '../api/json.ts';
import type { Context } from '../context.ts';
import { type MediactlError, usageError } from '../errors.ts';
import type { GlobalOptions } from '../settings/settings.ts';
import type { Result } from '../terminal/result.ts';

/** What a command's function gives back: its result, and what is to come after that is written. */
type Outcome =
  | Result
  | {
      result: Result;
      /** The error to end with. */
      failure?: MediactlError | undefined;
      /** Called once the result is on stdout: not where its reader has left. */
      written?: () => Promise<void>;
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
  throw usageError(`${flag} does not take '${text}'`, `${flag} KEY${separator}VALUE`);
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

/** Examples end the help of a command; each is one that works. */
export function example(command: Command, ...lines: string[]): void {
  examples.set(command, lines);
  command.addHelpText('after', `\nExamples:\n${lines.map((line) => `  ${line}`).join('\n')}`);
}

export const examplesOf = (command: object) => examples.get(command) ?? [];

/** Options of every command, kept apart in its help. */
export const globalOptions = (): Option[] =>
  [
    new Option('--profile <name>', 'account to act as'),
    new Option('-w, --workspace <workspace>', 'workspace, by uid or name'),
    new Option('--base-url <url>', 'service host, such as https://media.example.com'),
    new Option('--json', 'print JSON: an array for a list, an object for a record'),
    new Option('--jsonl', 'print one JSON object a line, while pages arrive'),
    new Option('--csv', 'print comma-separated values with a header'),
    new Option('--tsv', 'print tab-separated values with a header'),
    new Option('--fields <paths>', 'print these fields alone: name,player_config.theme'),
    new Option('--jq <filter>', 'filter the JSON with jq, which is built in'),
    new Option('-q, --quiet', 'print uids only, one a line'),
    new Option('-y, --yes', 'answer yes to every question'),
    new Option('-n, --dry-run', 'print what would be sent, and change nothing'),
    new Option('--no-input', 'never ask; fail where an answer is needed'),
    new Option('--color <when>', 'auto, always or never'),
    new Option(
      '--request-timeout <duration>',
      'longest silence of a connection (30s; 120s in uploads)',
    ),
    new Option('--max-wait <duration>', 'longest wait in all for rate limits and outages (1h)'),
    new Option(
      '--debug <what>',
      'say more on stderr: --debug alone, or --debug=http for every request',
    ),
  ].map((option) => option.helpGroup('Global options:'));

/** The options of a parsed command and of the program before it: `mediactl --json assets ls`. */
export function mergedGlobals(chain: readonly GlobalOptions[]): GlobalOptions {
  return {
    ...Object.assign({}, ...chain),
    input: chain.every(({ input }) => input !== false),
  };
}
