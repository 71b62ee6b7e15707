import { exitCodes, MediactlError, usageError } from '../../client/errors.ts';
import { parseQueueAddress, type QueueAddress } from '../../client/queue/queue-address.ts';
import { parseDuration } from './units.ts';

/** Value type of a setting: parses and validates its text. */
export type SettingKind<T, Unset = undefined> = {
  /** Parses a value. @param name how errors name the setting @throws MediactlError exit 2 */
  parse(name: string, text: string): T;
  /** Value if the setting is not set. */
  unsetValue: Unset;
  /** Unit, appended to the name of the property in `Settings`. */
  suffix: '' | 'Ms';
  /** All allowed values, for shell completion. */
  choices?: readonly string[];
  /** Removes secrets from a value for display; undefined if it has none. */
  redact?: (text: string) => string;
};

/** Any text. */
export const text: SettingKind<string> = {
  parse: (_name, value) => value,
  unsetValue: undefined,
  suffix: '',
};

/** A duration such as 90s, in milliseconds. */
export const duration: SettingKind<number> & { suffix: 'Ms' } = {
  parse: parseDuration,
  unsetValue: undefined,
  suffix: 'Ms',
};

/** A duration greater than zero: a timeout of zero would abort everything at once. */
export const positiveDuration: typeof duration = {
  ...duration,
  parse: (name, value) => {
    const ms = parseDuration(name, value);
    if (ms > 0) return ms;
    throw usageError(`${name} does not accept '${value}'`, 'a duration of more than 0 such as 30s');
  },
};

/** A boolean: 1, true, 0 or false. Other values are errors, so that the meaning of `off` is never guessed. */
export const onOrOff: SettingKind<boolean, false> & { suffix: '' } = {
  parse: (name, value) => ['1', 'true'].includes(parseOneOf(name, booleanTexts, value)),
  unsetValue: false,
  suffix: '',
};

const booleanTexts = ['1', 'true', '0', 'false'] as const;

/** Creates the type of a setting that accepts one of several values. */
export const oneOf = <const T extends string>(choices: readonly T[]) =>
  ({
    parse: (name: string, value: string): T => parseOneOf(name, choices, value),
    unsetValue: undefined,
    suffix: '',
    choices,
  }) as const;

/** Type of `--debug`: off, on, or on with a trace of every request. */
export const debugLevel: SettingKind<false | 'on' | 'http', false> & { suffix: '' } = {
  parse: (name, value) => {
    const level = parseOneOf(name, ['on', 'http', '1', 'true', '0', 'false', 'off'], value);
    return level === 'http' ? 'http' : ['on', '1', 'true'].includes(level) && 'on';
  },
  unsetValue: false,
  suffix: '',
};

/** Setting type for the address of a queue; displayed without its password. */
export const queueAddress: SettingKind<QueueAddress> & {
  suffix: '';
  redact(text: string): string;
} = {
  parse: parseQueueAddress,
  unsetValue: undefined,
  suffix: '',
  redact: (text) => parseQueueAddress('queue', text).label,
};

function parseOneOf<T extends string>(name: string, choices: readonly T[], value: string): T {
  if ((choices as readonly string[]).includes(value)) return value as T;
  throw new MediactlError(`${name} does not accept '${value}'`, {
    code: 'usage',
    exitCode: exitCodes.usage,
    hint: `one of ${choices.join(', ')}`,
  });
}
