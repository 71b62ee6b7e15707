import { exitCodes, MediactlError, usageError } from '../../client/errors.ts';
import { type QueueAddress, readQueueAddress } from '../../client/queue/queue-address.ts';
import { parseDuration } from './units.ts';

/** What a setting's text may be, and what it comes to. */
export type Kind<T, Unset = undefined> = {
  /** @param name what to call the setting in an error @throws MediactlError exit 2 */
  read(name: string, text: string): T;
  /** Where nobody gave it. */
  unset: Unset;
  /** Ends the name of its property: the unit. */
  suffix: '' | 'Ms';
  /** The whole set of values, for completion. */
  choices?: readonly string[];
  /** What of it may be shown, where that is not all of it. */
  shown?: (text: string) => string;
};

export const text: Kind<string> = {
  read: (_name, value) => value,
  unset: undefined,
  suffix: '',
};

/** A duration such as 90s, in milliseconds. */
export const duration: Kind<number> & { suffix: 'Ms' } = {
  read: parseDuration,
  unset: undefined,
  suffix: 'Ms',
};

/** A duration of more than zero: none at all would end everything at once. */
export const positiveDuration: typeof duration = {
  ...duration,
  read: (name, value) => {
    const ms = parseDuration(name, value);
    if (ms > 0) return ms;
    throw usageError(`${name} does not accept '${value}'`, 'a duration of more than 0 such as 30s');
  },
};

/** On or off. Nobody should have to guess whether `off` deletes: other words are an error. */
export const onOrOff: Kind<boolean, false> & { suffix: '' } = {
  read: (name, value) => ['1', 'true'].includes(parseOneOf(name, onOffWords, value)),
  unset: false,
  suffix: '',
};

const onOffWords = ['1', 'true', '0', 'false'] as const;

/** One of a set of words. */
export const oneOf = <const T extends string>(choices: readonly T[]) =>
  ({
    read: (name: string, value: string): T => parseOneOf(name, choices, value),
    unset: undefined,
    suffix: '',
    choices,
  }) as const;

/** `--debug`: on, or every request too. */
export const debugLevel: Kind<false | 'on' | 'http', false> & { suffix: '' } = {
  read: (name, value) => {
    const level = parseOneOf(name, ['on', 'http', '1', 'true', '0', 'false', 'off'], value);
    return level === 'http' ? 'http' : ['on', '1', 'true'].includes(level) && 'on';
  },
  unset: false,
  suffix: '',
};

/** The address of a queue, shown without user, password and options. */
export const queueAddress: Kind<QueueAddress> & { suffix: ''; shown(text: string): string } = {
  read: readQueueAddress,
  unset: undefined,
  suffix: '',
  shown: (text) => readQueueAddress('queue', text).label,
};

function parseOneOf<T extends string>(name: string, choices: readonly T[], value: string): T {
  if ((choices as readonly string[]).includes(value)) return value as T;
  throw new MediactlError(`${name} does not accept '${value}'`, {
    code: 'usage',
    exitCode: exitCodes.usage,
    hint: `one of ${choices.join(', ')}`,
  });
}
